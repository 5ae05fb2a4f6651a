/** `safePath`: the one check of a `returnTo`, at the source and again at the sink (spec 2.5, B-18). */
import { AUTH_PATH } from './cookies.ts';

/** Deeper nested encodings only serve to hide something. */
const DECODE_ROUNDS_MAX = 8;

// Any base will do that the path leaves unchanged.
const BASE = 'https://safe.invalid';

/**
 * Returns a same-origin absolute path (with its query and fragment), normalised and percent-encoded for use in a
 * header; or null. Refused, in the value and in every percent-decoding of it: a scheme or host, `//` in the path,
 * a backslash, a control character. A browser reads `/\` as `//` and drops tabs and newlines, hence all four.
 */
export function safePath(value: unknown): string | null {
  if (typeof value !== 'string' || !value.startsWith('/')) return null;
  if (!decodings(value).every(isHarmless)) return null;
  if (!URL.canParse(value, BASE)) return null;
  const url = new URL(value, BASE);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // Normalising resolves dot segments, so the result, which is used, is checked again.
  return url.origin === BASE && decodings(path).every(isHarmless) ? path : null;
}

/**
 * Returns a safe path to which a user can be sent after signing in or out, or null. Never a sign-in route: those
 * would loop, or sign out the user who has just signed in.
 */
export function landingPath(value: unknown): string | null {
  const path = safePath(value);
  if (path === null) return null;
  const route = decodeAscii(new URL(path, BASE).pathname).toLowerCase();
  return route === AUTH_PATH || route.startsWith(`${AUTH_PATH}/`) ? null : path;
}

/**
 * Returns the value and every result of decoding it again, or an empty string (which is harmful) when there is no
 * end.
 */
function decodings(value: string): readonly string[] {
  const seen = [value];
  let current = value;
  for (let round = 0; round < DECODE_ROUNDS_MAX; round += 1) {
    const next = decodeAscii(current);
    if (next === current) return seen;
    seen.push(next);
    current = next;
  }
  return [...seen, ''];
}

/** Decodes ASCII alone: only ASCII can form a separator or a control character, and this never fails on odd bytes. */
function decodeAscii(value: string): string {
  return value.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function isHarmless(value: string): boolean {
  const path = value.split(/[?#]/, 1)[0] ?? '';
  return path.startsWith('/') && !path.includes('//') && !/[\\\p{Cc}]/u.test(value);
}
