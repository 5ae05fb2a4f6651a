/** The OpenAPI 3.1 document of an operation mount, made from the declarations alone. */
import type { ProblemCode } from '@freehold/contracts';
import { isReadOnly } from '@freehold/operations';
import {
  assembleDocument,
  fieldParameters,
  HEADER_PARAMETERS,
  headerReferences,
  type OpenApiDocument,
  type Part,
  problemComponents,
  problemReferences,
  RESPONSE_HEADERS,
  textHeader,
} from '@freehold/operations/openapi';
import { z } from 'zod';
import {
  CREDENTIALS,
  type DescribedRoute,
  describedOperation,
  openApiAddress,
  tagOf,
} from './described-routes.ts';
import { entityNames } from './entity-names.ts';
import type { OperationRoute } from './operation-routes.ts';

export interface OpenApiInfo {
  readonly title?: string;
  readonly version?: string;
  /** The purpose of the application, in a sentence. Default: a sentence about its API. */
  readonly description?: string;
  /** The people who answer questions about the API. Default: the title as their name. */
  readonly contact?: { readonly name: string; readonly url?: string; readonly email?: string };
  /** The license of the API: with an address, or with its SPDX identifier. Default: proprietary. */
  readonly license?: { readonly name: string } & ({ readonly url: string } | { readonly identifier: string });
  /** Descriptions of the groups of operations, by tag. A tag is the noun of a name. Default: a sentence for each. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The routes that the application serves beside its operations: see {@link DescribedRoute}. Default: none. */
  readonly describedRoutes?: readonly DescribedRoute[];
}

/** SPDX (annex D): a license that is on no list. In OpenAPI 3.1 a license needs an address or an identifier. */
const PROPRIETARY = { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' };

/**
 * Builds the document. Schemas with an id (`.meta({ id })`) become shared components, and so do those of entities (see
 * {@link entityNames}); an input with other optional fields than the output is named `<Id>Input`.
 * @param beside the routes of the mount itself.
 * @throws TypeError naming the operation whose schemas cannot be described.
 */
export function openApiDocument(
  routes: readonly OperationRoute[],
  info: OpenApiInfo,
  beside: readonly DescribedRoute[] = [],
): OpenApiDocument {
  const { title = 'Operations', version = '0.0.0', describedRoutes = [] } = info;
  const described = [...describedRoutes, ...beside];
  const paths: Record<string, Record<string, Part>> = {};
  const add = (route: OperationRoute | DescribedRoute, operation: Part): void => {
    const path = openApiAddress(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  };
  for (const route of routes) add(route, operationObject(route));
  for (const route of described) add(route, describedOperation(route));
  const document = {
    openapi: '3.1.0' as const,
    info: {
      title,
      version,
      description: info.description ?? descriptionOf(title),
      contact: info.contact ?? { name: title },
      license: info.license ?? PROPRIETARY,
    },
    servers: [{ url: '/', description: 'The instance that serves this document' }],
    security: CREDENTIALS,
    tags: tagsOf([...routes, ...described], info.tags),
    paths,
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'sb_session',
          description: 'The session of a member who signed in with a browser.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token of the issuer that this instance trusts, for a program of a member.',
        },
      },
      parameters: HEADER_PARAMETERS,
      headers: { ...RESPONSE_HEADERS, 'X-Invocation-Id': textHeader('The recorded call.') },
      responses: problemComponents(),
    },
  };
  // The output of a transform has no schema, and is described as anything.
  return assembleDocument(document, { unrepresentable: 'any', names: entityNames(routes) });
}

function descriptionOf(title: string): string {
  return `The API of ${title}. A list takes \`limit\` and \`cursor\` and answers \`items\` and \`nextCursor\`; a failure is an RFC 9457 document with a \`code\` from a closed list; an operation that changes something takes an \`Idempotency-Key\`.`;
}

/** One tag for each group, in the order of the alphabet. */
function tagsOf(
  routes: readonly (OperationRoute | DescribedRoute)[],
  descriptions: Readonly<Record<string, string>> = {},
): { name: string; description: string }[] {
  return [...new Set(routes.map(tagOf))].sort().map((name) => ({
    name,
    description: Object.hasOwn(descriptions, name)
      ? (descriptions[name] as string)
      : `The operations of \`${name}\`.`,
  }));
}

