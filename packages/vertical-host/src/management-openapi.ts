/** The OpenAPI 3.1 document of the management contract, made from its table of routes and from nothing else. */
import {
  ATTACHMENT_RECORD_HEADER,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  MANAGEMENT_ROUTES,
  type ManagementRoute,
  PLATFORM_SECRET_HEADER,
  type ProblemCode,
  problemSchema,
} from '@freehold/contracts';
import {
  fieldParameter,
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
import type { OpenApiInfo } from './lib/openapi.ts';

/** Bytes as they are (OpenAPI 3.1, section 4.8.14.4): no schema describes them. */
const BYTES: Part = {};

/** Builds the document. Default: titled `Management contract`, version `0.1.0`. */
export function managementOpenApi(info: OpenApiInfo = {}): Part {
  const schemas = makeSchemaCollector();
  schemas.output(problemSchema, 'Problem');
  const paths: Record<string, Record<string, Part>> = {};
  for (const [name, route] of Object.entries<ManagementRoute>(MANAGEMENT_ROUTES)) {
    const path = `/internal/${route.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(name, route, schemas) };
  }
  return pruneComponents(
    mergeTwins({
      openapi: '3.1.0',
      info: { title: info.title ?? 'Management contract', version: info.version ?? '0.1.0' },
      security: [{ platform: [] }],
      paths,
      components: {
        securitySchemes: { platform: { type: 'apiKey', in: 'header', name: PLATFORM_SECRET_HEADER } },
        headers: {
          ...RESPONSE_HEADERS,
          [EXPORT_FORMAT_HEADER]: textHeader('The format of the copy.', '^(sqlite|ndjson)$'),
          [EXPORT_BOOKMARK_HEADER]: textHeader('The commit that it shows, where the engine has bookmarks.'),
          [ATTACHMENT_RECORD_HEADER]: textHeader('The record of the attachment: base64url of its JSON.'),
        },
        responses: problemComponents(),
        schemas: schemas.components(),
      },
    }),
  );
}

const READ_PROBLEMS: readonly ProblemCode[] = [
  'validation_failed',
  'forbidden',
  'not_found',
  'internal',
  'unsupported',
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

function describe(name: string, route: ManagementRoute, schemas: SchemaCollector): Part {
  const body = requestBody(name, route, schemas);
  return {
    operationId: name,
    summary: route.summary,
    parameters: parameters(name, route, schemas),
    ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
    responses: {
      [route.status]: {
        description: route.summary,
        headers: headerReferences(['X-Request-Id', ...(headersOfBytes.get(route) ?? [])]),
        content: answer(name, route, schemas),
      },
      ...problemReferences(route.method === 'GET' ? READ_PROBLEMS : WRITE_PROBLEMS),
    },
  };
}

function parameters(name: string, route: ManagementRoute, schemas: SchemaCollector): Part[] {
  if (route.takes === 'json' || route.takes === 'form') return [];
  const { properties = {}, required = [] } = schemas.input(route.request, `${name}.request`);
  return Object.entries(properties as Record<string, JsonSchema>).map(([field, schema]) => {
    const inPath = route.path.includes(`:${field}`);
    const isRequired = inPath || (required as string[]).includes(field);
    return fieldParameter(inPath ? 'path' : 'query', field, schema, isRequired);
  });
}

function requestBody(name: string, route: ManagementRoute, schemas: SchemaCollector): Part | undefined {
  switch (route.takes) {
    case 'query':
      return undefined;
    case 'bytes':
      return Object.fromEntries(Object.values(EXPORT_MEDIA_TYPES).map((type) => [type, BYTES]));
    case 'json':
      return { 'application/json': { schema: schemas.input(route.request, `${name}.request`) } };
    case 'form':
      return {
        'multipart/form-data': {
          schema: {
            type: 'object',
            properties: { meta: schemas.input(route.request, `${name}.request`), file: BYTES },
            required: ['meta', 'file'],
            additionalProperties: false,
          },
          encoding: { meta: { contentType: 'application/json' } },
        },
      };
  }
}

function answer(name: string, route: ManagementRoute, schemas: SchemaCollector): Part {
  if (route.answers === 'json')
    return { 'application/json': { schema: schemas.output(route.response, `${name}.response`) } };
  const types = route === MANAGEMENT_ROUTES.export ? Object.values(EXPORT_MEDIA_TYPES) : [];
  return Object.fromEntries(
    (types.length > 0 ? types : ['application/octet-stream']).map((type) => [type, BYTES]),
  );
}

const headersOfBytes = new Map<ManagementRoute, readonly string[]>([
  [MANAGEMENT_ROUTES.export, [EXPORT_FORMAT_HEADER, EXPORT_BOOKMARK_HEADER]],
  [MANAGEMENT_ROUTES.connectorAttachmentOpen, [ATTACHMENT_RECORD_HEADER]],
]);
