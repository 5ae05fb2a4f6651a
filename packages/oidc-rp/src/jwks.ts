/**
 * The issuer's signing keys: fetched at the first use, cached, and fetched again when a token names an unknown key, or
 * when the signature of one that names no key fails: the issuer may have a new key.
 */
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { makeCachedDocument } from './lib/cached-document.ts';
import { OidcError } from './lib/errors.ts';
import type { Deadline, PeerFetch } from './lib/peer-fetch.ts';
import { isRecord } from './lib/record.ts';

/**
 * The shortest time between two fetches for unknown keys, and between two for failed signatures: an attacker can send any
 * number of tokens that have either. Counted apart, so that the one does not hide the other.
 */
export const UNKNOWN_KEY_COOLDOWN_MS = 30 * 1000;

export interface KeySetOptions {
  readonly url: string;
  readonly fetch: PeerFetch;
  readonly now: () => number;
  readonly deadline: Deadline;
  readonly waitMaxMs: number;
}

/** Verifies a token with the issuer's keys. `verify` is called a second time when newer keys may fit. */
export type UseKeys = <T>(verify: (keys: JWTVerifyGetKey) => Promise<T>) => Promise<T>;

/**
 * Makes an empty cache of keys. A use of it throws what `verify` throws, of which `JWKSNoMatchingKey` and
 * `JWSSignatureVerificationFailed` cause a fetch, at most one in 30 s; and OidcError `issuer_unavailable` or
 * `issuer_misconfigured` when the keys cannot be fetched or used.
 */
export function makeKeySet(options: KeySetOptions): UseKeys {
  const cached = makeCachedDocument({ ...options, load: () => loadKeys(options) });
  const askedAgainAtMs = { unknown: Number.NEGATIVE_INFINITY, unnamed: Number.NEGATIVE_INFINITY };

  /**
   * Returns keys that may be newer than the cached ones: being fetched, or just fetched. The same ones within the
   * cooldown.
   */
  function newerKeys(key: keyof typeof askedAgainAtMs): Promise<KeySet> {
    if (!cached.isRefreshing()) {
      if (options.now() - askedAgainAtMs[key] < UNKNOWN_KEY_COOLDOWN_MS) return cached.get();
      askedAgainAtMs[key] = options.now();
    }
    // After a rotation all who sign in at that moment wait for the one fetch.
    return cached.refresh();
  }

  return async (verify) => {
    const keys = await cached.get();
    let isNamed = true;
    const noted: JWTVerifyGetKey = (header, token) => {
      isNamed = header.kid !== undefined;
      return findKey(keys, header, token);
    };
    try {
      return await verify(noted);
    } catch (error) {
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      const isUnnamed = error instanceof errors.JWSSignatureVerificationFailed && !isNamed;
      if (!isUnknown && !isUnnamed) throw error;
      const newer = await newerKeys(isUnknown ? 'unknown' : 'unnamed');
      if (newer === keys) throw error;
      return verify((header, token) => findKey(newer, header, token));
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
