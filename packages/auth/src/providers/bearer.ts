/** The bearer token of a request (RFC 6750, section 2.1). */

/** Longer than any header a server takes; what is longer is no token. */
const TOKEN_LENGTH_MAX = 16 * 1_024;
const CREDENTIALS = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** The presented token, or null when there is none or the header is not well formed. */
export function readBearer(headers: Headers): string | null {
  const token = CREDENTIALS.exec(headers.get('authorization') ?? '')?.[1];
  return token !== undefined && token.length <= TOKEN_LENGTH_MAX ? token : null;
}
