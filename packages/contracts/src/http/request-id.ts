/** The name that one request goes by in its answer, in the logs and in the list of incidents. */

export const REQUEST_ID_HEADER = 'x-request-id';

/** It ends up in headers, log lines and audit rows: nothing that could end a line, need escaping or be a formula. */
const WELL_FORMED = /^[A-Za-z0-9][\w.~:+/=@-]{0,127}$/;

export function isRequestId(value: unknown): value is string {
  return typeof value === 'string' && WELL_FORMED.test(value);
}

/** The caller's own `x-request-id` when it is well formed, a new one otherwise. */
export function requestIdOf(headers: Headers, newRequestId: () => string): string {
  const given = headers.get(REQUEST_ID_HEADER);
  return isRequestId(given) ? given : newRequestId();
}
