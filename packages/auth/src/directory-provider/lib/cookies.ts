/**
 * The cookies beside the session: a sign-in that waits for its second factor, where to go on to after a mail, what was
 * just done, and that this browser is one that an account knows.
 */

export interface ShortCookie {
  readonly name: string;
  readonly maxAgeS: number;
  readonly sameSite: 'Lax' | 'Strict';
}

/** Stands for a first factor that was right: as good as the password for a moment, and only from a page of this site. */
export const SECOND_FACTOR_COOKIE: ShortCookie = {
  name: 'sb_second_factor',
  maxAgeS: 5 * 60,
  sameSite: 'Strict',
};

/**
 * Where somebody wanted to go before they were sent to their mailbox. It is kept here and not in the mail: whoever
 * asks for a mail to somebody else's address must not choose a word of it. A link in a mail is followed from another
 * site, hence Lax.
 */
export const RETURN_COOKIE: ShortCookie = { name: 'sb_return_to', maxAgeS: 24 * 60 * 60, sameSite: 'Lax' };

/** What was just done, for the next page to say. In the address it would be there for anybody to make up. */
export const NOTICE_COOKIE: ShortCookie = { name: 'sb_notice', maxAgeS: 60, sameSite: 'Lax' };

/** An account has signed in here before (OWASP, "device cookies"): see `known-browser.ts`. It opens nothing. */
export const BROWSER_COOKIE: ShortCookie = {
  name: 'sb_browser',
  maxAgeS: 180 * 24 * 60 * 60,
  sameSite: 'Strict',
};

/** The `Set-Cookie` value that stores a value. @param origin the application's own, which says whether it is https. */
export function setShortCookie(cookie: ShortCookie, origin: string, value: string): string {
  return serialize(cookie, origin, encodeURIComponent(value), cookie.maxAgeS);
}

/** The `Set-Cookie` value that removes it. */
export function clearShortCookie(cookie: ShortCookie, origin: string): string {
  return serialize(cookie, origin, '', 0);
}

/** The value a request brings, or null. Two different values are nobody's: on plain http a sibling can plant one. */
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
