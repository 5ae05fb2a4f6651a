/** One request to an operation: reads its input, invokes it in the scope, and answers over HTTP. */
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
  requireSameOrigin,
  type TextField,
} from '@freehold/contracts/http';
import type { Context, Env } from 'hono';
import type { OperationRoute } from './operation-routes.ts';
import { jsonResponse, privateHeaders, readBody } from './request.ts';

export interface CallOptions<E extends Env> {
  /** The stub for the caller of a request. @throws PlatformError for a caller who is not let in. */
  readonly resolveStub: (c: Context<E>) => Promise<OperationStub> | OperationStub;
  readonly bodyLimitBytes: number | undefined;
  readonly ownOrigin: ((c: Context<E>) => string) | undefined;
}

/** Returns the handler of one operation's route. */
export function operationHandler<E extends Env>(
  route: OperationRoute,
  { resolveStub, bodyLimitBytes, ownOrigin }: CallOptions<E>,
): (c: Context<E>) => Promise<Response> {
  return async (c) => {
    // The caller is identified before the request is read: an anonymous caller learns nothing of our schemas.
    if (route.method !== 'GET')
      requireSameOrigin(c.req.raw.headers, () => ownOrigin?.(c) ?? new URL(c.req.url).origin);
    const stub = await resolveStub(c);
    const call = await readCall(c, route, bodyLimitBytes);
    const result = await stub.invoke(call);
    const headers = resultHeaders(c, result);
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
    if (isRead && isUnchanged(c.req.header('if-none-match'), result.version))
      return new Response(null, { status: 304, headers });
    if (route.operation.created === undefined) return jsonResponse(c, result.output ?? null, 200, headers);
    return jsonResponse(c, result.output, 201, { ...headers, ...locationOf(c, route, result.output) });
  };
}

/**
 * Reads the request into a call of its operation.
 * @throws PlatformError for a request that does not have the form this operation takes.
 */
async function readCall(
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
    return { operation: route.name, input: readAddress([...parameters, ...query], route) };
  }
  refuse(query, 'is not taken in the query: send it in the body');
  const idempotencyKey = parseIdempotencyKey(c.req.header('idempotency-key'));
  const ifMatch = versionOf(parseIfMatch(c.req.header('if-match')));
  const fromPath = readAddress(parameters, route);
  const body = await readBody(c, bodyLimitBytes);
  refuse(
    parameters.filter(([name]) => Object.hasOwn(body, name) && body[name] !== fromPath[name]),
    'contradicts the path',
  );
  return {
    operation: route.name,
    // `fromEntries` defines members and calls no setter, so that a field named `__proto__` is an ordinary field.
    input: Object.fromEntries([...Object.entries(body), ...Object.entries(fromPath)]),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
  };
}

/** Returns the input that an address carries, in its path and query. */
function readAddress(fields: readonly TextField[], { input }: OperationRoute): Record<string, unknown> {
  return fields.length === 0 ? {} : readText('The address', fields, input);
}

/**
 * The one version that a call can state, or `*`.
 * @throws PlatformError `precondition_failed` when the header names no version that an entity can have: only weak tags,
 * the empty one, or `"*"`, which in quotes is an ordinary tag. `validation_failed` when it names several.
 */
function versionOf(ifMatch: IfMatch | undefined): string | undefined {
  if (ifMatch === undefined || ifMatch === '*') return ifMatch;
  const [version, ...others] = new Set(ifMatch.filter((tag) => tag !== '' && tag !== '*'));
  if (version === undefined)
    throw new PlatformError('precondition_failed', 'The entity tag of If-Match is not the present version.');
  if (others.length > 0) throw malformedHeader('If-Match', 'must name one version');
  return version;
}

/** `Location` of the record that a call made, below the prefix that the request came to. */
function locationOf(c: Context, { operation, path, recordPaths }: OperationRoute, output: unknown) {
  const record = operation.created?.(output);
  const address = record && recordPaths.get(record.type);
  if (!record || !address) return {};
  const above = new URL(c.req.url).pathname.split('/').slice(0, 1 - path.split('/').length);
  return { location: above.join('/') + address.replace(/:\w+/, () => encodeURIComponent(record.id)) };
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
 * The path parameters of a URL, decoded. Counted from the end of the path, so that an app under a prefix of another
 * reads the same.
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
