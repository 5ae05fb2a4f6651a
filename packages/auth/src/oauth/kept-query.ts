/**
 * A request of a program, kept in a cookie while its person signs in: it is longer than an address to return to may be, and
 * nothing is stored for an anonymous visitor.
 */
import { base64url } from 'jose';
import { OAUTH_PATHS } from './metadata.ts';

/** One cookie for each tab. The prefix is that of signing in: the code of an application does not get to see it. */
const COOKIE = 'sb_program_';
const KEPT_S = 15 * 60;
/** Of one browser. A page that opens more of them must push out no session, nor make headers that no server takes. */
const KEPT_MAX = 4;
/** A browser takes cookies of 4,096 bytes. */
const QUERY_LENGTH_MAX = 2_800;
const ID = /^[A-Za-z0-9_-]{8}$/;
const OWN = new RegExp(`(?:^|;\\s*)${COOKIE}([A-Za-z0-9_-]{8})=`, 'g');

export interface KeptQuery {
  /** Null where it is lost, or too long. */
  readonly query: URLSearchParams | null;
  /** Whether the person comes back from signing in. */
  readonly isBack: boolean;
}

/** Returns the program's request: that of the address, or the kept one that the address names. */
export function keptQuery({ url, headers }: Pick<Request, 'url' | 'headers'>): KeptQuery {
  const { searchParams } = new URL(url);
  const id = searchParams.get('flow');
  if (id === null || searchParams.size !== 1)
    return { query: searchParams.toString().length > QUERY_LENGTH_MAX ? null : searchParams, isBack: false };
  const cookie = ID.test(id)
    ? new RegExp(`(?:^|;\\s*)${COOKIE}${id}=([A-Za-z0-9_-]+)`).exec(headers.get('cookie') ?? '')?.[1]
    : undefined;
  return { query: cookie === undefined ? null : readCookie(cookie), isBack: true };
}

/** Null for a cookie that was not set here. */
function readCookie(value: string): URLSearchParams | null {
  try {
    return new URLSearchParams(new TextDecoder().decode(base64url.decode(value)));
  } catch {
    return null;
  }
}

/**
 * Keeps the request, and sends the browser to sign in. Of more than four kept ones the oldest is dropped.
 * @param headers of the request.
 * @param origin of the server, as browsers see it.
 * @param signInUrl returns the address that leads back to a path.
 */
export function keepQuery(
  query: URLSearchParams,
  {
    headers: sent,
    origin,
    signInUrl,
  }: {
    readonly headers: Headers;
    readonly origin: string;
    readonly signInUrl: (returnTo: string) => string;
  },
): Response {
  const id = base64url.encode(crypto.getRandomValues(new Uint8Array(6)));
  const value = base64url.encode(query.toString());
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  // Lax: the browser comes back from an issuer by a link of another site.
  const cookieOf = (of: string, text: string, maxAgeS: number) =>
    `${COOKIE}${of}=${text}; Path=${OAUTH_PATHS.authorize}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure}`;
  const headers = new Headers({
    location: signInUrl(`${OAUTH_PATHS.authorize}?flow=${id}`),
    'cache-control': 'private, no-store',
  });
  headers.append('set-cookie', cookieOf(id, value, KEPT_S));
  // A browser sends the oldest first (RFC 6265, section 5.4).
  const others = [...(sent.get('cookie') ?? '').matchAll(OWN)].map(([, other = '']) => other);
  for (const surplus of others.slice(0, Math.max(0, others.length + 1 - KEPT_MAX)))
    headers.append('set-cookie', cookieOf(surplus, '', 0));
  return new Response(null, { status: 303, headers });
}
