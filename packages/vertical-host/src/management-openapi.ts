/** The OpenAPI 3.1 document of the management contract, made from its table of routes alone. */
import {
  ATTACHMENT_RECORD_HEADER,
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  MANAGEMENT_ROUTES,
  type ManagementRoute,
  PLATFORM_SECRET_HEADER,
  type ProblemCode,
} from '@freehold/contracts';
import {
  assembleDocument,
  fieldParameters,
  headerReferences,
  type OpenApiDocument,
  type Part,
  problemComponents,
  problemReferences,
  RESPONSE_HEADERS,
  textHeader,
} from '@freehold/operations/openapi';
import { z } from 'zod';
import type { OpenApiInfo } from './lib/openapi.ts';

/** Bytes as they are (OpenAPI 3.1, section 4.8.14.4): no schema describes them. */
const BYTES: Part = {};

/** Builds the document. Default: titled `Management contract`, version `0.1.0`. */
export function managementOpenApi(info: OpenApiInfo = {}): OpenApiDocument {
  const paths: Record<string, Record<string, Part>> = {};
  for (const [name, route] of Object.entries<ManagementRoute>(MANAGEMENT_ROUTES)) {
    const path = `/internal/${route.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(name, route) };
  }
  return assembleDocument({
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
    },
  });
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

function describe(name: string, route: ManagementRoute): Part {
  const body = requestBody(route);
  return {
    operationId: name,
    summary: route.summary,
    parameters: parameters(route),
    ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
    responses: {
      [route.status]: {
        description: route.summary,
        headers: headerReferences(['X-Request-Id', ...(headersOfBytes.get(route) ?? [])]),
        content: answer(route),
      },
      ...problemReferences(route.method === 'GET' ? READ_PROBLEMS : WRITE_PROBLEMS),
    },
  };
}

function parameters({ path, takes, request }: ManagementRoute): Part[] {
  if (takes === 'json' || takes === 'form' || !(request instanceof z.ZodObject)) return [];
  return fieldParameters('query', request).map((parameter) =>
    path.includes(`:${parameter.name}`) ? { ...parameter, in: 'path', required: true } : parameter,
  );
}

function requestBody(route: ManagementRoute): Part | undefined {
  switch (route.takes) {
    case 'query':
      return undefined;
    case 'bytes':
      return Object.fromEntries(Object.values(EXPORT_MEDIA_TYPES).map((type) => [type, BYTES]));
    case 'json':
      return { 'application/json': { schema: route.request } };
    case 'form':
      return {
        'multipart/form-data': {
          schema: {
            type: 'object',
            properties: { meta: route.request, file: BYTES },
            required: ['meta', 'file'],
            additionalProperties: false,
          },
          encoding: { meta: { contentType: 'application/json' } },
        },
      };
  }
}

function answer(route: ManagementRoute): Part {
  if (route.answers === 'json') return { 'application/json': { schema: route.response } };
  const isCopy = headersOfBytes.get(route)?.includes(EXPORT_FORMAT_HEADER) === true;
  const types = isCopy ? Object.values(EXPORT_MEDIA_TYPES) : [];
  return Object.fromEntries(
    (types.length > 0 ? types : ['application/octet-stream']).map((type) => [type, BYTES]),
  );
}

const headersOfBytes = new Map<ManagementRoute, readonly string[]>([
  [MANAGEMENT_ROUTES.export, [EXPORT_FORMAT_HEADER, EXPORT_BOOKMARK_HEADER]],
  [MANAGEMENT_ROUTES.snapshotOpen, [EXPORT_FORMAT_HEADER, EXPORT_BOOKMARK_HEADER]],
  [MANAGEMENT_ROUTES.connectorAttachmentOpen, [ATTACHMENT_RECORD_HEADER]],
]);
