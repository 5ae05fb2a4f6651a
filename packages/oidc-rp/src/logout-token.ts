/** Checks a logout token (OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6). */
import { decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { OidcContext } from './context.ts';
import { CLOCK_TOLERANCE_S } from './issuer.ts';
import { OidcError } from './lib/errors.ts';
import { isRecord } from './lib/record.ts';

/** An issuer's notice that sessions ended. */
export interface LogoutToken {
  readonly issuer: string;
  /** The subject whose sessions ended. Without `sid`: every session from this issuer. */
  readonly sub?: string;
  /** The issuer's session that ended: the `sid` of its ID tokens, never the one of our own sessions. */
  readonly sid?: string;
  /** The token's own id, by which the application recognises a repetition. */
  readonly jti: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs?: number;
}

/** The member of `events` that makes a JWT a logout token. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** `logout+jwt` is the token's own type. Issuers from before the recommendation write the general one, or none. */
const TYPES = new Set([undefined, 'logout+jwt', 'application/logout+jwt', 'jwt', 'application/jwt']);
/** The greatest age of a token without an expiry. */
const AGE_MAX_S = 10 * 60;
/** As for the subject of an ID token (OpenID Connect Core section 2). */
const NAME_CHARS_MAX = 255;

/**
 * Returns the content of a logout token after checking every claim, and its signature by the issuer's keys and the
 * algorithms of its ID tokens. `iat` is required, and without `exp` at most 10 minutes old; both have 30 s of
 * tolerance. Does not check whether the token was seen before.
 * @throws OidcError `logout_request_invalid` for an invalid token; `issuer_unavailable` or `issuer_misconfigured`
 * when the issuer's keys cannot be fetched.
 */
export async function verifyLogoutToken(env: OidcContext, token: string): Promise<LogoutToken> {
  const claims = await verifySignature(env, token);
  const type = decodeProtectedHeader(token).typ;
  // RFC 8725 section 3.11: other tokens that the issuer signs for us, such as access tokens, are no order to sign
  // out.
  if (!TYPES.has(typeof type === 'string' ? type.toLowerCase() : type)) refuse('is of another type');
  return judgeLogoutToken(claims, { issuer: env.env.issuer, nowMs: env.now() });
}

/** Checks the claims that the signature does not cover. @throws OidcError `logout_request_invalid`. */
export function judgeLogoutToken(
  claims: JWTPayload,
  { issuer, nowMs }: { issuer: string; nowMs: number },
): LogoutToken {
  const { sub, sid, jti, iat, exp, events } = claims;
  const nowS = nowMs / 1000;
  if (typeof iat !== 'number') refuse('does not say when it was issued');
  if (iat > nowS + CLOCK_TOLERANCE_S) refuse('was issued in the future');
  if (exp === undefined && iat + AGE_MAX_S + CLOCK_TOLERANCE_S < nowS) refuse('is too old');
  if (typeof jti !== 'string' || jti === '') refuse('has no id');
  if (!isRecord(events) || !isRecord(events[LOGOUT_EVENT])) {
    refuse('announces no logout');
  }
  // Section 2.4: prohibited, so that an ID token is never taken for a logout token or the reverse.
  if (Object.hasOwn(claims, 'nonce')) refuse('has a nonce');
  if (sub === undefined && sid === undefined) refuse('names neither a subject nor a session');
  if (sub !== undefined && !isName(sub)) refuse('has no usable subject');
  if (sid !== undefined && !isName(sid)) refuse('has no usable session id');
  return {
    issuer,
    ...(sub === undefined ? {} : { sub }),
    ...(sid === undefined ? {} : { sid }),
    jti,
    issuedAtMs: Math.round(iat * 1000),
    ...(exp === undefined ? {} : { expiresAtMs: Math.round(exp * 1000) }),
  };
}

async function verifySignature(env: OidcContext, token: string): Promise<JWTPayload> {
  try {
    return await env.issuer.verifyJwt(token, {
      audience: env.env.clientId,
      requiredClaims: ['aud', 'iat', 'jti', 'events'],
      isExpiryOptional: true,
    });
  } catch (cause) {
    if (!(cause instanceof errors.JOSEError)) throw cause;
    throw new OidcError('logout_request_invalid', 'The logout token does not verify.', { cause });
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= NAME_CHARS_MAX;
}

function refuse(reason: string): never {
  throw new OidcError('logout_request_invalid', `The logout token ${reason}.`);
}
