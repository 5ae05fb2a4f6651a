/** The issuer's signing keys: fetched late, cached, and fetched again when a token names a key we do not have. */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { makeCachedDocument } from './lib/cached-document.ts';
import { OidcError } from './lib/errors.ts';
import type { Deadline, PeerFetch } from './lib/peer-fetch.ts';
import { isRecord } from './lib/record.ts';

/** Unknown keys make us ask again at most once in so long: anybody can send a token with an invented `kid`. */
export const UNKNOWN_KEY_COOLDOWN_MS = 30 * 1000;

export interface KeySetOptions {
  readonly url: string;
  readonly fetch: PeerFetch;
  readonly now: () => number;
  readonly deadline: Deadline;
  readonly waitMaxMs: number;
}

/**
 * A key resolver for jose. Throws `OidcError` `issuer_unavailable` or `issuer_misconfigured` when the keys cannot be
 * had or used, and jose's `JWKSNoMatchingKey` or `JWKSMultipleMatchingKeys` when the token's key is not exactly one
 * of them.
 */
export function makeKeySet(options: KeySetOptions): JWTVerifyGetKey {
  const cached = makeCachedDocument({ ...options, load: () => loadKeys(options) });
  let askedAgainAtMs = Number.NEGATIVE_INFINITY;

  /** Keys that may know what others did not: being fetched, or just fetched. The same ones when asking is too soon. */
  function newerKeys(): Promise<KeySet> {
    if (!cached.isRefreshing()) {
      if (options.now() - askedAgainAtMs < UNKNOWN_KEY_COOLDOWN_MS) return cached.get();
      askedAgainAtMs = options.now();
    }
    // After a rotation everybody who signs in at that moment waits for the one fetch.
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

/** A published key that cannot be imported is the issuer's fault, and not that of a token which names it. */
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
