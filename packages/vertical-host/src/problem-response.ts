/** Failures of a vertical's own routes, in the envelope of the platform (spec 4.4 and 7.1; RFC 9457). */
import { PlatformError, PROBLEMS, problemDocument, publicError } from '@freehold/contracts';
import { REQUEST_ID_HEADER } from '@freehold/contracts/http';
import type { Context } from 'hono';
import { type IncidentOptions, recordIncident } from './lib/incidents.ts';
import { requestIdOf } from './lib/request-id.ts';

export type { RequestIncidentSink } from './lib/incidents.ts';

export type ProblemOptions = IncidentOptions;

/**
 * Answers whatever was thrown, and never throws itself:
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
    // A code that came over a wire may be one we do not know: it has no status, and must not pass for a success.
    if (!Object.hasOwn(PROBLEMS, shown.code)) throw new Error('the error has no known code', { cause: err });
    // An `internal` without a cause was recorded where it was made; with one, this is the first to see it.
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

/** The response that an error brings along. Asking it may throw, for what was thrown may be anything. */
function ownResponse(err: unknown): Response | undefined {
  try {
    if (typeof err !== 'object' || err === null || err instanceof PlatformError) return undefined;
    if (!('getResponse' in err) || typeof err.getResponse !== 'function') return undefined;
    const response: unknown = err.getResponse();
    return response instanceof Response ? response : undefined;
  } catch {
    return undefined;
  }
}
