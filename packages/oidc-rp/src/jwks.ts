/** The issuer's signing keys: fetched late, cached, and fetched again when a token names a key we do not have. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { OidcError } from './errors.ts';
import { makeCachedDocument } from './lib/cached-document.ts';
import type { Deadline, FetchLike } from './lib/peer-fetch.ts';
import { isRecord } from './lib/record.ts';

/** Unknown keys make us ask again at most once in so long: anybody can send a token with an invented `kid`. */
export const UNKNOWN_KEY_COOLDOWN_MS = 30 * 1000;

export interface KeySetOptions {
  readonly url: string;
  readonly fetch: FetchLike;
  readonly now: () => number;
  readonly deadline: Deadline;
  readonly waitMaxMs: number;
}

/**
 * A key resolver for jose. Throws `OidcError` `issuer_unavailable` when the keys cannot be had, and jose's
 * `JWKSNoMatchingKey` or `JWKSMultipleMatchingKeys` when the token's key is not exactly one of them.
 */
export function makeKeySet(options: KeySetOptions): JWTVerifyGetKey {
  const cached = makeCachedDocument({ ...options, load: () => loadKeys(options) });
  let askedAgainAtMs = Number.NEGATIVE_INFINITY;

  return async (header, token) => {
    const keys = await cached.get();
    try {
      return await keys(header, token);
    } catch (error) {
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || options.now() - askedAgainAtMs < UNKNOWN_KEY_COOLDOWN_MS) throw error;
      askedAgainAtMs = options.now();
      const fresh = await cached.refresh();
      return fresh(header, token);
    }
  };
}

async function loadKeys({ url, fetch }: KeySetOptions): Promise<ReturnType<typeof createLocalJWKSet>> {
  const response = await fetch(url, {
    method: 'GET',
    headers: { accept: 'application/json, application/jwk-set+json' },
  });
  if (response.status !== 200) {
    throw new OidcError('issuer_misconfigured', `The key set answered with status ${response.status}.`);
  }
  try {
    const body: unknown = await response.json();
    if (!isRecord(body) || !Array.isArray(body.keys)) throw new TypeError('A key set has a list of keys.');
    return createLocalJWKSet({ keys: body.keys });
  } catch (cause) {
    throw new OidcError('issuer_misconfigured', 'The key set is not a JSON Web Key Set.', { cause });
  }
}
