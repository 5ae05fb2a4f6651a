/** Assertions by which a client with keys of its own proves itself (RFC 7523, section 3; OpenID Connect Core, section 9). */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { hashToken } from '../../lib/token.ts';
import type { UsedAssertion } from '../../programs/contract.ts';
import { OAuthError } from './errors.ts';

/** Asymmetric ones alone: a document is public. */
export const ASSERTION_ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** An assertion is made for one request. What ends later was made to be kept. */
const LIFE_MAX_MS = 60 * 60_000;
const CLOCK_TOLERANCE_S = 30;

/**
 * Judges an assertion of a client, all but whether it was used before: that is for the directory, which notes its use in the
 * transaction that it is for.
 * @throws OAuthError `invalid_client` for one that is not the client's, is for another server, or is over.
 */
export async function verifyAssertion(
  assertion: string,
  {
    id,
    audience,
    loadKeys,
    nowMs,
  }: {
    readonly id: string;
    /** The issuer, and the address of the endpoint. */
    readonly audience: readonly string[];
    readonly loadKeys: (id: string, isAgain?: boolean) => Promise<JSONWebKeySet>;
    readonly nowMs: number;
  },
): Promise<UsedAssertion> {
  const { exp = 0, jti } = await verifiedClaims(
    (keys) =>
      jwtVerify(assertion, createLocalJWKSet(keys), {
        issuer: id,
        subject: id,
        audience: [...audience],
        algorithms: [...ASSERTION_ALGORITHMS],
        requiredClaims: ['exp', 'jti'],
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(nowMs),
      }),
    (isAgain) => loadKeys(id, isAgain),
  );
  if (exp * 1_000 - nowMs > LIFE_MAX_MS) throw refused('It lives for longer than an hour.');
  return { hash: hashToken(String(jti)), untilMs: (exp + CLOCK_TOLERANCE_S) * 1_000 };
}

/** A client that changed its keys is known by the new ones at once. */
async function verifiedClaims(
  verify: (keys: JSONWebKeySet) => Promise<{ readonly payload: JWTPayload }>,
  loadKeys: (isAgain: boolean) => Promise<JSONWebKeySet>,
): Promise<JWTPayload> {
  const attempt = async (isAgain: boolean) => (await verify(await loadKeys(isAgain))).payload;
  try {
    return await attempt(false).catch((error: unknown) => {
      if (error instanceof errors.JWKSNoMatchingKey) return attempt(true);
      throw error;
    });
  } catch (error) {
    // A key that cannot be imported is a TypeError or a DOMException of the runtime.
    throw error instanceof OAuthError ? error : refused('It is not one of this client for this server.');
  }
}

function refused(why: string): OAuthError {
  return new OAuthError('invalid_client', `The client_assertion is refused. ${why}`);
}
