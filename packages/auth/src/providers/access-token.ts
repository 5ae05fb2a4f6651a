/** Judges a JWT access token: signature, issuer, audience, type, lifetime (RFC 9068, section 4; RFC 8725). */
import { type Issuer, SIGNING_ALGORITHMS } from '@freehold/oidc-rp';
import { decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { VerifiedSubject } from '../subject.ts';

/** RFC 9068 names the first two; the third is what issuers from before it write. */
const TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** Claims that only an ID token has: it tells a client who signed in, and opens nothing. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];

/**
 * The subject of an access token, or null for a token that proves nothing.
 * @param audience the resource that the token must have been made for.
 * @throws what `Issuer.verifyJwt` throws when the issuer's keys cannot be had: then nobody can tell.
 */
export async function verifyAccessToken(
  token: string,
  issuer: Pick<Issuer, 'url' | 'verifyJwt'>,
  audience: string,
): Promise<VerifiedSubject | null> {
  try {
    const payload = await issuer.verifyJwt(token, {
      audience,
      requiredClaims: ['sub'],
      // The issuer publishes what it signs ID tokens with, which need not be what it signs access tokens with.
      algorithms: SIGNING_ALGORITHMS,
    });
    // The header belongs to the text whose signature was just verified.
    const { typ } = decodeProtectedHeader(token);
    return isAccessToken(payload, typ) ? toSubject(payload, issuer.url) : null;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
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