const READ_PROBLEMS: readonly ProblemCode[] = [
  'validation_failed',
  'unauthenticated',
  'permission_denied',
  'not_found',
  'rate_limited',
  'internal',
  'runtime_fault',
  'unavailable',
];

const WRITE_PROBLEMS: readonly ProblemCode[] = [
  ...READ_PROBLEMS,
  'conflict',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
];

function operationObject(route: OperationRoute): Part {
  const { name, operation, method } = route;
  const headers = headerReferences(responseHeaders(route));
  return {
    operationId: name.replaceAll('/', '.'),
    summary: operation.summary,
    description: `${operation.description ?? `${operation.summary}.`}\n\nNeeds the permission \`${operation.permission}\`.`,
    tags: [tagOf(route)],
    'x-permission': operation.permission,
    parameters: [...addressParameters(route), ...headerParameters(route)],
    ...(method === 'GET' ? {} : { requestBody: requestBody(route) }),
    responses: {
      [operation.created === undefined ? 200 : 201]: {
        description: operation.created === undefined ? 'The output of the operation.' : 'Created.',
        headers,
        content: {
          'application/json': { schema: operation.output },
        },
      },
      ...(method === 'GET' && operation.entity
        ? { 304: { description: 'Not changed since that version.', headers } }
        : {}),
      ...problemReferences(method === 'GET' ? READ_PROBLEMS : WRITE_PROBLEMS),
    },
  };
}

function addressParameters(route: OperationRoute): Part[] {
  const inPath = new Set(route.inPath);
  const fields = fieldsOf(objectsOf(route.operation.input));
  const pick = (isWanted: (name: string) => boolean): z.ZodObject =>
    z.object(Object.fromEntries([...fields].filter(([name]) => isWanted(name))));
  return [
    ...fieldParameters(
      'path',
      z.object(Object.fromEntries([...inPath].map((name) => [name, fields.get(name) ?? z.unknown()]))),
    ),
    ...(route.method === 'GET'
      ? fieldParameters(
          'query',
          pick((name) => !inPath.has(name)),
        )
      : []),
  ];
}

function headerParameters({ method, operation }: OperationRoute): Part[] {
  const names =
    method === 'GET'
      ? operation.entity
        ? ['IfNoneMatch']
        : []
      : operation.entity
        ? ['IdempotencyKey', 'IfMatch']
        : ['IdempotencyKey'];
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function responseHeaders({ method, operation }: OperationRoute): string[] {
  return [
    'X-Request-Id',
    ...(operation.entity || operation.created ? ['ETag'] : []),
    ...(operation.created ? ['Location'] : []),
    ...(isReadOnly(operation) ? [] : ['X-Invocation-Id']),
    ...(method === 'GET' ? [] : ['Idempotency-Replayed']),
  ];
}

/** The input without the fields of the path. A union of objects is described whole: its members share the path. */
function requestBody(route: OperationRoute): Part {
  const { operation, input } = route;
  const inPath = new Set(route.inPath);
  const [only, ...others] = objectsOf(operation.input);
  const shape = Object.entries(only?.shape ?? {}).filter(([name]) => !inPath.has(name));
  return {
    required: [...input.required].some((name) => !inPath.has(name)),
    content: {
      'application/json': {
        schema: others.length > 0 ? operation.input : z.strictObject(Object.fromEntries(shape)),
      },
    },
  };
}

/** The fields of all members of a union: accepted by any member, required when all require it. */
function fieldsOf(members: readonly z.ZodObject[]): ReadonlyMap<string, z.ZodType> {
  const names = new Set(members.flatMap(({ shape }) => Object.keys(shape)));
  return new Map(
    [...names].map((name) => {
      const [first = z.unknown(), ...more] = members.flatMap(({ shape }) => (shape[name] as z.ZodType) ?? []);
      const field = more.length === 0 ? first : z.union([first, ...more]);
      return [name, more.length + 1 < members.length ? field.optional() : field];
    }),
  );
}

/** The objects that an input may be: itself, the members of a union, or the input of a transform. */
function objectsOf(input: z.ZodType): z.ZodObject[] {
  if (input instanceof z.ZodObject) return [input];
  if (input instanceof z.ZodUnion) return input.options.flatMap((each) => objectsOf(each as z.ZodType));
  if (input instanceof z.ZodPipe)
    return objectsOf((input.in instanceof z.ZodTransform ? input.out : input.in) as z.ZodType);
  if ('unwrap' in input && typeof input.unwrap === 'function') return objectsOf(input.unwrap());
  return [];
}
