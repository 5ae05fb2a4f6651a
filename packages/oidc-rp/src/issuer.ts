/** One issuer as this process knows it: its metadata and keys, cached, and the judgement of what it signed. */
import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { discoverIssuer, type IssuerMetadata, type SigningAlgorithm } from './discovery.ts';
import { makeKeySet } from './jwks.ts';
import { makeCachedDocument } from './lib/cached-document.ts';
import { type Deadline, type FetchLike, makePeerFetch } from './lib/peer-fetch.ts';

/** How long discovery and key requests may take. */
export const METADATA_TIMEOUT_MS = 5000;
/** How far a peer's clock may be off, in seconds. */
export const CLOCK_TOLERANCE_S = 30;

export interface IssuerOptions {
  /** Issuer identifier, exactly as it names itself. */
  readonly url: string;
  readonly fetch: FetchLike;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Accept `http:` endpoints beyond the loopback interface. Default false. */
  readonly allowInsecure?: boolean;
  /** Default `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
}

/** What a JWT of this issuer must satisfy beside its signature, issuer and times. */
export interface JwtExpectations {
  readonly audience?: string;
  /** The `typ` header, such as `at+jwt` or `logout+jwt`; any when left out. */
  readonly typ?: string;
  readonly requiredClaims?: readonly string[];
  /** Accept a token without `exp`, whose age the caller judges; one that is present holds all the same. */
  readonly isExpiryOptional?: boolean;
  /** Default: what the issuer says it signs ID tokens with. Symmetric algorithms cannot be named. */
  readonly algorithms?: readonly SigningAlgorithm[];
}

/** Nothing is fetched until first use; a process starts without its issuer. */
export interface Issuer {
  readonly url: string;
  /** Throws `OidcError` `issuer_unavailable` or `issuer_misconfigured`. */
  metadata(): Promise<IssuerMetadata>;
  /**
   * The claims of a JWT whose signature, `iss`, `exp` and `nbf` (30 s tolerance) hold. Throws a `JOSEError` when the
   * token is at fault, and an `OidcError` when the issuer's keys cannot be had.
   */
  verifyJwt(token: string, expected?: JwtExpectations): Promise<JWTPayload>;
}

/** Makes an issuer with empty caches. Keep it: the caches are the point. */
export function makeIssuer(options: IssuerOptions): Issuer {
  const deadline = options.deadline ?? AbortSignal.timeout.bind(AbortSignal);
  const fetch = makePeerFetch({
    fetch: options.fetch,
    issuer: options.url,
    deadline,
    timeoutMs: METADATA_TIMEOUT_MS,
  });
  // The fetch has its deadline; a waiter's own comes just after it.
  const shared = { now: options.now, deadline, waitMaxMs: METADATA_TIMEOUT_MS + 1000 };
  const discovery = makeCachedDocument({
    ...shared,
    load: () => discoverIssuer({ issuer: options.url, allowInsecure: options.allowInsecure === true, fetch }),
  });
  let keySet: { readonly url: string; readonly resolve: JWTVerifyGetKey } | undefined;

  function keySetAt(url: string): JWTVerifyGetKey {
    if (keySet?.url !== url) keySet = { url, resolve: makeKeySet({ ...shared, url, fetch }) };
    return keySet.resolve;
  }

  return {
    url: options.url,
    metadata: discovery.get,
    async verifyJwt(token, expected = {}) {
      const metadata = await discovery.get();
      const nowMs = options.now();
      // Every comparison with an impossible time is false, and the token would never have expired.
      if (!Number.isFinite(nowMs)) throw new TypeError('The clock must answer milliseconds since the epoch.');
      const { payload } = await jwtVerify(token, keySetAt(metadata.jwksUri), {
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
      });
      return payload;
    },
  };
}
