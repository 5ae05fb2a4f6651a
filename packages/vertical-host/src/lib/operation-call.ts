/** One request to an operation: its input put together, the scope asked, the answer dressed as HTTP. */
import {
  type FieldError,
  type InvokeRequest,
  type InvokeResult,
  type OperationStub,
  PlatformError,
} from '@freehold/contracts';
import {
  entityTag,
  type IfMatch,
  isUnchanged,
  malformedHeader,
  parseIdempotencyKey,
  parseIfMatch,
  queryFields,
  readText,
  type TextField,
} from '@freehold/contracts/http';
import type { Context } from 'hono';
import { readBody } from './json-body.ts';
import { jsonResponse, privateHeaders } from './json-response.ts';
import type { OperationRoute } from './operation-routes.ts';

/**
 * Reads the request into a call of its operation.
 * @throws PlatformError for a request that does not have the form this operation takes.
 */
export async function readCall(
  c: Context,
  route: OperationRoute,
  bodyLimitBytes: number | undefined,
): Promise<InvokeRequest> {
  const parameters = pathFields(c, route);
  const query = c.req.url.includes('?') ? queryFields(new URL(c.req.url)) : [];
  if (route.method === 'GET') {
    refuse(
      query.filter(([name]) => parameters.some(([parameter]) => parameter === name)),
      'is part of the path',
    );
    return { operation: route.name, input: readText('The address', [...parameters, ...query], route.input) };
  }
  refuse(query, 'is not taken in the query: send it in the body');
  const idempotencyKey = parseIdempotencyKey(c.req.header('idempotency-key'));
  const ifMatch = versionOf(parseIfMatch(c.req.header('if-match')));
  const fromPath = readText('The address', parameters, route.input);
  const body = await readBody(c, bodyLimitBytes);
  refuse(
    parameters.filter(([name]) => Object.hasOwn(body, name) && body[name] !== fromPath[name]),
    'contradicts the path',
  );
  return {
    operation: route.name,
    // fromEntries defines members and never calls a setter, so that a field named __proto__ is only a field.
    input: Object.fromEntries([...Object.entries(body), ...Object.entries(fromPath)]),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
  };
}

/**
 * The one version that a call can state, or `*`.
 * @throws PlatformError `precondition_failed` when the header names none that an entity can have: only weak tags, the
 * empty one, or `"*"`, which in quotes is a tag like any other. `validation_failed` when it names several.
 */
function versionOf(ifMatch: IfMatch | undefined): string | undefined {
  if (ifMatch === undefined || ifMatch === '*') return ifMatch;
  const [version, ...others] = new Set(ifMatch.filter((tag) => tag !== '' && tag !== '*'));
  if (version === undefined)
    throw new PlatformError('precondition_failed', 'The entity tag of If-Match is not the present version.');
  if (others.length > 0) throw malformedHeader('If-Match', 'must name one version');
  return version;
}

/** Asks the scope and answers what it said. */
export async function answerCall(c: Context, stub: OperationStub, call: InvokeRequest): Promise<Response> {
  const result = await stub.invoke(call);
  const headers = resultHeaders(c, result);
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  if (isRead && isUnchanged(c.req.header('if-none-match'), result.version)) {
    return new Response(null, { status: 304, headers });
  }
  return jsonResponse(c, result.output ?? null, 200, headers);
}

function resultHeaders(c: Context, result: InvokeResult): Record<string, string> {
  return {
    ...privateHeaders(c),
    ...(result.version === null ? {} : { etag: entityTag(result.version) }),
    ...(result.replayed ? { 'idempotency-replayed': 'true' } : {}),
    ...(result.invocation === null ? {} : { 'x-invocation-id': result.invocation }),
  };
}

/**
 * The path parameters of a URL, decoded. They are counted from the end of the path, so that an app that is mounted
 * under a prefix of another reads them alike.
 */
function pathFields(c: Context, { path, inPath }: OperationRoute): TextField[] {
  if (inPath.length === 0) return [];
  const segments = path.slice(1).split('/');
  const given = new URL(c.req.url).pathname.split('/').slice(-segments.length);
  return inPath.map((field): TextField => {
    try {
      return [field, [decodeURIComponent(given[segments.indexOf(`:${field}`)] ?? '')]];
    } catch {
      throw refusal([{ path: field, message: 'is not percent-encoded UTF-8' }]);
    }
  });
}

function refuse(fields: readonly TextField[], message: string): void {
  if (fields.length > 0) throw refusal(fields.map(([path]) => ({ path, message })));
}

function refusal(errors: readonly FieldError[]): PlatformError {
  const [first] = errors;
  const detail = `The request is not valid. ${first?.path}: ${first?.message}.`;
  return new PlatformError('validation_failed', detail, { errors });
}
