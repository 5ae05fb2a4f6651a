/**
 * The OpenAPI 3.1 document of the control plane, made from the declarations (spec 4.3 and 9.4): it publishes the exact
 * schemas, and every status that an operation can answer.
 */

import { staffAccessOf } from '@freehold/directory';
import type { AdminOperation, FormBody, UploadedBytes } from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import {
  assembleDocument,
  fieldParameters,
  HEADER_PARAMETERS,
  headerReferences,
  type OpenApiDocument,
  type OpenApiSource,
  type Part,
  problemComponents,
  problemReferences,
  RESPONSE_HEADERS,
  textHeader,
} from '@freehold/operations/openapi';
import { z } from 'zod';
import {
  type AdminOperationTable,
  answersEvents,
  carriesEtag,
  eventForms,
  eventsStatus,
  isPaged,
  isPlanStatus,
  isUnsafe,
  isValidated,
  problemCodes,
  routesOf,
  strictInput,
  successStatuses,
  takesIdempotencyKey,
  takesIfMatch,
} from '../declared/operations.ts';
import { itemAddressOf } from '../http/serve.ts';
import { EVENT_STREAM } from '../http/streams.ts';
import { counted, RATE_LIMIT_HEADERS, withLimits } from './limits.ts';
import { oauthPaths } from './oauth-paths.ts';
import { PATH_PARAMETERS, SERVICE_HEADERS, TAG_DESCRIPTIONS } from './parts.ts';
import { connectPaths, PLATFORM_SECRET_SCHEME, SERVICE_TAGS, servicePaths } from './service-paths.ts';
import { staffPaths } from './staff-paths.ts';

/** The part of the document about the service as a whole. */
export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** The base address. A path is relative to where the document is served. Default: `/`. */
  readonly serverUrl?: string;
}

export const CONTROL_PLANE_INFO: OpenApiInfo = {
  title: 'Freehold control plane',
  version: '0.1.0',
  description:
    'The HTTP API over the platform’s administration. Every list takes `limit` and `cursor` and answers `items` and `nextCursor`; every failure is an RFC 9457 document with a `code` from a closed list; every operation that changes something takes an `Idempotency-Key`. Pre-release: it changes without notice until 1.0.',
};

/** In OpenAPI 3.1 a license has an address or an SPDX identifier, never both. */
const LICENSE = { name: 'AGPL-3.0-only', url: 'https://www.gnu.org/licenses/agpl-3.0.html' };

/**
 * Makes the document.
 * @throws TypeError when the table cannot be served, when a schema has no JSON form, when two different schemas have
 * one name, or when a tag has no description.
 */
export function openApiDocument(
  operations: AdminOperationTable,
  info: OpenApiInfo = CONTROL_PLANE_INFO,
): OpenApiDocument {
  const { serverUrl = '/', ...about } = info;
  const paths: Record<string, Record<string, Part>> = {};
  for (const operation of routesOf(operations).flatMap((address) => [...address.values()])) {
    const path = openApiPath(operation.path);
    paths[path] = {
      ...paths[path],
      [operation.method.toLowerCase()]: operationObject(operation, operations),
    };
  }
  const document: OpenApiSource = {
    openapi: '3.1.0',
    info: { ...about, license: LICENSE },
    servers: [
      {
        url: serverUrl,
        description: 'The installation that serves this document, in production or local',
        'x-internal': false,
      },
    ],
    security: [{ bearer: [] }],
    tags: tagsOf(operations),
    paths: {
      ...paths,
      ...connectPaths(),
      ...staffPaths(),
      ...oauthPaths(),
      ...servicePaths(),
    },
    components: {
      responses: counted(problemComponents()),
      parameters: HEADER_PARAMETERS,
      headers: {
        ...RESPONSE_HEADERS,
        ...RATE_LIMIT_HEADERS,
        ...SERVICE_HEADERS,
        'X-Admin-Log-Head': textHeader(
          'The head of the admin log after this call: its sequence and its hash.',
          '^[0-9]{1,16}:[0-9a-f]{64}$',
        ),
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'opaque',
          description: 'A service token, a push token, or the token of a program of the staff.',
        },
        platformSecret: PLATFORM_SECRET_SCHEME,
      },
    },
  };
  return withLimits(assembleDocument(document));
}

