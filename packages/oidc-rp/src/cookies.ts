/** The three cookies (spec 2.5): one function decides name, domain, path and flags, for setting and for clearing. */
import { OidcError } from './lib/errors.ts';

/** The paths of the three routes (spec 4.1). */
export const LOGIN_PATH = '/api/auth/login';
export const CALLBACK_PATH = '/api/auth/callback';
export const LOGOUT_PATH = '/api/auth/logout';
export const AUTH_PATH = '/api/auth';

/** Lifetimes in milliseconds (spec section 8). */
export const FLOW_TTL_MS = 10 * 60 * 1000;
export const SESSION_TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** The largest cookie that browsers store, in bytes of `name=value` (RFC 6265 section 6.1). */
export const COOKIE_BYTES_MAX = 4096;

export type CookieKind = 'flow' | 'session' | 'hint';

/** The settings that decide a cookie's attributes. */
export interface CookieRules {
  /** Name of the hint cookie; `sb_oidc_idt` unless the caller sets another. */
  readonly hintCookieName: string;
  /** A Domain that the caller has checked against the Public Suffix List; undefined for host-only cookies. */
  readonly cookieDomain: string | undefined;
}

interface CookieShape {
  readonly name: string;
  readonly path: string;
  readonly sameSite: 'Lax' | 'Strict';
  readonly maxAgeMs: number;
}

/** Returns the name of a kind of cookie. */
export function cookieName(rules: CookieRules, kind: CookieKind): string {
  return shapeOf(rules, kind).name;
}

/**
 * Returns the `Set-Cookie` values that store a value. `origin` is the application's own (see `resolveOrigin`).
 * @throws OidcError `cookie_too_large` for a cookie that a browser would silently drop.
 */
export function setCookie(rules: CookieRules, kind: CookieKind, origin: string, value: string): string[] {
  const shape = shapeOf(rules, kind);
  if (!fitsInCookie(shape.name, value)) {
    throw new OidcError(
      'cookie_too_large',
      `The ${kind} cookie would exceed ${COOKIE_BYTES_MAX} bytes with its name.`,
    );
  }
  const current = serialize(shape, { origin, domain: rules.cookieDomain, value, maxAgeMs: shape.maxAgeMs });
  // A host-only cookie of the same name, left from before the domain was widened, would make every later request
  // ambiguous. It is cleared first, because older browsers hold both under one key.
  return rules.cookieDomain === undefined
    ? [current]
    : [serialize(shape, { origin, domain: undefined, value: '', maxAgeMs: 0 }), current];
}

/** Returns the `Set-Cookie` values that remove a cookie, with the attributes with which it was set. */
export function clearCookie(rules: CookieRules, kind: CookieKind, origin: string): string[] {
  const shape = shapeOf(rules, kind);
  const domains = rules.cookieDomain === undefined ? [undefined] : [undefined, rules.cookieDomain];
  return domains.map((domain) => serialize(shape, { origin, domain, value: '', maxAgeMs: 0 }));
}

/** Whether a browser would store the cookie. Names and values are ASCII here; other characters count in UTF-8. */
export function fitsInCookie(name: string, value: string): boolean {
  return new TextEncoder().encode(`${name}=${value}`).byteLength <= COOKIE_BYTES_MAX;
}

/**
 * Returns every distinct value that a request sends under a name, in order. A sibling subdomain can plant a cookie
 * of our name, so the caller verifies each and never trusts the first.
 */
export function readCookies(headers: Headers, name: string): readonly string[] {
  const header = headers.get('cookie');
  if (header === null || !header.includes(name)) return [];
  const values: string[] = [];
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
    const value = pair.slice(equals + 1).trim();
    if (!values.includes(value)) values.push(value);
  }
  return values;
}

/** A request with more candidates is an attack on the CPU, not a misconfigured domain. */
const CANDIDATES_MAX = 8;

/**
 * Returns the result of `read` for the one value that it accepts; null when it accepts none, or several different
 * ones.
 */
export function readOnlyCookie<T>(
  headers: Headers,
  name: string,
  read: (value: string) => T | null,
): T | null {
  const values = readCookies(headers, name);
  if (values.length > CANDIDATES_MAX) return null;
  let accepted: T | null = null;
  for (const value of values) {
    const result = read(value);
    if (result === null) continue;
    if (accepted !== null) return null;
    accepted = result;
  }
  return accepted;
}

function shapeOf(rules: CookieRules, kind: CookieKind): CookieShape {
  switch (kind) {
    case 'flow':
      return { name: 'sb_oidc_flow', path: AUTH_PATH, sameSite: 'Lax', maxAgeMs: FLOW_TTL_MS };
    case 'session':
      return { name: 'sb_session', path: '/', sameSite: 'Lax', maxAgeMs: SESSION_TTL_MS };
    case 'hint':
      // Only the logout route gets the ID token, and only from our own site.
      return {
        name: rules.hintCookieName,
        path: LOGOUT_PATH,
        sameSite: 'Strict',
        maxAgeMs: SESSION_TTL_MS,
      };
  }
}

function serialize(
  shape: CookieShape,
  use: { origin: string; domain: string | undefined; value: string; maxAgeMs: number },
): string {
  return [
    `${shape.name}=${use.value}`,
    `Path=${shape.path}`,
    ...(use.domain === undefined ? [] : [`Domain=${use.domain}`]),
    `Max-Age=${use.maxAgeMs / 1000}`,
    'HttpOnly',
    // Browsers drop a Secure cookie on a plain-http origin, and its user could never sign in.
    ...(use.origin.startsWith('https:') ? ['Secure'] : []),
    `SameSite=${shape.sameSite}`,
  ].join('; ');
}
