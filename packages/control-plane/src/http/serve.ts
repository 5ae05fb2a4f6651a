/**
 * One call of an operation, from the request to the response. The caller is authenticated first, so that an anonymous sender
 * learns nothing of the input's judgement.
 */
import { PLATFORM_SECRET_HEADER, PlatformError, parseInput } from '@freehold/contracts';
import {
  entityTag,
  isUnchanged,
  malformedHeader,
  parseIdempotencyKey,
  parseIfMatch,
  queryFields,
  readJsonObject,
  requireSameOrigin,
  textReader,
} from '@freehold/contracts/http';
import type { Actor, AdminCall, AdminResult, HostAdmin, OperationEvent } from '@freehold/directory';
import type { AdminOperation } from '@freehold/directory/declarations';
import { pathParams } from '@freehold/operations';
import type { Context } from 'hono';
import { z } from 'zod';
import {
  type AdminOperationTable,
  answerForm,
  answersEvents,
  eventForms,
  type Fields,
  isUnsafe,
  isValidated,
  strictInput,
  takesIdempotencyKey,
  takesIfMatch,
} from '../declared/operations.ts';
import { readFormOrJson, readUpload } from './bodies.ts';
import type { AdmitActor, ControlPlaneEnv } from './env.ts';
import { acceptsEvents, bytesAnswer, eventsAnswer } from './streams.ts';

/** The headers that every response of the control plane carries. */
export const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** An operation with everything that is computed from its declaration once. */
export interface Route {
  readonly operation: AdminOperation;
  /** Reads the input of a call. @throws PlatformError `validation_failed`, `payload_too_large`, `unsupported_media_type`. */
  readonly read: (request: Request, params: Readonly<Record<string, string>>) => Promise<CallInput>;
  readonly item: ItemAddress | null;
}

/** The part of a call that the request itself gives. */
type CallInput = Pick<
  AdminCall,
  'params' | 'query' | 'body' | 'idempotencyKey' | 'ifMatch' | 'upload' | 'events'
>;

export interface ServeOptions extends Authentication {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate' | 'perform'>;
  readonly admit: AdmitActor;
}

export async function serve(
  c: Context<ControlPlaneEnv>,
  { operation, read, item }: Route,
  options: ServeOptions,
): Promise<Response> {
  const request = c.req.raw;
  c.set('operation', operation.name);
  const actor = await authenticate(request, options, c.env?.clientAddress);
  options.admit(c, actor);
  const input = await read(request, c.req.param());
  const { requestId } = c.var;
  const result = await options.hostAdmin.perform({ ...input, operation: operation.name, actor, requestId });
  return answer(operation, result, request, item);
}

export interface Authentication {
  readonly hostAdmin: Pick<HostAdmin, 'authenticate'>;
  /**
   * The vertical that shows this secret. It rejects with a `PlatformError` for an unknown one. Default: the header of
   * verticals is ignored.
   */
  readonly verticalOf?: (secret: string) => Promise<string>;
  /** The member of staff of a request's session cookie, or null. Default: sessions are ignored. */
  readonly staffSession?: ((request: Request) => Promise<Actor | null>) | undefined;
  /** The origin that browsers see this API at. Default: that of the request. */
  readonly origin?: (() => string) | undefined;
  /** Further parameters of the `WWW-Authenticate` of a refusal, with a leading comma. Default: none. */
  readonly challenge?: (() => string) | undefined;
}

/** RFC 6750, section 2.1: the scheme in any case, then a b64token. Our tokens are shorter than this. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]{1,512}=*)$/i;

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Returns the actor of a request (spec 5.5): of its bearer token, else of the vertical's secret, else of the staff session.
 * The first credential alone decides, so that a revoked token does not fall back to a session beside it.
 * @param from the sender's network address, noted with the use of a program. Default: unknown.
 * @throws PlatformError `unauthenticated`, reason `token_missing` or `token_invalid`; `forbidden`, reason
 * `platform_secret_unset` or `platform_secret_mismatch` for a vertical, and `cross_site` for a session on an unsafe
 * method that does not come from our own origin.
 */
