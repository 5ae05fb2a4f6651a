/** The name that one request goes by in its answer, in the logs and in the list of incidents. */
import type { Context } from 'hono';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What we repeat into a header and a log line: nothing that could end the line or pass for another field. */
const WELL_FORMED = /^[\w.~:+/=@-]{1,128}$/;

/**
 * The id of the request: what a middleware (such as hono's `requestId`) settled on, else the caller's own
 * `x-request-id` when it is well formed, else a new one. The same for the whole life of the request.
 */
export function requestIdOf(
  c: Context,
  newRequestId: () => string = () => globalThis.crypto.randomUUID(),
): string {
  const known: unknown = c.get('requestId');
  if (isWellFormed(known)) return known;
  const sent = c.req.header(REQUEST_ID_HEADER);
  const id = isWellFormed(sent) ? sent : newRequestId();
  c.set('requestId', id);
  return id;
}

function isWellFormed(id: unknown): id is string {
  return typeof id === 'string' && WELL_FORMED.test(id);
}
