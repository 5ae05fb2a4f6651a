/** The name of one request in every log: the caller's own when it is well-formed, a new one otherwise. */

export const REQUEST_ID_HEADER = 'x-request-id';

/** What we take over from a caller: it ends up in log lines and audit rows, so nothing that needs escaping. */
const WELL_FORMED = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

export function requestIdOf(headers: Headers, newRequestId: () => string): string {
  const given = headers.get(REQUEST_ID_HEADER);
  return given !== null && WELL_FORMED.test(given) ? given : newRequestId();
}
