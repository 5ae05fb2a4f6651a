/** One issuer in this process: its metadata and keys, cached, and the verification of its JWTs. */
import { type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { discoverIssuer, type IssuerMetadata, type SigningAlgorithm } from './discovery.ts';
import { makeKeySet, type UseKeys } from './jwks.ts';
import { makeCachedDocument } from './lib/cached-document.ts';
import { type Deadline, type FetchLike, makePeerFetch } from './lib/peer-fetch.ts';

/** The time limit of discovery and key requests. */
export const METADATA_TIMEOUT_MS = 5000;
/** The tolerated difference between a peer's clock and ours, in seconds. */
export const CLOCK_TOLERANCE_S = 30;

export interface IssuerOptions {
  /** Issuer identifier, character for character as the issuer's own. */
  readonly url: string;
  readonly fetch: FetchLike;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether `http:` endpoints beyond the loopback interface are accepted. Default false. */
  readonly allowInsecure?: boolean;
  /** Default `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
}

/** The properties that a JWT of this issuer must have beside its signature, issuer and times. */
export interface JwtExpectations {
  readonly audience?: string;
  /** The `typ` header, such as `at+jwt` or `logout+jwt`; any when absent. */
  readonly typ?: string;
  readonly requiredClaims?: readonly string[];
  /** Accepts a token without `exp`, whose age the caller checks; a present `exp` is checked all the same. */
  readonly isExpiryOptional?: boolean;
  /** Default: the issuer's algorithms for ID tokens. Symmetric algorithms cannot be named. */
  readonly algorithms?: readonly SigningAlgorithm[];
}

/** Fetches nothing before its first use, so that a process starts without its issuer. */
export interface Issuer {
  readonly url: string;
  /** Throws `OidcError` `issuer_unavailable` or `issuer_misconfigured`. */
  metadata(): Promise<IssuerMetadata>;
  /**
   * Returns the claims of a JWT after checking signature, `iss`, `exp` and `nbf` (30 s tolerance). Throws a
   * `JOSEError` for an invalid token, and an `OidcError` when the issuer's keys cannot be fetched.
   */
  verifyJwt(token: string, expected?: JwtExpectations): Promise<JWTPayload>;
}

/** Makes an issuer with empty caches. Reuse it, since it holds the caches. */
export function makeIssuer(options: IssuerOptions): Issuer {
  const deadline = options.deadline ?? AbortSignal.timeout.bind(AbortSignal);
  const fetch = makePeerFetch({
    fetch: options.fetch,
    issuer: options.url,
    deadline,
    timeoutMs: METADATA_TIMEOUT_MS,
  });
  // The fetch has its deadline; the one of each caller comes just after it.
  const shared = { now: options.now, deadline, waitMaxMs: METADATA_TIMEOUT_MS + 1000 };
  const discovery = makeCachedDocument({
    ...shared,
    load: () => discoverIssuer({ issuer: options.url, allowInsecure: options.allowInsecure === true, fetch }),
  });
  let keySet: { readonly url: string; readonly use: UseKeys } | undefined;

  function keysAt(url: string): UseKeys {
    if (keySet?.url !== url) keySet = { url, use: makeKeySet({ ...shared, url, fetch }) };
    return keySet.use;
  }

  return {
    url: options.url,
    metadata: discovery.get,
    async verifyJwt(token, expected = {}) {
      const metadata = await discovery.get();
      const nowMs = options.now();
      // Every comparison with NaN is false, and a token would never expire.
      if (!Number.isFinite(nowMs)) throw new TypeError('The clock must answer milliseconds since the epoch.');
      const rules: JWTVerifyOptions = {
        issuer: options.url,
        algorithms: [...(expected.algorithms ?? metadata.idTokenAlgorithms)],
        currentDate: new Date(nowMs),
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: [
          'iss',
          ...(expected.isExpiryOptional === true ? [] : ['exp']),
          ...(expected.requiredClaims ?? []),
        ],
        ...(expected.audience === undefined ? {} : { audience: expected.audience }),
        ...(expected.typ === undefined ? {} : { typ: expected.typ }),
      };
      const { payload } = await keysAt(metadata.jwksUri)((keys) => jwtVerify(token, keys, rules));
      return payload;
    },
  };
}
