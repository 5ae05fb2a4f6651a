/**
 * Failures of a vertical's own routes, in the envelope of the platform (spec 4.4, 7.1 and 7.2; RFC 9457). The mounts
 * render a `PlatformError` themselves; other errors go unchanged to the app's own error handler where it has one.
 */
import { PlatformError, PROBLEMS, problemDocument, publicError } from '@freehold/contracts';
import { REQUEST_ID_HEADER } from '@freehold/contracts/http';
import { type Context, type Env, type ErrorHandler, Hono, type MiddlewareHandler, type Next } from 'hono';
import { isResponse } from './is-response.ts';
import { requestIdOf } from './request.ts';

/**
 * Receives an unexpected error with its place: the path is without its query, which may hold a token. `requestId` is the
 * one of the answer.
 */
export type RequestIncidentSink = (
  error: unknown,
  where: { readonly requestId: string; readonly method: string; readonly path: string },
) => void;

export interface ProblemOptions {
  /** Receives unexpected errors. Default: the console, so that none is lost. */
  readonly onIncident?: RequestIncidentSink;
  /** Names a request. Default: a random UUID. */
  readonly newRequestId?: () => string;
}

/**
 * Answers any thrown value, and never throws:
 * - a `PlatformError` is its problem document, with its status, headers and request id;
 * - an error that carries its own response (hono's `HTTPException`, anything with `getResponse()`) is that
 *   response, untouched: redirects and authenticate challenges survive;
 * - anything else is 500 `internal` without a word about the cause, which goes to `onIncident`.
 *
 * For use in an error handler: `app.onError((err, c) => problemResponse(c, err, { onIncident }))`.
 */
export function problemResponse(c: Context, err: unknown, options: ProblemOptions = {}): Response {
  const own = ownResponse(err);
  if (own) return own;
  const requestId = requestIdOf(c, options.newRequestId);
  const rendered = render(err, requestId);
  if (rendered.incident) recordIncident(c, err, options);
  return rendered.response;
}

interface Rendered {
  readonly response: Response;
  readonly incident: boolean;
}

/** The document of an error. An error whose own members throw, or make no response, is rendered as `internal`. */
function render(err: unknown, requestId: string): Rendered {
  try {
    const shown = publicError(err);
    // An unknown code, from another version over a wire, has no status, and must not look like a success.
    if (!Object.hasOwn(PROBLEMS, shown.code)) throw new Error('the error has no known code', { cause: err });
    // An `internal` without a cause was recorded where it was made; with one, it was not recorded yet.
    const incident = shown.code === 'internal' && (shown !== err || shown.cause !== undefined);
    return { response: withRequestId(problemDocument(shown, requestId), requestId), incident };
  } catch {
    const plain = problemDocument(publicError(undefined), requestId);
    return { response: withRequestId(plain, requestId), incident: true };
  }
}

function withRequestId(response: Response, requestId: string): Response {
  response.headers.set(REQUEST_ID_HEADER, requestId);
  return response;
}

