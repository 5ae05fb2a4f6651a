/** The OpenAPI 3.1 document of an operation mount, made from the declarations alone. */
import type { ProblemCode } from '@freehold/contracts';
import { isReadOnly, openApiPath } from '@freehold/operations';
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
import type { OperationRoute } from './operation-routes.ts';

export interface OpenApiInfo {
  readonly title?: string;
  readonly version?: string;
}

/**
 * Builds the document. Schemas with an id (`.meta({ id })`) become shared components; an input with other optional
 * fields than the output is named `<Id>Input`.
 * @throws Error naming the operation whose schemas cannot be described.
 */
export function openApiDocument(routes: readonly OperationRoute[], info: OpenApiInfo): OpenApiDocument {
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationObject(route);
  }
  const document = {
    openapi: '3.1.0' as const,
    info: { title: info.title ?? 'Operations', version: info.version ?? '0.0.0' },
    security: [{ session: [] }, { bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'sb_session' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      headers: { ...RESPONSE_HEADERS, 'X-Invocation-Id': textHeader('The recorded call.') },
      responses: problemComponents(),
    },
  };
  // The output of a transform has no schema, and is described as anything.
  return assembleDocument(document, { unrepresentable: 'any' });
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
    ...(operation.description === undefined ? {} : { description: operation.description }),
    tags: [name.split('/')[0]],
    'x-permission': operation.permission,
    parameters: [...addressParameters(route), ...headerParameters(route)],
    ...(method === 'GET' ? {} : { requestBody: requestBody(route) }),
    responses: {
      200: {
        description: 'The output of the operation',
        headers,
        content: {
          'application/json': { schema: operation.output },
        },
      },
      ...(method === 'GET' && operation.entity
        ? { 304: { description: 'Not changed since that version', headers } }
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
  const { IdempotencyKey, IfMatch, IfNoneMatch } = HEADER_PARAMETERS;
  if (method === 'GET') return operation.entity ? [IfNoneMatch] : [];
  return operation.entity ? [IdempotencyKey, IfMatch] : [IdempotencyKey];
}

function responseHeaders({ method, operation }: OperationRoute): string[] {
  return [
    'X-Request-Id',
    ...(operation.entity ? ['ETag'] : []),
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
