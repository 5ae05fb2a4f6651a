/** The OpenAPI 3.1 document of an operation mount, made from the declarations and from nothing else. */
import { isReadOnly, PROBLEMS, type ProblemCode, problemSchema } from '@freehold/contracts';
import { z } from 'zod';
import { alternatives, type InputShape, type JsonSchema } from './input-shape.ts';
import type { OperationRoute } from './operation-routes.ts';

export interface OpenApiInfo {
  readonly title?: string;
  readonly version?: string;
}

/**
 * Builds the document. Schemas with an id (`.meta({ id })`) become shared components; as input they are named
 * `<Id>Input`, because what may be left out differs from what is answered.
 * @throws Error naming the operation whose output has no form in JSON.
 */
export function openApiDocument(routes: readonly OperationRoute[], info: OpenApiInfo): JsonSchema {
  const components: Record<string, JsonSchema> = {};
  const problem = place(z.toJSONSchema(problemSchema) as JsonSchema, {
    io: 'output',
    name: 'Problem',
    components,
  });
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = route.segments
      .map((each) => ('text' in each ? `/${each.text}` : `/{${each.field}}`))
      .join('');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operationObject(route, components);
  }
  return {
    openapi: '3.1.0',
    info: { title: info.title ?? 'Operations', version: info.version ?? '0.0.0' },
    security: [{ session: [] }, { bearer: [] }],
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'sb_session' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      responses: Object.fromEntries(
        [...statuses(Object.keys(PROBLEMS) as ProblemCode[])].map(([status, titles]) => [
          `Problem${status}`,
          {
            description: titles.join('; or: '),
            content: { 'application/problem+json': { schema: problem } },
          },
        ]),
      ),
      schemas: components,
    },
  };
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

function operationObject(route: OperationRoute, components: Record<string, JsonSchema>): JsonSchema {
  const { name, operation, method } = route;
  const operationId = name.replaceAll('/', '.');
  const where = { io: 'input', name: `${operationId}.input`, components } as const;
  const problems = method === 'GET' ? READ_PROBLEMS : WRITE_PROBLEMS;
  return {
    operationId,
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    tags: [name.split('/')[0]],
    'x-permission': operation.permission,
    parameters: [...addressParameters(route, where), ...headerParameters(route)],
    ...(method === 'GET' ? {} : { requestBody: requestBody(route, where) }),
    responses: {
      200: {
        description: 'The output of the operation',
        headers: responseHeaders(route),
        content: { 'application/json': { schema: outputSchema(route, operationId, components) } },
      },
      ...(method === 'GET' && operation.entity
        ? { 304: { description: 'Not changed since that version' } }
        : {}),
      ...Object.fromEntries(
        [...statuses(problems).keys()].map((status) => [
          status,
          { $ref: `#/components/responses/Problem${status}` },
        ]),
      ),
    },
  };
}

function outputSchema(
  { name, operation }: OperationRoute,
  operationId: string,
  components: Record<string, JsonSchema>,
): JsonSchema {
  try {
    // What a transform answers has no schema of its own: it is described as anything.
    const schema = z.toJSONSchema(operation.output, { io: 'output', unrepresentable: 'any' });
    return place(schema as JsonSchema, { io: 'output', name: `${operationId}.output`, components });
  } catch (cause) {
    throw new Error(`The output of the operation ${name} cannot be described as JSON`, { cause });
  }
}

function addressParameters({ method, segments, input }: OperationRoute, where: Placement): JsonSchema[] {
  const inPath = new Set(segments.flatMap((each) => ('field' in each ? [each.field] : [])));
  const inQuery = method === 'GET' ? [...input.fields.keys()].filter((name) => !inPath.has(name)) : [];
  const parameter = (name: string, place: 'path' | 'query', required: boolean): JsonSchema => {
    const { description, ...schema } = placeField(name, input, where);
    return { name, in: place, required, ...(description === undefined ? {} : { description }), schema };
  };
  return [
    ...[...inPath].map((name) => parameter(name, 'path', true)),
    ...inQuery.map((name) => parameter(name, 'query', input.required.has(name))),
  ];
}

