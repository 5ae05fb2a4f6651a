/** What the addresses beside the operations are made of in the document. */
import { headerReferences, type Part } from '@freehold/operations/openapi';

export interface ServicePath {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly parameters?: readonly Part[];
  readonly requestBody?: Part;
  readonly responses: Part;
  /** What has to be shown. Default: nothing, it is open to anybody. */
  readonly security?: readonly Part[];
}

/** An operation that no declaration stands for. */
export function servicePath({ tag, description, security = [], responses, ...path }: ServicePath): Part {
  return {
    ...path,
    description: description ?? `${path.summary}. Open to anybody.`,
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

/** Go on somewhere else. */
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