/** The response that an error carries. Reading it may throw, because any value can be thrown. */
function ownResponse(err: unknown): Response | undefined {
  try {
    if (typeof err !== 'object' || err === null || err instanceof PlatformError) return undefined;
    if (!('getResponse' in err) || typeof err.getResponse !== 'function') return undefined;
    const response: unknown = err.getResponse();
    return isResponse(response) ? response : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns a middleware by which every answer has its request's id in `X-Request-Id`, and a problem document in its body
 * too. Use it first of all, on `*`: the responses that exceptions bring along, which {@link problemResponse} leaves
 * untouched, then have it as well.
 */
export function requestIds<E extends Env>(
  options: Pick<ProblemOptions, 'newRequestId'> = {},
): MiddlewareHandler<E> {
  return async (c, next) => {
    const requestId = requestIdOf(c, options.newRequestId);
    await next();
    if (c.res.headers.get(REQUEST_ID_HEADER) === requestId) return;
    if (c.res.headers.get('content-type') === 'application/problem+json')
      c.res = await withIdInBody(c.res, requestId);
    c.header(REQUEST_ID_HEADER, requestId);
  };
}

/** A copy of a problem document with the id as its `requestId`. A body that is no JSON object stays as it is. */
async function withIdInBody(response: Response, requestId: string): Promise<Response> {
  const text = await response.text();
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  return new Response(bodyWith(text, requestId), { status: response.status, headers });
}

function bodyWith(text: string, requestId: string): string {
  try {
    const problem: unknown = JSON.parse(text);
    const isObject = typeof problem === 'object' && problem !== null && !Array.isArray(problem);
    return isObject ? JSON.stringify({ ...problem, requestId }) : text;
  } catch {
    return text;
  }
}

type Route<E extends Env, Answer> = (c: Context<E>, next: Next) => Promise<Answer>;

/**
 * Wraps a route of a mount: its `PlatformError`s are problem documents, whichever handler the app has. Other errors go to
 * the app's handler. They are answered here when there is none, or when hono cannot pass them: hono calls a handler only
 * with instances of Error, and lets other values escape from `fetch`.
 */
export function guarded<E extends Env, Answer extends Response | undefined>(
  app: Hono<E>,
  options: ProblemOptions,
  answer: Route<E, Answer>,
  isForTheApp: (thrown: unknown) => boolean = isOtherError,
): Route<E, Answer | Response> {
  return async (c, next) => {
    try {
      // Set before anything can fail, so that the answer, the incident and the logs have one id.
      requestIdOf(c, options.newRequestId);
      return await answer(c, next);
    } catch (thrown) {
      if (isForTheApp(thrown) && ownErrorHandler(app)) throw thrown;
      return problemResponse(c, thrown, options);
    }
  };
}

/** Wraps a route of the public surface: `PlatformError`s go to the app's handler too (spec 4.6.4). */
export function throughApp<E extends Env, Answer extends Response | undefined>(
  app: Hono<E>,
  options: ProblemOptions,
  answer: Route<E, Answer>,
): Route<E, Answer | Response> {
  return guarded(app, options, answer, isError);
}

/**
 * Makes the app render problem documents. A handler that the app already has gets everything that is no
 * `PlatformError`; an error that it throws in turn is 500 `internal`.
 */
export function installProblemHandler<E extends Env>(app: Hono<E>, options: ProblemOptions): void {
  const own = ownErrorHandler(app);
  app.onError(async (err, c) => {
    if (own === undefined || !isOtherError(err)) return problemResponse(c, err, options);
    try {
      return await own(err, c);
    } catch (thrown) {
      return problemResponse(c, thrown, options);
    }
  });
}

const HONO_DEFAULT: unknown = Reflect.get(new Hono(), 'errorHandler');

/** The handler that was set on the app. hono has no public getter for it; a test holds this reading. */
export function ownErrorHandler<E extends Env>(app: Hono<E>): ErrorHandler<E> | undefined {
  const handler: unknown = Reflect.get(app, 'errorHandler');
  if (typeof handler !== 'function' || handler === HONO_DEFAULT) return undefined;
  return handler as ErrorHandler<E>;
}

function isOtherError(thrown: unknown): boolean {
  return isError(thrown) && !(thrown instanceof PlatformError);
}

function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    // A proxy can throw at `instanceof`.
    return false;
  }
}

/** Records an error of a request. Never throws. */
export function recordIncident(c: Context, error: unknown, options: ProblemOptions): void {
  const { onIncident: sink = recordOnConsole, newRequestId } = options;
  // The undecoded path: a decoded one could hold a line break and forge a line of the log.
  const where = {
    requestId: requestIdOf(c, newRequestId),
    method: c.req.method,
    path: new URL(c.req.url).pathname,
  };
  try {
    sink(error, where);
  } catch (failure) {
    // The sink failed: record its error and the one that it was given.
    recordOnConsole(failure, where);
    if (sink !== recordOnConsole) recordOnConsole(error, where);
  }
}

function recordOnConsole(error: unknown, where: Parameters<RequestIncidentSink>[1]): void {
  const line = `${where.method} ${where.path} failed (request ${where.requestId}): ${describe(error)}`;
  // biome-ignore lint/suspicious/noConsole: without a sink this is the last place where an error can be seen.
  console.error(line);
}

/** The text of an error. Reading it may throw. */
function describe(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? String(error)) : String(error);
  } catch {
    return 'a value that cannot be printed was thrown';
  }
}
