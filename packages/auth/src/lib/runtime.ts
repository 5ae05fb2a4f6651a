/** The clock, the network and the host names that a provider uses, passed in so that tests and engines choose them. */

import { type FetchLike, type Issuer, makeIssuer, type OidcError } from '@freehold/oidc-rp';
import { refusal } from './refusals.ts';

/** The parts of an application's environment that providers depend on. */
export interface AuthRuntime {
  /**
   * Fetches from issuers. Tenants choose issuers, so an operator passes one that refuses private addresses.
   * Default: the platform's `fetch`.
   */
  readonly fetch?: FetchLike;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /** That many bytes from a cryptographic source. Default: `crypto.getRandomValues`. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Domain of the session cookie, from `resolveCookieDomain`. Default: host-only. */
  readonly cookieDomain?: string;
  /** Believe `X-Forwarded-Proto` and `X-Forwarded-Host`; only behind a proxy that overwrites both. Default false. */
  readonly trustForwarded?: boolean;
  /** Accept `http:` issuers beyond the loopback interface. Default false. */
  readonly allowInsecureIssuer?: boolean;
  /** Where a sign-in ends that named no `returnTo`. Default `/`. */
  readonly onSuccess?: string;
  /** Where a failed sign-in ends, with `?error=<code>`. Default: a plain page that says what went wrong. */
  readonly onError?: string;
  /**
   * Serve `/api/auth/backchannel-logout` too, where the issuer reports that a user signed out there (OpenID Connect
   * Back-Channel Logout 1.0). The application must let a POST of another server without a cookie through to it.
   * Default false.
   */
  readonly backchannelLogout?: boolean;
  /**
   * Is called with every sign-in, sign-out and logout request that failed. The error's `detail` and `cause` are for
   * operators alone; people are shown its code. Default: not reported.
   */
  readonly onFailure?: (error: OidcError) => void;
  /** Issuers by URL, so that their metadata and keys are fetched once for many instances. Default: one each. */
  readonly issuer?: (url: string) => Issuer;
}

/** A runtime with the defaults filled in that are not the relying party's own to choose. */
export interface CompleteRuntime extends AuthRuntime {
  readonly fetch: NonNullable<AuthRuntime['fetch']>;
  readonly now: NonNullable<AuthRuntime['now']>;
}

/** Fills in the defaults: the one place in this package where the system's clock and network are named. */
export function completeRuntime(runtime: AuthRuntime = {}): CompleteRuntime {
  return {
    ...runtime,
    fetch: runtime.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init)),
    now: checkedClock(runtime.now ?? Date.now),
  };
}

/** No comparison with a time that is no number holds, "expired" among them, so such a clock is an error. */
function checkedClock(now: () => number): () => number {
  return () => {
    const nowMs = now();
    if (Number.isFinite(nowMs)) return nowMs;
    throw refusal(
      'unavailable',
      'clock_unreadable',
      'Callers cannot be recognized while the clock cannot be read.',
    );
  };
}

/** Returns the issuer at a URL: the shared one when there is one, else one with empty caches. */
export function issuerAt(url: string, runtime: CompleteRuntime): Issuer {
  if (runtime.issuer) return runtime.issuer(url);
  const { fetch, now, allowInsecureIssuer } = runtime;
  return makeIssuer({ url, fetch, now, allowInsecure: allowInsecureIssuer === true });
}
