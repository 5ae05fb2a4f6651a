/** Judges a JWT access token: signature, issuer, audience, type, lifetime (RFC 9068, section 4; RFC 8725). */
import { type Issuer, SIGNING_ALGORITHMS } from '@freehold/oidc-rp';
import { decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { VerifiedSubject } from '../lib/subject.ts';

/** RFC 9068 names the first two; the third is what issuers from before it write. */
const TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** How far the issuer's clock may be ahead of ours, in seconds. */
const CLOCK_TOLERANCE_S = 30;
/** Claims that only an ID token has: it tells a client who signed in, and opens nothing. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];

/** What a token is held to beside its signature, issuer and lifetime. */
export interface AccessTokenRules {
  /** The token was made for at least one of these, byte for byte (RFC 9068, section 4; RFC 8707, section 2). */
  readonly audiences: readonly string[];
  readonly nowMs: number;
}

/**
 * The subject of an access token, or null for a token that proves nothing.
 * @throws what `Issuer.verifyJwt` throws when the issuer's keys cannot be had: then nobody can tell.
 */
export async function verifyAccessToken(
  token: string,
  issuer: Pick<Issuer, 'url' | 'verifyJwt'>,
  rules: AccessTokenRules,
): Promise<VerifiedSubject | null> {
  try {
    const payload = await issuer.verifyJwt(token, {
      requiredClaims: ['sub', 'aud'],
      // The issuer publishes what it signs ID tokens with, which need not be what it signs access tokens with.
      algorithms: SIGNING_ALGORITHMS,
    });
    // The header belongs to the text whose signature was just verified.
    const { typ } = decodeProtectedHeader(token);
    return isAccessToken(payload, typ) && isForUs(payload, rules) ? toSubject(payload, issuer.url) : null;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function isForUs({ aud, iat }: JWTPayload, { audiences, nowMs }: AccessTokenRules): boolean {
  // One from the future would also outlive its time here: the clock that is wrong may be ours.
  if (iat !== undefined && !(iat <= nowMs / 1_000 + CLOCK_TOLERANCE_S)) return false;
  const made: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return made.some((each) => typeof each === 'string' && audiences.includes(each));
}

function isAccessToken(payload: JWTPayload, type: string | undefined): boolean {
  if (type === undefined || !TYPES.has(type.toLowerCase())) return false;
  if (ID_TOKEN_CLAIMS.some((claim) => claim in payload)) return false;
  // A token bound to a key is worth nothing without the proof of it, which a bearer does not bring (RFC 9449, 7.2).
  return !('cnf' in payload);
}

function toSubject(payload: JWTPayload, issuer: string): VerifiedSubject | null {
  const { sub, email, name, email_verified: emailVerified } = payload;
  if (typeof sub !== 'string' || sub === '') return null;
  return {
    issuer,
    sub,
    email: typeof email === 'string' ? email : null,
    name: typeof name === 'string' ? name : null,
    ...(typeof emailVerified === 'boolean' ? { emailVerified } : {}),
  };
}
