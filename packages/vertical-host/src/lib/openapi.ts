/** The OpenAPI 3.1 document of an operation mount, made from the declarations and from nothing else. */
import { isReadOnly, type ProblemCode, problemSchema } from '@freehold/contracts';
import {
  alternatives,
  fieldParameter,
  HEADER_PARAMETERS,
  headerReferences,
  type JsonSchema,
  makeSchemaCollector,
  mergeTwins,
  type Part,
  problemComponents,
  problemReferences,
  pruneComponents,
  RESPONSE_HEADERS,
  type SchemaCollector,
  textHeader,
} from '@freehold/contracts/http';
import type { OperationRoute } from './operation-routes.ts';

export interface OpenApiInfo {
  readonly title?: string;
  readonly version?: string;
}

/**
 * Builds the document. Schemas with an id (`.meta({ id })`) become shared components; as input they are named
 * `<Id>Input` where what may be left out differs from what is answered.
 * @throws Error naming the operation whose schemas cannot be described.
 */
export function openApiDocument(routes: readonly OperationRoute[], info: OpenApiInfo): Part {
  // What a transform answers has no schema of its own: it is described as anything.
  const schemas = makeSchemaCollector({ unrepresentable: 'any' });
  schemas.output(problemSchema, 'Problem');
  const paths: Record<string, Record<string, Part>> = {};
  for (const route of routes) {
    const path = route.segments
      .map((each) => ('text' in each ? `/${each.text}` : `/{${each.field}}`))
      .join('');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = describe(route, schemas);
  }
  const document = {
    openapi: '3.1.0',
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
      schemas: schemas.components(),
    },
  };
  return pruneComponents(mergeTwins(document));
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

function describe(route: OperationRoute, schemas: SchemaCollector): Part {
  try {
    return operationObject(route, schemas);
  } catch (cause) {
    throw new Error(`The operation ${route.name} cannot be described as JSON`, { cause });
  }
}

function operationObject(route: OperationRoute, schemas: SchemaCollector): Part {
  const { name, operation, method } = route;
  const operationId = operationIdOf(route);
  const headers = headerReferences(responseHeaders(route));
  return {
    operationId,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    tags: [name.split('/')[0]],
    'x-permission': operation.permission,
    parameters: [...addressParameters(route, schemas), ...headerParameters(route)],
    ...(method === 'GET' ? {} : { requestBody: requestBody(route, schemas) }),
    responses: {
      200: {
        description: 'The output of the operation',
        headers,
        content: {
          'application/json': { schema: schemas.output(operation.output, `${operationId}.output`) },
        },
      },
      ...(method === 'GET' && operation.entity
        ? { 304: { description: 'Not changed since that version', headers } }
        : {}),
      ...problemReferences(method === 'GET' ? READ_PROBLEMS : WRITE_PROBLEMS),
    },
  };
}

function addressParameters(route: OperationRoute, schemas: SchemaCollector): Part[] {
  const { method, input } = route;
  const inPath = pathFieldsOf(route);
  const inQuery = method === 'GET' ? [...input.fields.keys()].filter((name) => !inPath.has(name)) : [];
  return [
    ...[...inPath].map((name) => fieldParameter('path', name, fieldSchema(name, route, schemas), true)),
    ...inQuery.map((name) =>
      fieldParameter('query', name, fieldSchema(name, route, schemas), input.required.has(name)),
    ),
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

/** The input without what the path carries. A union of objects is described whole: its members share the path. */
function requestBody(route: OperationRoute, schemas: SchemaCollector): Part {
  const { operation, input } = route;
  const inPath = pathFieldsOf(route);
  const required = [...input.required].filter((name) => !inPath.has(name));
  const body = (schema: JsonSchema): Part => ({
    required: required.length > 0,
    content: { 'application/json': { schema } },
  });
  if (alternatives(input.root, input.root).length !== 1)
    return body(schemas.input(operation.input, inputNameOf(route)));
  const names = [...input.fields.keys()].filter((name) => !inPath.has(name));
  return body({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(name, route, schemas)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  });
}

function fieldSchema(name: string, route: OperationRoute, schemas: SchemaCollector): JsonSchema {
  const { fields, root } = route.input;
  return schemas.inputPart(fields.get(name) ?? {}, { root, name: inputNameOf(route) });
}

function pathFieldsOf({ segments }: OperationRoute): ReadonlySet<string> {
  return new Set(segments.flatMap((each) => ('field' in each ? [each.field] : [])));
}

function operationIdOf({ name }: OperationRoute): string {
  return name.replaceAll('/', '.');
}

/** What the input is called where it has no id and refers to itself. */
function inputNameOf(route: OperationRoute): string {
  return `${operationIdOf(route)}.input`;
}
