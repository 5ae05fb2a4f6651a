/** The provider's own addresses, and the paths to return to: checked on arrival and again on use (spec B-18). */
import { landingPath, safePath } from '@freehold/oidc-rp';

export const AUTH_BASE = '/api/auth';
export const SECURITY_PATH = `${AUTH_BASE}/security`;

/** Longer than any address of an application; it travels in pages and in a cookie. */
const LENGTH_MAX = 512;

/** The link to a new address: its holder may have to sign in first. */
const EMAIL_LINK = /^\/api\/auth\/email\/finish\?token=[\w-]{22}$/;

/** Returns a same-origin path outside the sign-in routes, the security page or that link; null for any other. */
export function returnPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > LENGTH_MAX) return null;
  const path = landingPath(value) ?? ownPage(safePath(value));
  return path === null || path.length > LENGTH_MAX ? null : path;
}

/** Returns one of our own addresses. Empty values are left out of the query. */
export function authUrl(
  name: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
  return `${AUTH_BASE}/${name}${search.size === 0 ? '' : `?${search}`}`;
}

function ownPage(path: string | null): string | null {
  return path === SECURITY_PATH || (path !== null && EMAIL_LINK.test(path)) ? path : null;
}
