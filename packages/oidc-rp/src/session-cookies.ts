/** Sessions for applications that sign users in without an issuer: the same cookie, with the same format. */
import { type CookieRules, clearCookie, cookieName, readCookies, setCookie } from './cookies.ts';
import { OidcConfigError } from './lib/errors.ts';
import { makeTokenSigner } from './lib/signed-token.ts';
import {
  type MintOptions,
  mintSession,
  type SessionRules,
  type SessionUser,
  type VerifiedSession,
  verifiedSessionFromHeaders,
  verifySession,
} from './session.ts';

export interface SessionCookiesOptions {
  /** The URI that asserts the users' ids: any URI of the caller's own, such as `urn:example:directory:1`. */
  readonly issuer: string;
  /** The first signs, all verify; each at least 32 bytes. */
  readonly secrets: readonly string[];
  /** A session that is signed for one audience is refused at another. */
  readonly audience: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** A Domain that was checked against the Public Suffix List. Default: host-only. */
  readonly cookieDomain?: string;
}

export interface SessionCookieMintOptions extends MintOptions {
  /** When the session is issued, in milliseconds since the epoch. Default: now. */
  readonly atMs?: number;
}

/** More cookies of one name than this are an attack on the CPU. */
export const SESSIONS_READ_MAX = 50;

/** One kind of session (spec 2.5: `sb_session`, 7 days). */
export interface SessionCookies {
  /** Returns a new session and its `Set-Cookie` values. @throws OidcError `cookie_too_large`. */
  mint(
    user: SessionUser,
    origin: string,
    options?: SessionCookieMintOptions,
  ): { readonly session: VerifiedSession; readonly setCookies: readonly string[] };
  /** Returns the session of a request, or null. Never throws. */
  read(headers: Headers): VerifiedSession | null;
  /**
   * Returns every valid session of a request. A sibling host can plant one beside another: then `read` returns
   * null, and signing out must end them all. With more than {@link SESSIONS_READ_MAX} cookies none is read.
   */
  readAll(headers: Headers): readonly VerifiedSession[];
  /** Returns the `Set-Cookie` values that remove it. */
  clear(origin: string): readonly string[];
}

const SECRET_BYTES_MIN = 32;

/** @throws OidcConfigError without a secret of 32 bytes. */
export function makeSessionCookies(options: SessionCookiesOptions): SessionCookies {
  const { issuer, secrets, audience, now, random, cookieDomain } = options;
  const encoder = new TextEncoder();
  if (secrets.length === 0 || secrets.some((secret) => encoder.encode(secret).length < SECRET_BYTES_MIN)) {
    throw new OidcConfigError(
      'SESSION_SECRET',
      `SESSION_SECRET must have at least ${SECRET_BYTES_MIN} bytes.`,
    );
  }
  const cookies: CookieRules = { hintCookieName: '', cookieDomain };
  const rules: SessionRules = {
    ...cookies,
    env: { issuer },
    now,
    random,
    signers: { session: makeTokenSigner({ secrets, purpose: 'session', audience }) },
  };
  return {
    mint: (user, origin, { atMs, ...mint } = {}) => {
      const issuing = atMs === undefined ? rules : { ...rules, now: () => atMs };
      const token = mintSession(issuing, user, mint);
      const session = verifySession(issuing, token);
      if (session === null) throw new TypeError('A session that was just minted must verify.');
      return { session, setCookies: setCookie(rules, 'session', origin, token) };
    },
    read: (headers) => verifiedSessionFromHeaders(rules, headers),
    readAll: (headers) => {
      const tokens = readCookies(headers, cookieName(rules, 'session'));
      if (tokens.length > SESSIONS_READ_MAX) return [];
      return tokens.map((token) => verifySession(rules, token)).filter((session) => session !== null);
    },
    clear: (origin) => clearCookie(rules, 'session', origin),
  };
}