function operationObject(operation: AdminOperation, operations: AdminOperationTable): Part {
  const input = strictInput(operation);
  const isShort = operations[operation.name]?.path !== operation.path;
  return {
    // The second address of one operation needs an id of its own.
    operationId: isShort ? `${operation.name}.short` : operation.name,
    summary: operation.summary,
    description: descriptionOf(operation),
    tags: [operation.tag],
    ...(operation.vertical === undefined ? {} : { security: [{ bearer: [] }, { platformSecret: [] }] }),
    parameters: [
      ...fieldParameters('path', input.params, PATH_PARAMETERS),
      ...fieldParameters('query', input.query),
      ...headerParameters(operation),
    ],
    ...(operation.upload ? { requestBody: uploadBody(operation.upload) } : {}),
    ...(operation.input.body ? { requestBody: requestBody(operation, input.body) } : {}),
    responses: {
      ...successResponses(operation, operations),
      ...problemReferences(problemCodes(operation)),
    },
  };
}

function descriptionOf(operation: AdminOperation): string {
  const who = [
    STAFF_WORDS[staffAccessOf(operation)],
    ...(operation.builder === 'own-tenant'
      ? [`for builders within their own tenant (${BUILDER_WORDS[operation.pushToken ?? 'operate']})`]
      : []),
    ...(operation.vertical === undefined ? [] : [`for verticals with the grant ${operation.vertical}`]),
  ];
  const log = {
    audit: ' Writes one row of the admin log.',
    access: ' Writes one row of the access log.',
    none: '',
  }[operation.audit];
  return `${operation.description ?? `${operation.summary}.`}\n\n${who.join(', and ')}.${log}`;
}

/** The staff, and the service tokens that they own, for each access: see `docs/staff.md`. */
const STAFF_WORDS = {
  read: 'For staff and service tokens',
  operate: 'For staff who are admins or operators, and for service tokens of such owners or without an owner',
  administer: 'For staff who are admins, and for service tokens of such owners or without an owner',
} as const;

/** The push tokens of each least kind; a person who builds may do what the last one may. */
const BUILDER_WORDS = {
  deploy: 'with a push token of any kind',
  read: 'with a push token of the kind read or operate',
  operate: 'with a push token of the kind operate',
} as const;