export async function authenticate(
  request: Request,
  through: Authentication,
  from: string | null = null,
): Promise<Actor> {
  const authorization = request.headers.get('authorization');
  const { challenge = () => '', origin } = through;
  if (authorization !== null) {
    const token = BEARER.exec(authorization.trim())?.[1];
    const actor = token === undefined ? null : await through.hostAdmin.authenticate(token, from);
    if (actor) return actor;
    const parameters = `, error="invalid_token"${challenge()}`;
    throw unauthenticated('token_invalid', 'The token is not accepted here.', parameters);
  }
  const secret = request.headers.get(PLATFORM_SECRET_HEADER);
  if (secret !== null && through.verticalOf) {
    const vertical = await through.verticalOf(secret);
    return { kind: 'vertical', id: vertical, name: vertical };
  }
  const actor = (await through.staffSession?.(request)) ?? null;
  if (!actor) throw unauthenticated('token_missing', 'Send a token: Authorization: Bearer ….', challenge());
  // A browser sends its session by itself: an unsafe request must also come from one of our own pages.
  if (!SAFE_METHODS.has(request.method))
    requireSameOrigin(request.headers, origin ?? new URL(request.url).origin, { pageOnly: true });
  return actor;
}

function unauthenticated(reason: string, detail: string, parameters: string): PlatformError {
  return new PlatformError('unauthenticated', detail, {
    reason,
    headers: { 'www-authenticate': `Bearer realm="control plane"${parameters}` },
  });
}

export function routeOf(operation: AdminOperation, table: AdminOperationTable): Route {
  const schemas = strictInput(operation);
  const names = pathParams(operation.path);
  const readParams = textReader('The path', schemas.params);
  const readQuery = textReader('The query', schemas.query);
  const takesQuery = Object.keys(schemas.query.shape).length > 0;
  const unsafe = isUnsafe(operation.method);
  const takesKey = takesIdempotencyKey(operation);
  const takesCondition = takesIfMatch(operation);
  const mayFollow = answersEvents(operation);
  const { upload, form } = operation;
  const read: Route['read'] = async (request, given) => {
    const params = names.length === 0 ? {} : readParams(names.map((name) => [name, [given[name] ?? '']]));
    const url = new URL(request.url);
    // A query that no operation asks for is refused by its fields.
    const query = takesQuery || url.search !== '' ? readQuery(queryFields(url)) : {};
    const events = mayFollow && acceptsEvents(request.headers) ? { events: true } : {};
    if (!unsafe) return { params, query, body: {}, ...events };
    const idempotencyKey = idempotencyKeyOf(request.headers, takesKey);
    const ifMatch = ifMatchOf(request.headers, takesCondition);
    const fields = () => (form ? readFormOrJson(request, form) : readJsonObject(request));
    const content = upload
      ? { body: {}, upload: readUpload(request, upload) }
      : { body: parseInput('The body', schemas.body, await fields()) };
    return {
      params,
      query,
      ...content,
      ...events,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      ...(ifMatch === undefined ? {} : { ifMatch }),
    };
  };
  return { operation, read, item: itemAddressOf(operation, table) };
}

/** @param isKept whether the operation keeps its answer; elsewhere a key is refused. */
function idempotencyKeyOf(headers: Headers, isKept: boolean): string | undefined {
  const key = parseIdempotencyKey(headers.get('idempotency-key'));
  if (key !== undefined && !isKept)
    throw malformedHeader('Idempotency-Key', 'is not supported by this operation, which only reads');
  return key;
}

/**
 * The version that a call is conditional on: `*`, or one strong tag without its quotes. Any other form of the header
 * (several tags, weak ones, which match nothing) is passed on as it is.
 * @param isChecked whether the operation has versions; elsewhere a condition is refused.
 */
function ifMatchOf(headers: Headers, isChecked: boolean): string | undefined {
  const given = headers.get('if-match');
  const tags = parseIfMatch(given);
  if (given === null || tags === undefined) return undefined;
  if (!isChecked) throw malformedHeader('If-Match', 'is not supported by this operation');
  const [tag] = tags;
  // The tag "*" keeps its quotes: without them it would match anything.
  return tag !== undefined && tag !== '*' && given === entityTag(tag) ? tag : given;
}

