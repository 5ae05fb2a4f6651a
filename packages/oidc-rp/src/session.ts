/**
 * The session: the signed-in user in a signed JWT that holds no token and no claim beyond the spec's (2.5, B-05,
 * B-07).
 */
import { base64url } from 'jose';
import { type CookieRules, cookieName, readOnlyCookie, SESSION_TTL_MS } from './cookies.ts';
import { textOrUndefined } from './lib/record.ts';
import type { TokenSigner } from './lib/signed-token.ts';

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

/**
 * Returns a session JWT for a user, valid for 7 days from now. Limit the user's claims: the cookie has 4,096
 * bytes.
 */
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
 * the configured one (whose `sub` has another meaning), or expired. Synchronous; never throws.
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

/** Returns OpenID Connect's standard claims as a user. A claim of the wrong type counts as absent. */
export function userFromClaims(id: string, claims: Readonly<Record<string, unknown>>): SessionUser {
  const email = textOrUndefined(claims.email);
  const name = textOrUndefined(claims.name);
  const emailVerified = claims.email_verified;
  return {
    id,
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    ...(typeof emailVerified === 'boolean' ? { emailVerified } : {}),
  };
}
