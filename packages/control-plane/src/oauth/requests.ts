/**
 * The requests of programs to the OAuth endpoints: known clients, parameters, and refusals. The clients are public:
 * every copy of a program is alike (RFC 8252, section 8.5).
 */
import { describable, OAuthError, type OAuthErrorCode } from '@freehold/auth/programs';
import type { PlatformError } from '@freehold/contracts';
import { COMMON_HEADERS } from '../http/serve.ts';

/** The name of each client on a consent page. Any program can claim one: a member consents to every token. */
const CLIENTS: Readonly<Record<string, string>> = {
  'freehold-cli': 'The Freehold command line',
  'freehold-mcp': 'A program that works with the staff tools',
};

/** A client's name for people, or undefined for one that is unknown. */
export function clientName(clientId: string | null): string | undefined {
  return clientId !== null && Object.hasOwn(CLIENTS, clientId) ? CLIENTS[clientId] : undefined;
}

/**
 * Whether a token may be sent there: to the machine of the browser, by its address and at any port (RFC 8252, section
 * 7.3). Not by name: `localhost` may be another machine's (section 8.3).
 */
export function isLoopbackRedirect(uri: string): boolean {
  const url = URL.canParse(uri) ? new URL(uri) : null;
  return (
    url?.protocol === 'http:' &&
    (url.hostname === '127.0.0.1' || url.hostname === '[::1]') &&
    url.username === '' &&
    url.password === '' &&
    !uri.includes('#') &&
    // The text itself is checked too, so that no other parser reads it differently.
    /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?][\x21-\x7e]*)?$/.test(uri)
  );
}

/** The parameters of an answer to an authorization request (RFC 6749, section 4.1.2; RFC 9207). */
const ANSWERS = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];

/**
 * Whether an address holds a parameter of an answer: a program that reads the first of two codes would take the one of
 * a forged link (RFC 9700, section 4.5).
 */
export function holdsAnswer(redirectUri: string): boolean {
  const { searchParams } = new URL(redirectUri);
  return ANSWERS.some((name) => searchParams.has(name));
}

/** Reads a parameter; an empty one counts as left out (RFC 6749, section 3.1). */
export type Parameters = (name: string) => string | null;

/** @throws OAuthError `invalid_request` for a repeated parameter (RFC 6749, section 3.1). */
export function parametersOf(search: URLSearchParams, repeatable: readonly string[] = []): Parameters {
  const names = [...search.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index && !repeatable.includes(name));
  if (twice !== undefined) throw new OAuthError('invalid_request', 'A parameter is given twice.');
  return (name) => search.get(name) || null;
}

/** RFC 6749, section 5.1: answers of a token endpoint are never stored. */
export const TOKEN_HEADERS = { ...COMMON_HEADERS, pragma: 'no-cache' } as const;

/** The JSON of RFC 6749, section 5.2. Rethrows every other error. */
export function oauthErrorResponse(error: unknown): Response {
  if (!(error instanceof OAuthError)) throw error;
  const headers = new Headers(TOKEN_HEADERS);
  if (error.code === 'invalid_client') headers.set('www-authenticate', 'Basic realm="oauth"');
  if (error.code === 'temporarily_unavailable') headers.set('retry-after', '60');
  const status = { invalid_client: 401, temporarily_unavailable: 503 }[error.code as string] ?? 400;
  return Response.json(
    { error: error.code, error_description: describable(error.message) },
    { status, headers },
  );
}

/**
 * A 429 in the form of RFC 6749, section 5.2, for a program at an endpoint with such errors. A program that waits for
 * a device code slows down (RFC 8628, section 3.5), and every other comes again later.
 * @returns null at every other address.
 */
export function programRefusal(path: string, error: PlatformError): Response | null {
  const code = PROGRAM_CODES.get(path);
  if (code === undefined) return null;
  return Response.json(
    { error: code, error_description: error.message },
    { status: error.status, headers: { ...TOKEN_HEADERS, ...error.headers } },
  );
}

const PROGRAM_CODES: ReadonlyMap<string, OAuthErrorCode> = new Map([
  ['/oauth/token', 'slow_down'],
  ['/oauth/device_authorization', 'temporarily_unavailable'],
  ['/oauth/revoke', 'temporarily_unavailable'],
  ['/oauth/register', 'temporarily_unavailable'],
]);