function headerParameters(operation: AdminOperation): Part[] {
  if (!isUnsafe(operation.method))
    return isValidated(operation) ? [{ $ref: '#/components/parameters/IfNoneMatch' }] : [];
  return [
    ...(takesIdempotencyKey(operation) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(takesIfMatch(operation) ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
  ];
}

function requestBody(operation: AdminOperation, strict: z.ZodObject): Part {
  return {
    // An empty body stands for an empty object, so one is required exactly where an empty object is refused.
    required: !strict.safeParse({}).success,
    content: {
      'application/json': { schema: strict },
      ...(operation.form ? formContent(strict, operation.form) : {}),
    },
  };
}

/** The same body as a form (OpenAPI 3.1, "Special Considerations for multipart Content"). */
function formContent(strict: z.ZodObject, { files, bytesMax }: FormBody): Part {
  const { [files]: listed, ...others } = strict.shape;
  const { maxItems } = z.toJSONSchema(listed ?? z.array(z.unknown()), { io: 'input' });
  const meta = z.strictObject(others);
  const file = { contentMediaType: 'application/octet-stream', description: 'Named by its file name' };
  return {
    'multipart/form-data': {
      schema: {
        type: 'object',
        description: `At most ${bytesMax} bytes.`,
        properties: {
          meta,
          file: {
            type: 'array',
            description: `The ${files}, a part each`,
            minItems: 1,
            ...(maxItems === undefined ? {} : { maxItems }),
            items: file,
          },
        },
        required: ['meta', 'file'],
      },
      encoding: { meta: { contentType: 'application/json' } },
    },
  };
}

/** Bytes (OpenAPI 3.1, "Working with Binary Data"). Generators leave out an operation whose body has no schema. */
function uploadBody({ mediaTypes, bytesMax }: UploadedBytes): Part {
  const schema = { type: 'string', format: 'binary', maxLength: bytesMax };
  return { required: true, content: Object.fromEntries(mediaTypes.map((type) => [type, { schema }])) };
}

function successResponses(operation: AdminOperation, operations: AdminOperationTable): Part {
  const responses = successStatuses(operation).map((status) => [
    status,
    {
      description: isPlanStatus(operation, status) ? 'The plan: nothing was changed.' : SUCCESS[status],
      headers: responseHeaders(operation, status, operations),
      ...(status === 204 || status === 304 ? {} : { content: contentOf(operation, status) }),
    },
  ]);
  return Object.fromEntries(responses);
}

function contentOf(operation: AdminOperation, status: number): Part {
  const { output, plan, bytes } = operation;
  if (status === 200 && plan) {
    const schema = isPlanStatus(operation, status) ? plan : { anyOf: [output, plan] };
    return { 'application/json': { schema } };
  }
  if (!bytes)
    return {
      'application/json': { schema: pageForm(operation) },
      // OpenAPI 3.1 sees a stream as one long text and cannot describe its events: an extension lists them by name.
      ...(answersEvents(operation) && status === eventsStatus(operation)
        ? { [EVENT_STREAM]: { schema: { type: 'string' }, 'x-events': eventForms(operation) } }
        : {}),
    };
  // Bytes have no JSON form (OpenAPI 3.1, "Working with Binary Data").
  return Object.fromEntries(Object.values(bytes.mediaType.types).map((type) => [type, {}]));
}

/** A page has no more items than the call asks for, nor than it may ask for. */
function pageForm(operation: AdminOperation): z.ZodType {
  const { output, input } = operation;
  const limit = input.query?.shape.limit;
  // A page with a name is described once, for every operation that answers it.
  const isNamed = z.globalRegistry.get(output)?.id !== undefined;
  if (isNamed || !isPaged(operation) || !(output instanceof z.ZodObject) || !limit) return output;
  const { maximum } = z.toJSONSchema(limit, { io: 'input' });
  const { items } = output.shape;
  if (!(items instanceof z.ZodArray) || maximum === undefined) return output;
  return z.object({ ...output.shape, items: items.max(maximum) });
}

const SUCCESS: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Begun: the address in Location shows its progress.',
  204: 'Done; there is nothing to show.',
  304: 'Unchanged since the version in If-None-Match.',
};

function responseHeaders(operation: AdminOperation, status: number, operations: AdminOperationTable): Part {
  const isPlan = isPlanStatus(operation, status);
  const names = [
    ['X-Request-Id', true],
    ['RateLimit', true],
    ['RateLimit-Policy', true],
    ['ETag', carriesEtag(operation, status)],
    ['Location', status === 202 || (status === 201 && itemAddressOf(operation, operations) !== null)],
    ['Idempotency-Replayed', takesIdempotencyKey(operation) && !isPlan],
    ['X-Admin-Log-Head', operation.audit === 'audit' && !isPlan],
  ] as const;
  return {
    ...headerReferences(names.flatMap(([name, present]) => (present ? [name] : []))),
    ...bytesHeaders(operation),
  };
}

/** The headers of an answer of bytes, with the fields of its output. */
function bytesHeaders({ output, bytes }: AdminOperation): Part {
  if (!bytes) return {};
  const { properties = {} } = z.toJSONSchema(output, { io: 'output' });
  return Object.fromEntries(
    Object.entries(bytes.headers).map(([header, field]) => [
      header,
      {
        description: `${field} of the bytes; left out where there is none.`,
        schema: properties[field] ?? {},
      },
    ]),
  );
}

function tagsOf(operations: AdminOperationTable): { name: string; description: string }[] {
  const names = new Set([...Object.values(operations).map(({ tag }) => tag), ...SERVICE_TAGS]);
  return [...names].sort().map((name) => {
    const description = TAG_DESCRIPTIONS[name];
    if (description === undefined) throw new TypeError(`the tag ${name} has no description`);
    return { name, description };
  });
}
