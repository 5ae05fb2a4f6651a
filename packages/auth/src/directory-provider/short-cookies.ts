/** The two cookies that live for minutes: a sign-in that waits for its second factor, and where to go on to after a mail. */

/** A cookie of ours, under the sign-in routes only and for this host only. */
export interface ShortCookie {
  readonly name: string;
  readonly path: string;
  readonly maxAgeS: number;
  readonly sameSite: 'Lax' | 'Strict';
}

/**
 * Stands for a first factor that was right: as good as the password for a moment, so that only the page that asks
 * for the second factor gets it, and only from a page of this site.
 */
export const SECOND_FACTOR_COOKIE: ShortCookie = {
  name: 'sb_second_factor',
  path: '/api/auth/login/second-factor',
  maxAgeS: 5 * 60,
  sameSite: 'Strict',
};

/**
 * Where somebody wanted to go before they were sent to their mailbox. It is kept here and not in the mail: whoever
 * asks for a mail to somebody else's address must not choose a word of it. A link in a mail is followed from another
 * site, hence Lax.
 */
export const RETURN_COOKIE: ShortCookie = {
  name: 'sb_return_to',
  path: '/api/auth',
  maxAgeS: 24 * 60 * 60,
  sameSite: 'Lax',
};

/** The `Set-Cookie` value that stores a value. @param origin the application's own, which says whether it is https. */
export function setShortCookie(cookie: ShortCookie, origin: string, value: string): string {
  return serialize(cookie, origin, encodeURIComponent(value), cookie.maxAgeS);
}

/** The `Set-Cookie` value that removes it. */
export function clearShortCookie(cookie: ShortCookie, origin: string): string {
  return serialize(cookie, origin, '', 0);
}

/** The value a request brings, or null. Two different values are nobody's: a sibling host can plant one of them. */
export function readShortCookie(headers: Headers, { name }: ShortCookie): string | null {
  const values = new Set<string>();
  for (const pair of headers.get('cookie')?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) values.add(pair.slice(equals + 1).trim());
  }
  const [value] = values;
  if (value === undefined || values.size > 1) return null;
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

function serialize(cookie: ShortCookie, origin: string, value: string, maxAgeS: number): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${cookie.name}=${value}; Path=${cookie.path}; Max-Age=${maxAgeS}; HttpOnly${secure}; SameSite=${cookie.sameSite}`;
}
