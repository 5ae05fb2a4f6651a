/**
 * Who answers a failure: the mounts render a `PlatformError` themselves, and everything else goes unchanged to the
 * app's own error handler when it has one (spec 7.2).
 */
import { PlatformError } from '@freehold/contracts';
import { type Context, type Env, type ErrorHandler, Hono, type Next } from 'hono';
import { type ProblemOptions, problemResponse } from '../problem-response.ts';
import { requestIdOf } from './request-id.ts';

/**
 * Wraps a route of a mount, so that its `PlatformError`s are problem documents whatever handler the app has, now or
 * later. Other errors are thrown on to the app's handler, unless nobody set one or hono could not pass it on: hono
 * calls a handler with instances of Error only, and lets everything else escape from `fetch`.
 */
export function guarded<E extends Env, Answer extends Response | undefined>(
  app: Hono<E>,
  options: ProblemOptions,
  answer: (c: Context<E>, next: Next) => Promise<Answer>,
): (c: Context<E>, next: Next) => Promise<Answer | Response> {
  return async (c, next) => {
    try {
      // Settled before anything can fail, so that the answer, the incident and the logs name one request alike.
      requestIdOf(c, options.newRequestId);
      return await answer(c, next);
    } catch (thrown) {
      if (isForTheApp(thrown) && ownErrorHandler(app)) throw thrown;
      return problemResponse(c, thrown, options);
    }
  };
}

/**
 * Makes the app render problem documents. A handler that the app already has keeps everything that is not a
 * `PlatformError`; what it throws in turn is 500 `internal`.
 */
export function installProblemHandler<E extends Env>(app: Hono<E>, options: ProblemOptions): void {
  const own = ownErrorHandler(app);
  app.onError(async (err, c) => {
    if (own === undefined || !isForTheApp(err)) return problemResponse(c, err, options);
    try {
      return await own(err, c);
    } catch (thrown) {
      return problemResponse(c, thrown, options);
    }
  });
}

const HONO_DEFAULT: unknown = Reflect.get(new Hono(), 'errorHandler');

/** The handler that somebody gave to the app. hono has no public getter for it; a test holds this reading. */
export function ownErrorHandler<E extends Env>(app: Hono<E>): ErrorHandler<E> | undefined {
  const handler: unknown = Reflect.get(app, 'errorHandler');
  if (typeof handler !== 'function' || handler === HONO_DEFAULT) return undefined;
  return handler as ErrorHandler<E>;
}

function isForTheApp(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error && !(thrown instanceof PlatformError);
  } catch {
    // A proxy can refuse even to be looked at.
    return false;
  }
}
