/**
 * A request of a program, kept in a cookie while its person signs in: it is longer than an address to return to may be, and
 * nothing is stored for an anonymous visitor.
 */
import { base64url } from 'jose';
import type { AppContext } from '../declaration/env.ts';
import { PATHS } from '../pages/frame.ts';
import { requireNode } from '../request/caller.ts';

/** One cookie for each tab. The prefix is that of signing in: the code of an application does not get to see it. */
const COOKIE = 'sb_program_';
const KEPT_S = 15 * 60;
/** A browser takes cookies of 4,096 bytes. */
const QUERY_LENGTH_MAX = 2_800;
const ID = /^[A-Za-z0-9_-]{8}$/;

export interface KeptQuery {
  /** Null where it is lost, or too long. */
  readonly query: URLSearchParams | null;
  /** Whether the person comes back from signing in. */
  readonly isBack: boolean;
}

/** Returns the program's request: that of the address, or the kept one that the address names. */
export function keptQuery(c: AppContext): KeptQuery {
  const { search, searchParams } = new URL(c.req.url);
  const id = searchParams.get('flow');
  if (id === null || searchParams.size !== 1)
    return { query: search.length > QUERY_LENGTH_MAX ? null : searchParams, isBack: false };
  const cookie = ID.test(id)
    ? new RegExp(`(?:^|;\\s*)${COOKIE}${id}=([A-Za-z0-9_-]+)`).exec(c.req.header('cookie') ?? '')?.[1]
    : undefined;
  const text = cookie === undefined ? null : new TextDecoder().decode(base64url.decode(cookie));
  return { query: text === null ? null : new URLSearchParams(text), isBack: true };
}

/** Keeps the request, and sends the browser to sign in. @param signInUrl returns the address that leads back to a path. */
export function keepQuery(
  c: AppContext,
  query: URLSearchParams,
  signInUrl: (returnTo: string) => string,
): Response {
  const id = base64url.encode(crypto.getRandomValues(new Uint8Array(6)));
  const value = base64url.encode(query.toString());
  const secure = requireNode(c).origin.startsWith('https:') ? '; Secure' : '';
  // Lax: the browser comes back from an issuer by a link of another site.
  const cookie = `${COOKIE}${id}=${value}; Path=${PATHS.authorize}; Max-Age=${KEPT_S}; HttpOnly; SameSite=Lax${secure}`;
  return new Response(null, {
    status: 303,
    headers: {
      location: signInUrl(`${PATHS.authorize}?flow=${id}`),
      'set-cookie': cookie,
      'cache-control': 'private, no-store',
    },
  });
}
