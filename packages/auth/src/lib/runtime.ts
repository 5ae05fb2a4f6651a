/** What a provider needs of the world, handed in so that tests and engines can choose it. */
import { PlatformError } from '@freehold/contracts';
import { type FetchLike, type Issuer, makeIssuer, type OidcError } from '@freehold/oidc-rp';

/** Where the clock, the network and the host names of an application come from. */
export interface AuthRuntime {
  /**
   * Fetches from issuers. Tenants choose issuers, so that an operator passes one that refuses private addresses.
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
   * Serve `/api/auth/backchannel-logout` too, where the issuer says that somebody signed out there (OpenID Connect
   * Back-Channel Logout 1.0). It takes a POST of another server without a cookie, so that the application must let
   * one through to it. Default false.
   */
  readonly backchannelLogout?: boolean;
  /**
   * Told of every sign-in, sign-out and logout request that failed, with what only an operator may see: `detail` and
   * `cause` of the error. People are shown its code alone. Default: nobody is told.
   */
  readonly onFailure?: (error: OidcError) => void;
  /** Issuers by URL, so that their metadata and keys are fetched once for many instances. Default: one each. */
  readonly issuer?: (url: string) => Issuer;
}

/** A runtime with every default filled in that is not the relying party's own to choose. */
export interface CompleteRuntime extends AuthRuntime {
  readonly fetch: NonNullable<AuthRuntime['fetch']>;
  readonly now: NonNullable<AuthRuntime['now']>;
}

/** This is wiring: the one place in this package where the system's clock and network are named. */
export function completeRuntime(runtime: AuthRuntime = {}): CompleteRuntime {
  return {
    ...runtime,
    fetch: runtime.fetch ?? ((url: string, init: RequestInit) => globalThis.fetch(url, init)),
    now: checkedClock(runtime.now ?? Date.now),
  };
}

/** No comparison with a time that is no number holds, "expired" among them: whoever asks hears of it instead. */
function checkedClock(now: () => number): () => number {
  return () => {
    const nowMs = now();
    if (Number.isFinite(nowMs)) return nowMs;
    throw new PlatformError('unavailable', 'Nobody can be recognized while the clock cannot be read.', {
      reason: 'clock_unreadable',
    });
  };
}

/** The issuer at a URL: the shared one when there is one, else one with empty caches. */
export function issuerAt(url: string, runtime: CompleteRuntime): Issuer {
  if (runtime.issuer) return runtime.issuer(url);
  const { fetch, now, allowInsecureIssuer } = runtime;
  return makeIssuer({ url, fetch, now, allowInsecure: allowInsecureIssuer === true });
}