function headerParameters({ method, operation }: OperationRoute): JsonSchema[] {
  const header = (name: string, description: string): JsonSchema => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', maxLength: 255 },
  });
  if (method === 'GET') {
    return operation.entity ? [header('If-None-Match', 'The version that the caller holds already')] : [];
  }
  return [
    header('Idempotency-Key', 'Makes a repetition answer what the first call answered; kept for 24 hours'),
    ...(operation.entity ? [header('If-Match', 'The version that the caller has seen, or *')] : []),
  ];
}

function responseHeaders({ method, operation }: OperationRoute): JsonSchema {
  const header = (description: string): JsonSchema => ({ description, schema: { type: 'string' } });
  return {
    ...(operation.entity ? { ETag: header('The version of the record after the call') } : {}),
    ...(isReadOnly(operation) ? {} : { 'X-Invocation-Id': header('The recorded call') }),
    ...(method === 'GET'
      ? {}
      : { 'Idempotency-Replayed': header('`true` when this is the stored answer of an earlier call') }),
  };
}

/** The input without what the path carries. A union of objects is described whole: its members share the path. */
function requestBody({ segments, input }: OperationRoute, where: Placement): JsonSchema {
  const inPath = new Set(segments.flatMap((each) => ('field' in each ? [each.field] : [])));
  const content = (schema: JsonSchema) => ({ 'application/json': { schema } });
  const required = [...input.required].filter((name) => !inPath.has(name));
  const [member, ...others] = alternatives(input.root, input.root);
  if (!member || others.length > 0) {
    return { required: required.length > 0, content: content(place(input.root, where)) };
  }
  const names = [...input.fields.keys()].filter((name) => !inPath.has(name));
  const schema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, placeField(name, input, where)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  return { required: required.length > 0, content: content(schema) };
}

/** Each status with the titles of its codes, in order. */
function statuses(codes: readonly ProblemCode[]): Map<number, string[]> {
  const titles = new Map<number, string[]>();
  for (const code of codes) {
    const { status, title } = PROBLEMS[code];
    titles.set(status, [...(titles.get(status) ?? []), title]);
  }
  return titles;
}

interface Placement {
  readonly io: 'input' | 'output';
  /** What the schema is called where it has no id and refers to itself. */
  readonly name: string;
  readonly components: Record<string, JsonSchema>;
}

function placeField(name: string, input: InputShape, where: Placement): JsonSchema {
  const field = input.fields.get(name) ?? {};
  return place({ ...field, $defs: input.root.$defs }, where, input.root);
}

/** Moves a schema's definitions into the shared components, and points its references there. */
function place(schema: JsonSchema, where: Placement, root: JsonSchema = schema): JsonSchema {
  const address = (name: string): string => {
    // zod numbers what has no id from zero in every schema.
    if (name.startsWith('__')) return `${where.name}.${name}`;
    return where.io === 'input' ? `${name}Input` : name;
  };
  const pointer = (ref: string): string => {
    if (ref !== '#') return `#/components/schemas/${address(ref.slice('#/$defs/'.length))}`;
    if (!(where.name in where.components)) {
      // Taken before it is filled, because it is about to be met inside itself.
      where.components[where.name] = {};
      where.components[where.name] = rewrite(withoutDefinitions(root), pointer);
    }
    return `#/components/schemas/${where.name}`;
  };
  for (const [name, definition] of Object.entries((schema.$defs ?? {}) as Record<string, JsonSchema>)) {
    where.components[address(name)] ??= rewrite(definition, pointer);
  }
  return rewrite(withoutDefinitions(schema), pointer);
}

function withoutDefinitions({ $defs, $schema, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** Keywords whose value is data, in which nothing is a reference. */
const DATA_KEYWORDS = new Set(['default', 'const', 'enum', 'examples']);
/** Keywords whose members are named by the author: a property may be called `default` or `$ref`. */
const NAMING_KEYWORDS = new Set(['properties', 'patternProperties']);

function rewrite(schema: JsonSchema, pointer: (ref: string) => string): JsonSchema {
  const each = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(each);
    return typeof value === 'object' && value !== null ? rewrite(value as JsonSchema, pointer) : value;
  };
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (DATA_KEYWORDS.has(keyword)) return [keyword, value];
      if (keyword === '$ref' && typeof value === 'string') return [keyword, pointer(value)];
      if (NAMING_KEYWORDS.has(keyword)) {
        const named = Object.entries(value as Record<string, unknown>);
        return [keyword, Object.fromEntries(named.map(([name, member]) => [name, each(member)]))];
      }
      return [keyword, each(value)];
    }),
  );
}
