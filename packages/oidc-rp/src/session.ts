/** The session: who signed in, in a signed JWT that holds no token and no claim beyond the spec's (2.5, B-05, B-07). */
import { base64url } from 'jose';
import { type CookieRules, cookieName, readOnlyCookie, SESSION_TTL_MS } from './cookies.ts';
import { textOrUndefined } from './lib/record.ts';
import type { TokenSigner } from './lib/signed-token.ts';

/** Who is signed in, as the issuer described them. */
export interface SessionUser {
  /** The issuer's `sub`. Unique only together with the issuer. */
  readonly id: string;
  readonly email?: string;
  readonly name?: string;
  /** True or false as the issuer asserts; absent when it says nothing. */
  readonly emailVerified?: boolean;
}

/** A session whose signature, audience, issuer and lifetime hold: what an identity directory needs to know. */
export interface VerifiedSession {
  readonly user: SessionUser;
  /** The OpenID Connect issuer that asserted `user.id`. */
  readonly issuer: string;
  /** This session's own id, so that it alone can be ended. */
  readonly sid: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** When the user last proved who they are to the issuer, if the issuer says. */
  readonly authTimeMs?: number;
}

/** What minting and reading sessions needs; every `OidcContext` is one. */
export interface SessionRules extends CookieRules {
  /** Who asserts `user.id`: an issuer's URL, or a directory's URN. */
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

/** A session JWT for a user, valid for 7 days from now. Keep the user's claims few: the cookie has 4,096 bytes. */
export function mintSession(env: SessionRules, user: SessionUser, options: MintOptions = {}): string {
  const nowMs = env.now();
  return env.signers.session.sign({
    idp: env.env.issuer,
    sub: user.id,
    sid: options.sid ?? base64url.encode(env.random(SID_BYTES)),
    // NumericDate may have a fraction (RFC 7519 section 2). Milliseconds are kept, so that "sign out everywhere"
    // and a sign-in within the same second fall on the right sides of each other.
    iat: nowMs / 1000,
    exp: (nowMs + SESSION_TTL_MS) / 1000,
    // Members that are undefined are left out by JSON, which keeps email_verified three-state.
    email: user.email,
    name: user.name,
    email_verified: user.emailVerified,
    auth_time: options.authTimeMs === undefined ? undefined : options.authTimeMs / 1000,
  });
}

/**
 * What a session JWT says, or null when it is not ours, not for this audience, of an issuer that is no longer the
 * configured one (whose `sub` means nothing at another), or expired. Synchronous; never throws.
 */
export function verifySession(env: SessionRules, token: string): VerifiedSession | null {
  const claims = env.signers.session.verify(token);
  if (claims === null) return null;
  const { idp, sub, sid, iat, exp } = claims;
  if (typeof sub !== 'string' || sub === '' || typeof sid !== 'string') return null;
  if (typeof iat !== 'number' || typeof exp !== 'number' || idp !== env.env.issuer) return null;
  const issuedAtMs = Math.round(iat * 1000);
  const expiresAtMs = Math.round(exp * 1000);
  // Said in the negative, so that a clock that answers no number ends every session.
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

/** The user behind a request's `sb_session` cookie, or null for nobody. Synchronous; never throws. */
export function sessionFromHeaders(env: SessionRules, headers: Headers): SessionUser | null {
  return verifiedSessionFromHeaders(env, headers)?.user ?? null;
}

/** The same with issuer, session id and times. Two different valid sessions in one request are nobody's. */
export function verifiedSessionFromHeaders(env: SessionRules, headers: Headers): VerifiedSession | null {
  return readOnlyCookie(headers, cookieName(env, 'session'), (token) => verifySession(env, token));
}

/** OpenID Connect's standard claims as a user. A claim of the wrong type counts as not asserted. */
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