/**
 * Renders a result. The value passes through the declared output schema, so that an undeclared field never leaves.
 * @throws TypeError when the value does not have its declared form: our bug.
 */
async function answer(
  operation: AdminOperation,
  result: AdminResult,
  request: Request,
  item: ItemAddress | null,
): Promise<Response> {
  const headers = new Headers(COMMON_HEADERS);
  const { status, etag, events, head, value } = result;
  if (etag !== undefined) headers.set('etag', entityTag(etag));
  if (result.replayed) headers.set('idempotency-replayed', 'true');
  if (head) headers.set('x-admin-log-head', `${head.sequence}:${head.hash}`);
  const location = locationOf(request, operation, item, result);
  if (location !== null) headers.set('location', location);
  if (status === 204) return new Response(null, { status, headers });
  const seen = request.headers.get('if-none-match');
  if (seen !== null && isValidated(operation) && isUnchanged(seen, etag))
    return new Response(null, { status: 304, headers });
  if (operation.bytes) {
    const fields = declaredValue(operation, operation.output, value) as Fields;
    return bytesAnswer(operation.bytes, result, fields, { request, headers });
  }
  if (events) {
    const forms = eventForms(operation);
    const declared = ({ event, record }: OperationEvent<unknown>): unknown =>
      declaredValue(operation, forms[event] ?? operation.output, record);
    return eventsAnswer({ ...result, events }, declared, headers);
  }
  headers.set('content-type', 'application/json');
  const form = operation.plan ? answerForm(operation, status, value) : operation.output;
  return new Response(JSON.stringify(declaredValue(operation, form, value)), { status, headers });
}

function declaredValue({ name }: AdminOperation, form: z.ZodType, value: unknown): unknown {
  const parsed = form.safeParse(value);
  if (parsed.success) return parsed.data;
  // Paths only: this sentence goes to a log, and the values may be personal data.
  const paths = parsed.error.issues.map((issue) => issue.path.join('.') || '(the whole)').join(', ');
  throw new TypeError(`${name} answered a value that is not of its declared form: ${paths}`);
}

/** The parameter that leads from the address of a collection to that of an item: `/tenants` and `/tenants/:tenant`. */
export interface ItemAddress {
  readonly param: string;
  /** Whether a value can stand for the parameter. */
  accepts(value: unknown): boolean;
}

/** The address of the things that an operation creates: that of the GET one parameter below it, or null without one. */
export function itemAddressOf(operation: AdminOperation, table: AdminOperationTable): ItemAddress | null {
  if (operation.method !== 'POST' || operation.success !== 201) return null;
  for (const { method, path, input } of Object.values(table)) {
    const param = path.slice(operation.path.length + 2);
    const schema = input.params?.shape[param];
    if (method === 'GET' && path === `${operation.path}/:${param}` && schema)
      return { param, accepts: (value) => z.safeParse(schema, value).success };
  }
  return null;
}

/**
 * The `Location` of an answer, relative to the request's own address, so that it holds under any prefix: of a created thing
 * (201), or of the record of long work (202). Null for every other answer, and for a thing whose answer does not name it.
 */
function locationOf(
  request: Request,
  { path, success }: AdminOperation,
  item: ItemAddress | null,
  { status, value }: AdminResult,
): string | null {
  const fields = value as Fields | null;
  if (typeof fields !== 'object' || fields === null) return null;
  if (status === 201 && item) {
    const name = [fields.id, fields[item.param], fields.slug].find((each) => item.accepts(each));
    return name === undefined ? null : `${new URL(request.url).pathname}/${encodeURIComponent(String(name))}`;
  }
  if (status !== 202 || success !== 202) return null;
  // The part before the operation's own path is the place at which this API is mounted.
  const prefix = new URL(request.url).pathname.split('/').slice(0, 1 - path.split('/').length);
  return `${prefix.join('/')}/operations/${encodeURIComponent(String(fields.id))}`;
}
