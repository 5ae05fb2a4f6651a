/**
 * The session: the signed-in user in a signed JWT that holds no token and no claim beyond the spec's (2.5, B-05,
 * B-07).
 */
import { base64url } from 'jose';
import {
  type CookieRules,
  clearCookie,
  cookieName,
  readCookies,
  readOnlyCookie,
  SESSION_TTL_MS,
  setCookie,
} from './cookies.ts';
import { OidcConfigError } from './lib/errors.ts';
import { makeTokenSigner, type TokenSigner } from './lib/signed-token.ts';

/** The signed-in user, as the issuer described them. */
export interface SessionUser {
  /** The issuer's `sub`. Unique only together with the issuer. */
  readonly id: string;
  readonly email?: string;
  readonly name?: string;
  /** True or false as the issuer asserts; absent when it asserts neither. */
  readonly emailVerified?: boolean;
}

/** A session with valid signature, audience, issuer and lifetime, with the facts that an identity directory needs. */
export interface VerifiedSession {
  readonly user: SessionUser;
  /** The OpenID Connect issuer that asserted `user.id`. */
  readonly issuer: string;
  /** The session's own id, by which it can be ended. */
  readonly sid: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** The time of the user's last authentication at the issuer, if the issuer says. */
  readonly authTimeMs?: number;
}

/** The settings for minting and reading sessions; every `OidcContext` is one. */
export interface SessionRules extends CookieRules {
  /** The authority that asserts `user.id`: an issuer's URL, or a directory's URN. */
  readonly env: { readonly issuer: string };
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly signers: { readonly session: TokenSigner };
}

export interface MintOptions {
  /** Default: 128 random bits. */
  readonly sid?: string;
  readonly authTimeMs?: number;
}

const SID_BYTES = 16;
/** A clock that is set right by less than a day ends no session; the same bound as for sessions of a tenant. */
const AHEAD_MAX_MS = 24 * 3_600_000;
/** In characters; a longer name is cut. With the longest address and subject it still fits in a session cookie. */
const NAME_LENGTH_MAX = 200;
/** RFC 5321 section 4.5.3.1.3, in bytes. */
const EMAIL_BYTES_MAX = 254;

const CONTROLS_AND_SPACE = /[\s\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** They change the order in which the text around them is shown, so that one name can look like another. */
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns a session JWT for a user, valid for 7 days from now. `userFromClaims` limits the claims: the cookie has 4,096 bytes. */
export function mintSession(env: SessionRules, user: SessionUser, options: MintOptions = {}): string {
  const nowMs = env.now();
  return env.signers.session.sign({
    idp: env.env.issuer,
    sub: user.id,
    sid: options.sid ?? base64url.encode(env.random(SID_BYTES)),
    // NumericDate may have a fraction (RFC 7519 section 2). Milliseconds are preserved, so that "sign out
    // everywhere" and a sign-in within the same second are in the right order.
    iat: nowMs / 1000,
    exp: (nowMs + SESSION_TTL_MS) / 1000,
    // JSON omits undefined members, which keeps email_verified three-state.
    email: user.email,
    name: user.name,
    email_verified: user.emailVerified,
    auth_time: options.authTimeMs === undefined ? undefined : options.authTimeMs / 1000,
  });
}

/**
 * Returns the content of a session JWT, or null when it is not ours, for another audience, of another issuer than
 * the configured one (whose `sub` has another meaning), expired, or begun more than a day ahead. Synchronous; never throws.
 */
export function verifySession(env: SessionRules, token: string): VerifiedSession | null {
  const claims = env.signers.session.verify(token);
  if (claims === null) return null;
  const { idp, sub, sid, iat, exp } = claims;
  if (typeof sub !== 'string' || sub === '' || typeof sid !== 'string') return null;
  if (typeof iat !== 'number' || typeof exp !== 'number' || idp !== env.env.issuer) return null;
  const issuedAtMs = Math.round(iat * 1000);
  const expiresAtMs = Math.round(exp * 1000);
  // Negated, so that a clock that returns NaN ends every session.
  if (!(env.now() < expiresAtMs)) return null;
  // Its clock was ahead, and so is its end: it would live longer than a session may.
  if (issuedAtMs > env.now() + AHEAD_MAX_MS) return null;
  return {
    user: userFromClaims(sub, claims),
    issuer: idp,
    sid,
    issuedAtMs,
    expiresAtMs,
    ...(typeof claims.auth_time === 'number' ? { authTimeMs: Math.round(claims.auth_time * 1000) } : {}),
  };
}

/** Returns the user of a request's `sb_session` cookie, or null. Synchronous; never throws. */
export function sessionFromHeaders(env: SessionRules, headers: Headers): SessionUser | null {
  return verifiedSessionFromHeaders(env, headers)?.user ?? null;
}

/** Returns the same with issuer, session id and times. Null for two different valid sessions in one request. */
export function verifiedSessionFromHeaders(env: SessionRules, headers: Headers): VerifiedSession | null {
  return readOnlyCookie(headers, cookieName(env, 'session'), (token) => verifySession(env, token));
}

/**
 * Returns OpenID Connect's standard claims as a user. An issuer writes anything into the optional ones: a name is repaired,
 * and an address that no mailbox has counts as absent, so that no claim keeps a person out.
 */
export function userFromClaims(id: string, claims: Readonly<Record<string, unknown>>): SessionUser {
  const email = emailClaim(claims.email);
  const name = nameClaim(claims.name);
  const { email_verified: emailVerified } = claims;
  return {
    id,
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    ...(typeof emailVerified === 'boolean' ? { emailVerified } : {}),
  };
}

/** Returns a name in Unicode's form NFC, on one line, without bidirectional controls; undefined when nothing is left. */
function nameClaim(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const shown = value
    .normalize('NFC')
    .replaceAll(BIDIRECTIONAL, '')
    .replaceAll(CONTROLS_AND_SPACE, ' ')
    .trim();
  const cut = shown.length > NAME_LENGTH_MAX ? [...shown].slice(0, NAME_LENGTH_MAX).join('').trim() : shown;
  return cut === '' ? undefined : cut;
}

/** Returns an address as the issuer wrote it; undefined for one that no mailbox has. */
function emailClaim(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const isUsable =
    value.search(/[\s\p{Cc}\p{Cs}\p{Z}]/u) < 0 &&
    value.search(BIDIRECTIONAL) < 0 &&
    new TextEncoder().encode(value).byteLength <= EMAIL_BYTES_MAX;
  return isUsable ? value : undefined;
}

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

/** One kind of session (spec 2.5: `sb_session`, 7 days), for applications with an issuer or without one. */
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
