/**
 * The issuer's signing keys: fetched at the first use, cached, and fetched again when a token names an unknown
 * key.
 */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { makeCachedDocument } from './lib/cached-document.ts';
import { OidcError } from './lib/errors.ts';
import type { Deadline, PeerFetch } from './lib/peer-fetch.ts';
import { isRecord } from './lib/record.ts';

/** The shortest time between two fetches for unknown keys: an attacker can send tokens with invented `kid`s. */
export const UNKNOWN_KEY_COOLDOWN_MS = 30 * 1000;

export interface KeySetOptions {
  readonly url: string;
  readonly fetch: PeerFetch;
  readonly now: () => number;
  readonly deadline: Deadline;
  readonly waitMaxMs: number;
}

/**
 * Returns a key resolver for jose.
 * @throws OidcError `issuer_unavailable` or `issuer_misconfigured` when the keys cannot be fetched or used; jose's
 * `JWKSNoMatchingKey` or `JWKSMultipleMatchingKeys` when the token's key is not exactly one of them.
 */
export function makeKeySet(options: KeySetOptions): JWTVerifyGetKey {
  const cached = makeCachedDocument({ ...options, load: () => loadKeys(options) });
  let askedAgainAtMs = Number.NEGATIVE_INFINITY;

  /**
   * Returns keys that may be newer than the cached ones: being fetched, or just fetched. The same ones within the
   * cooldown.
   */
  function newerKeys(): Promise<KeySet> {
    if (!cached.isRefreshing()) {
      if (options.now() - askedAgainAtMs < UNKNOWN_KEY_COOLDOWN_MS) return cached.get();
      askedAgainAtMs = options.now();
    }
    // After a rotation all who sign in at that moment wait for the one fetch.
    return cached.refresh();
  }

  return async (header, token) => {
    const keys = await cached.get();
    try {
      return await findKey(keys, header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const newer = await newerKeys();
      if (newer === keys) throw error;
      return findKey(newer, header, token);
    }
  };
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** Finds a key. A published key that cannot be imported is the issuer's fault, and not the token's. */
async function findKey(keys: KeySet, ...wanted: Parameters<KeySet>): Promise<Awaited<ReturnType<KeySet>>> {
  try {
    return await keys(...wanted);
  } catch (cause) {
    if (cause instanceof errors.JOSEError) throw cause;
    throw new OidcError('issuer_misconfigured', 'The key set has a key that cannot be used.', { cause });
  }
}

async function loadKeys({ url, fetch }: KeySetOptions): Promise<KeySet> {
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
