/** The id of a request, kept with it from one mount to the next. */
import { isRequestId, requestIdOf as requestIdFrom } from '@freehold/contracts/http';
import type { Context } from 'hono';

/**
 * What a middleware (such as hono's `requestId`) settled on, else the caller's own `x-request-id` when it is well
 * formed, else a new one. The same for the whole life of the request.
 */
export function requestIdOf(c: Context, newRequestId: () => string = () => crypto.randomUUID()): string {
  const known: unknown = c.get('requestId');
  if (isRequestId(known)) return known;
  const id = requestIdFrom(c.req.raw.headers, newRequestId);
  c.set('requestId', id);
  return id;
}
