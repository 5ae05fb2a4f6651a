/** Checks an ID token (OpenID Connect Core section 3.1.3.7), its signature included. */
import type { JWTPayload } from 'jose';
import type { Flow } from './flow-cookie.ts';
import { CLOCK_TOLERANCE_S, type Issuer } from './issuer.ts';
import { OidcError } from './lib/errors.ts';

/** The values that the ID token must match. */
export interface IdTokenExpectations extends Pick<Flow, 'nonce' | 'maxAgeS' | 'acrValues'> {
  readonly clientId: string;
  readonly nowMs: number;
}

/** The claims of a verified ID token; `sub` is a non-empty string. */
export interface IdTokenClaims extends JWTPayload {
  readonly sub: string;
  readonly auth_time?: number;
}

/** OpenID Connect Core section 2. */
const SUBJECT_CHARS_MAX = 255;

/**
 * Verifies the signature by the issuer's keys although the token came straight from the token endpoint, then every
 * claim.
 * @throws OidcError `id_token_invalid`, or `issuer_unavailable` when the keys cannot be fetched.
 */
export async function verifyIdToken(
  issuer: Issuer,
  token: string,
  expected: IdTokenExpectations,
): Promise<IdTokenClaims> {
  const claims = await verifySignature(issuer, token, expected.clientId);
  return judgeIdToken(claims, expected);
}

/** Checks the claims that the signature does not cover. @throws OidcError `id_token_invalid`. */
export function judgeIdToken(claims: JWTPayload, expected: IdTokenExpectations): IdTokenClaims {
  const { sub, iat, auth_time: authTime } = claims;
  const nowS = expected.nowMs / 1000;
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_CHARS_MAX)
    refuse('has no usable subject');
  if (typeof iat !== 'number') refuse('does not say when it was issued');
  if (iat > nowS + CLOCK_TOLERANCE_S) refuse('was issued in the future');
  if (claims.nonce !== expected.nonce) refuse('has another nonce than the one sent');
  // Other audiences are accepted only when the token was issued to us, since we trust none of them.
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  if (audiences.length > 1 && claims.azp === undefined)
    refuse('has several audiences and no authorized party');
  if (claims.azp !== undefined && claims.azp !== expected.clientId) refuse('was issued to another party');
  if (authTime !== undefined && typeof authTime !== 'number') refuse('misstates its authentication time');
  if (expected.maxAgeS !== undefined) {
    if (typeof authTime !== 'number') refuse('does not say when the user authenticated');
    if (authTime + expected.maxAgeS + CLOCK_TOLERANCE_S < nowS)
      refuse('shows an authentication that is too old');
  }
  if (expected.acrValues !== undefined) {
    if (typeof claims.acr !== 'string' || !expected.acrValues.includes(claims.acr)) {
      refuse('shows another authentication context than was asked for');
    }
  }
  return { ...claims, sub, ...(typeof authTime === 'number' ? { auth_time: authTime } : {}) };
}

async function verifySignature(issuer: Issuer, token: string, clientId: string): Promise<JWTPayload> {
  try {
    return await issuer.verifyJwt(token, {
      audience: clientId,
      requiredClaims: ['aud', 'sub', 'iat', 'nonce'],
    });
  } catch (cause) {
    if (cause instanceof OidcError) throw cause;
    throw new OidcError('id_token_invalid', 'The ID token does not verify.', { cause });
  }
}

function refuse(reason: string): never {
  throw new OidcError('id_token_invalid', `The ID token ${reason}.`);
}
