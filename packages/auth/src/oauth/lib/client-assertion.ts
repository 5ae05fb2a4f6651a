/** Assertions by which a client with keys of its own proves itself (RFC 7523, section 3; OpenID Connect Core, section 9). */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { OAuthError } from './errors.ts';

/** Asymmetric ones alone: a document is public. */
export const ASSERTION_ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** An assertion is made for one request. What ends later was made to be kept. */
const LIFE_MAX_MS = 60 * 60_000;
const CLOCK_TOLERANCE_S = 30;
const SEEN_MAX = 10_000;

export interface Assertions {
  /**
   * Judges an assertion of a client.
   * @throws OAuthError `invalid_client` for one that is not the client's, is for another server, is over, or was used.
   */
  verify(sent: {
    readonly id: string;
    readonly assertion: string;
    /** The issuer, and the address of the endpoint. */
    readonly audience: readonly string[];
  }): Promise<void>;
}

/**
 * Shared by all instances of a process. A used assertion is remembered in this process alone: at another one it still needs a
 * code or refresh token that was not used, and the second use of either ends the grant.
 */
export function makeAssertions({
  loadKeys,
  now,
}: {
  readonly loadKeys: (id: string, isAgain?: boolean) => Promise<JSONWebKeySet>;
  readonly now: () => number;
}): Assertions {
  /** Client and `jti` \u2192 the end of the assertion, the oldest first. */
  const used = new Map<string, number>();
  const note = (key: string, untilMs: number): void => {
    for (const [each, endMs] of used) {
      if (endMs > now() && used.size < SEEN_MAX) break;
      used.delete(each);
    }
    used.set(key, untilMs);
  };
  return {
    verify: async ({ id, assertion, audience }) => {
      const claims = await verifiedClaims(
        (keys) =>
          jwtVerify(assertion, createLocalJWKSet(keys), {
            issuer: id,
            subject: id,
            audience: [...audience],
            algorithms: [...ASSERTION_ALGORITHMS],
            requiredClaims: ['exp', 'jti'],
            clockTolerance: CLOCK_TOLERANCE_S,
            currentDate: new Date(now()),
          }),
        (isAgain) => loadKeys(id, isAgain),
      );
      const untilMs = (claims.exp ?? 0) * 1_000;
      const key = `${id} ${claims.jti}`;
      if (untilMs - now() > LIFE_MAX_MS) throw refused('It lives for longer than an hour.');
      if ((used.get(key) ?? 0) > now()) throw refused('It was used before.');
      note(key, untilMs + CLOCK_TOLERANCE_S * 1_000);
    },
  };
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
