/**
 * The parts of the document that no declaration gives: the building blocks of the addresses beside the operations, the
 * path parameters, the tags, and the text of the document.
 */
import { headerReferences, type OpenApiDocument, type Part, textHeader } from '@freehold/operations/openapi';

export interface ServicePath {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly parameters?: readonly Part[];
  readonly requestBody?: Part;
  readonly responses: Part;
  /** The credentials. Default: none, the address is open. */
  readonly security?: readonly Part[];
}

/** An operation without a declaration. */
export function servicePath({ tag, description, security = [], responses, ...path }: ServicePath): Part {
  return {
    ...path,
    description: description ?? `${path.summary}. Open to all.`,
    tags: [tag],
    security,
    responses: { ...responses, 500: problem(500) },
  };
}

/** A form of texts, each at most once. */
export function formBody(fields: Readonly<Record<string, Part>>, required: readonly string[]): Part {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, { type: 'string', ...schema }]),
  );
  const schema = { type: 'object', properties, required };
  return { required: true, content: { 'application/x-www-form-urlencoded': { schema } } };
}

export function textParameter(
  place: 'path' | 'query',
  name: string,
  { description, required = place === 'path', ...schema }: Part & { readonly description: string },
): Part {
  return { name, in: place, required, description, schema: { type: 'string', ...schema } };
}

export function json(schema: Part, headers: Part = {}): Part {
  return answerOf('Done.', { 'application/json': { schema } }, headers);
}

/** A page for people. */
export function page(description: string, headers: Part = {}): Part {
  return answerOf(description, { 'text/html': { schema: { type: 'string' } } }, headers);
}

/** A redirect. */
export function redirect(description: string, headers: Part = {}): Part {
  return { description, headers: { ...headerReferences(['X-Request-Id', 'Location']), ...headers } };
}

export function answerOf(description: string, content: Part, headers: Part = {}): Part {
  return { description, headers: { ...headerReferences(['X-Request-Id']), ...headers }, content };
}

export function problem(status: number): Part {
  return { $ref: `#/components/responses/Problem${status}` };
}

/** The same as {@link problem} for several statuses. */
export function problems(...statuses: readonly number[]): Part {
  return Object.fromEntries(statuses.map((status) => [status, problem(status)]));
}

/** Parameter of a path → the thing that it names. A test holds that none is missing. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  tenant: 'The tenant’s id',
  scope: 'The scope’s id',
  slug: 'The vertical’s slug',
  id: 'The id of the vertical’s version',
  channel: 'The channel’s name',
  backup: 'The backup’s id',
  snapshot: 'The snapshot’s id',
  preview: 'The preview’s id',
  program: 'The program’s id',
  connection: 'The connection’s id',
  identity: 'The id of the tenant’s identity',
  key: 'The key',
  name: 'The name of the secret',
  member: 'The id of the member of the roster',
  operation: 'The id of the long work',
  token: 'The token’s id, which is no secret',
  event: 'The event’s id',
  invocation: 'The invocation’s id',
  table: 'The table’s name',
  hostname: 'The host name',
  subject: 'The id of the person',
};

/** Tag → one sentence. A test holds that no tag of the table is missing. */
export const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Tenants: 'A tenant is a customer of the platform.',
  Scopes: 'A scope is one instance of a vertical for one tenant, with a database of its own.',
  'Scope data': 'Reads of what a scope holds. Reads by staff are written to the access log.',
  'Owner seat': 'The owner of a scope’s application, and the link with which the owner claims it.',
  Verticals: 'A vertical is an application: its versions, the one that serves, and how it is offered.',
  Previews: 'Versions that run beside the one that serves, on data of their own, for a while.',
  'Platform grants': 'Grants of the platform to verticals beyond their own scopes.',
  Hostnames: 'Host names, and the scopes they lead to.',
  Connections: 'A tenant’s accounts with other systems, and where they may act. Credentials are never shown.',
  Roles: 'Roles that the platform adds to those that verticals declare.',
  Logs: 'The admin log, which is append-only and hash-chained, and the access log.',
  Operations: 'The log of the platform’s own work: failures, and the units of sweeps.',
  Issues: 'Unexpected errors, one line for each kind, and the verdicts of staff about them.',
  Usage: 'The usage of tenants, and the cost of the model calls of their scopes.',
  'Long work': 'Work that goes on after its call was answered: its progress, and its result.',
  Backups: 'Copies outside of the platform’s own data, and restores from them.',
  Erasure: 'The erasure of one person’s data, with a receipt.',
  Fleet: 'Operations over the scopes of every tenant at once.',
  Staff: 'The staff of the platform, the builders of its tenants, and the tokens of their programs.',
  Observability: 'The requests of verticals, by script and by tenant, and the version of each script.',
  'Service tokens': 'Tokens for the software of the platform’s operator.',
  'Push tokens': 'Tokens for a tenant’s builder.',
  'Consent rounds': 'How members of a vertical connect an account at a provider’s own consent page.',
  'Sign-in':
    'The sign-in and sign-out of staff with a browser. Served where an issuer is configured for them.',
  Programs:
    'The tokens of the programs of staff, and their tools. Served where this API knows its own origin.',
  Service: 'Health, and the description of this API. Open to all.',
};

/** The width of a line in the repository's formatter. */
const LINE_WIDTH = 110;

/** JSON as the repository's formatter writes it: a list of plain values is one line where it fits. */
export function openApiText(document: OpenApiDocument): string {
  return `${written(document, { indent: '', before: 0, after: 0 })}\n`;
}

/** The place of a value: the text before and after it in its line. */
interface Place {
  readonly indent: string;
  /** Columns of the indent and the member's name. */
  readonly before: number;
  /** 1 where a comma follows, else 0. */
  readonly after: 0 | 1;
}

function written(value: unknown, { indent, before, after }: Place): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const afterItem = (index: number, items: readonly unknown[]) => (index < items.length - 1 ? 1 : 0);
  if (Array.isArray(value)) {
    const oneLine = `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
    const fits = before + oneLine.length + after <= LINE_WIDTH;
    if (value.length === 0 || (fits && value.every((item) => typeof item !== 'object' || item === null)))
      return oneLine;
    const items = value.map((item, index) => {
      const place = { indent: inner, before: inner.length, after: afterItem(index, value) } as const;
      return `${inner}${written(item, place)}`;
    });
    return `[\n${items.join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member], index, all) => {
    const start = `${inner}${JSON.stringify(name)}: `;
    return `${start}${written(member, { indent: inner, before: start.length, after: afterItem(index, all) })}`;
  });
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}

/** `components.headers` of the paths that are no operations. Two kinds of cookie have one header. */
export const SERVICE_HEADERS = {
  'Access-Control-Allow-Origin': {
    description: 'Pages of every origin may read this.',
    schema: { const: '*' },
  },
  RoundCookie: textHeader('Binds the round to this browser.'),
  SessionCookie: textHeader('The session, or its end.'),
} as const satisfies Part;
