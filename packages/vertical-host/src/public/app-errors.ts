/** Refusals of the public surface on their way to the app's own error handler (spec 4.6.4). */
import type { Context, Env, Hono, Next } from 'hono';
import { ownErrorHandler } from '../lib/failures.ts';
import { requestIdOf } from '../lib/request-id.ts';
import { type ProblemOptions, problemResponse } from '../problem-response.ts';

/**
 * Wraps a route so that whatever it throws reaches the handler that the app has by then, `PlatformError`s included.
 * Without a handler, and for what hono cannot pass to one (anything that is no `Error`), it is answered as
 * {@link problemResponse} does.
 */
export function throughApp<E extends Env, Answer extends Response | undefined>(
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
      if (isError(thrown) && ownErrorHandler(app)) throw thrown;
      return problemResponse(c, thrown, options);
    }
  };
}

function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error;
  } catch {
    // A proxy can refuse even to be looked at.
    return false;
  }
}
