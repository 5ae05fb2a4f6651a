/** The cookies beside the session: a waiting second factor, a return path, a notice, and a known browser. */
import { base64url } from 'jose';
import { z } from 'zod';
import type { KnownBrowser } from '../../accounts/contract.ts';
import type { NoticeCode } from '../texts/en.ts';
import type { Exchange, ProviderContext } from './context.ts';

export interface ShortCookie {
  readonly name: string;
  readonly maxAgeS: number;
  readonly sameSite: 'Lax' | 'Strict';
}

/** Stands for a right first factor: as good as the password for a moment, and only from a page of this site. */
export const SECOND_FACTOR_COOKIE: ShortCookie = {
  name: 'sb_second_factor',
  maxAgeS: 5 * 60,
  sameSite: 'Strict',
};

/**
 * The path to return to after a mail. It is not in the mail: a requester must not choose a word of a mail to another
 * person's address. A link in a mail is followed from another site, hence Lax.
 */
export const RETURN_COOKIE: ShortCookie = { name: 'sb_return_to', maxAgeS: 24 * 60 * 60, sameSite: 'Lax' };

/** The code of the last step's outcome, for the next page to show. In an address, any site could make it up. */
const NOTICE_COOKIE: ShortCookie = { name: 'sb_notice', maxAgeS: 60, sameSite: 'Lax' };

/** Marks a browser in which an account has signed in before (OWASP, "device cookies"). It opens nothing. */
const BROWSER_COOKIE: ShortCookie = {
  name: 'sb_browser',
  maxAgeS: 180 * 24 * 60 * 60,
  sameSite: 'Strict',
};

/** Returns the `Set-Cookie` value that stores a value. @param origin the application's own: http or https. */
export function setShortCookie(cookie: ShortCookie, origin: string, value: string): string {
  return serialize(cookie, origin, encodeURIComponent(value), cookie.maxAgeS);
}

export function clearShortCookie(cookie: ShortCookie, origin: string): string {
  return serialize(cookie, origin, '', 0);
}

/** Returns a request's value, or null. Two different values count as none: on plain http a sibling can plant one. */
export function readShortCookie(headers: Headers, cookie: ShortCookie, origin: string): string | null {
  const values = new Set<string>();
  for (const pair of headers.get('cookie')?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === nameAt(cookie, origin))
      values.add(pair.slice(equals + 1).trim());
  }
  const [value] = values;
  if (value === undefined || values.size > 1) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

/** With the prefix a browser takes the cookie from this very host only, and from no sibling (RFC 6265bis, 4.1.3.2). */
function nameAt({ name }: ShortCookie, origin: string): string {
  return origin.startsWith('https:') ? `__Host-${name}` : name;
}

function serialize(cookie: ShortCookie, origin: string, value: string, maxAgeS: number): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${nameAt(cookie, origin)}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly${secure}; SameSite=${cookie.sameSite}`;
}

const BROWSER_PURPOSE = ['browser'];
const BROWSER_ID_BYTES = 16;
const browserJson = z.object({ id: z.string(), userId: z.string(), sinceMs: z.number() });

/**
 * Returns the `Set-Cookie` value that makes a browser known to an account, until a new password or for half a year, so
 * that an attacker's guesses do not lock the holder out there.
 */
export function rememberBrowser(
  { seals, random }: Pick<ProviderContext, 'seals' | 'random'>,
  origin: string,
  { userId, sinceMs }: Pick<KnownBrowser, 'userId' | 'sinceMs'>,
): string {
  const browser: KnownBrowser = { id: base64url.encode(random(BROWSER_ID_BYTES)), userId, sinceMs };
  return setShortCookie(BROWSER_COOKIE, origin, seals.seal(BROWSER_PURPOSE, JSON.stringify(browser)));
}

export function findKnownBrowser(
  { seals, now }: Pick<ProviderContext, 'seals' | 'now'>,
  headers: Headers,
  origin: string,
): KnownBrowser | undefined {
  const value = seals.open(BROWSER_PURPOSE, readShortCookie(headers, BROWSER_COOKIE, origin));
  if (value === null) return undefined;
  const browser = browserJson.parse(JSON.parse(value));
  return now() < browser.sinceMs + BROWSER_COOKIE.maxAgeS * 1_000 ? browser : undefined;
}

/** Returns the `Set-Cookie` value by which the next page shows a notice. */
export function noticeCookie({ origin }: Exchange, code: NoticeCode): string {
  return setShortCookie(NOTICE_COOKIE, origin, code);
}

/** Returns the notice to show, and the `Set-Cookie` values that clear it. */
export function takeNotice({ request, origin, t }: Exchange): {
  readonly notice: string | undefined;
  readonly setCookies: readonly string[];
} {
  const code = readShortCookie(request.headers, NOTICE_COOKIE, origin);
  if (code === null) return { notice: undefined, setCookies: [] };
  const notice = Object.hasOwn(t.notices, code) ? t.notices[code as NoticeCode] : undefined;
  return { notice, setCookies: [clearShortCookie(NOTICE_COOKIE, origin)] };
}
