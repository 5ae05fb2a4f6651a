/** Reads a bearer token (RFC 6750, section 2.1) and judges a JWT access token (RFC 9068, section 4; RFC 8725). */
import { type Issuer, SIGNING_ALGORITHMS, userFromClaims } from '@freehold/oidc-rp';
import { decodeProtectedHeader, errors, type JWTPayload } from 'jose';
import type { VerifiedSubject } from '../lib/subject.ts';

/** Longer than any header a server takes. */
const TOKEN_LENGTH_MAX = 16 * 1_024;
const CREDENTIALS = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;
/** RFC 9068 names the first two; issuers from before it write the third. */
const TYPES = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** The issuer's clock may be ahead of ours by this much, in seconds. */
const CLOCK_TOLERANCE_S = 30;
/** Claims that only an ID token has: it tells a client who signed in, and opens nothing. */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash'];

/** The demands on a token beside its signature, issuer and lifetime. */
export interface AccessTokenRules {
  /** The token was made for at least one of these, byte for byte (RFC 9068, section 4; RFC 8707, section 2). */
  readonly audiences: readonly string[];
  readonly nowMs: number;
}

/** Returns the presented token, or null when there is none or the header is not well formed. */
export function readBearer(headers: Headers): string | null {
  const token = CREDENTIALS.exec(headers.get('authorization') ?? '')?.[1];
  return token !== undefined && token.length <= TOKEN_LENGTH_MAX ? token : null;
}

/**
 * Returns the subject of an access token, or null for a token that proves nothing.
 * @throws what `Issuer.verifyJwt` throws when the issuer's keys cannot be fetched.
 */
export async function verifyAccessToken(
  token: string,
  issuer: Pick<Issuer, 'url' | 'verifyJwt'>,
  rules: AccessTokenRules,
): Promise<VerifiedSubject | null> {
  try {
    const payload = await issuer.verifyJwt(token, {
      requiredClaims: ['sub', 'aud'],
      // The issuer publishes the algorithms of its ID tokens, which need not be those of its access tokens.
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
  // A token from the future would also outlive its time here: the wrong clock may be ours.
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
  const { sub } = payload;
  if (typeof sub !== 'string' || sub === '') return null;
  const { id, email = null, name = null, ...flag } = userFromClaims(sub, payload);
  return { issuer, sub: id, email, name, ...flag };
}
