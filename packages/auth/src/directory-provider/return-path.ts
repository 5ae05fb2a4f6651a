/** Where somebody goes on to: judged when it arrives and again when it is used (spec B-18). */
import { landingPath, safePath } from '@freehold/oidc-rp';

export const AUTH_BASE = '/api/auth';
/** The one page of our own that a `returnTo` may name. */
export const SECURITY_PATH = `${AUTH_BASE}/security`;

/** Longer than any address of an application; it travels in pages and in a cookie. */
const LENGTH_MAX = 512;

/** A same-origin path outside the sign-in routes, or the security page; null for anything else. */
export function returnPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > LENGTH_MAX) return null;
  const path = landingPath(value) ?? (safePath(value) === SECURITY_PATH ? SECURITY_PATH : null);
  return path === null || path.length > LENGTH_MAX ? null : path;
}

/** One of our own addresses, which goes on to the path afterwards. Empty values are left out. */
export function authUrl(
  name: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
  return `${AUTH_BASE}/${name}${search.size === 0 ? '' : `?${search}`}`;
}
