/** The dependency record that every function of this package takes first, and its constructor. */

import type { CookieRules } from './cookies.ts';
import { checkOidcEnv, type OidcEnv } from './env.ts';
import { type Issuer, makeIssuer } from './issuer.ts';
import { type Deadline, type FetchLike, makePeerFetch, type PeerFetch } from './lib/peer-fetch.ts';
import { makeTokenSigner, type TokenSigner } from './lib/signed-token.ts';
import { makeTextSealer, type TextSealer } from './lib/text-sealer.ts';
import type { OriginRules } from './origin.ts';

/** The time limit of the token, userinfo and pushed-authorization endpoints. */
export const EXCHANGE_TIMEOUT_MS = 10_000;

/** The name of the hint cookie in spec 2.5. */
export const HINT_COOKIE_NAME = 'sb_oidc_idt';

/** The client's authentication at the token endpoint (OpenID Connect Core section 9). */
export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post';

export interface OidcContextOptions {
  readonly env: OidcEnv;
  readonly fetch: FetchLike;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Default `crypto.getRandomValues`. */
  readonly random?: (bytes: number) => Uint8Array;
  /**
   * The tenant or instance of the cookies: a value that is signed for one audience is refused at another. Default:
   * BASE_URL's origin, or without BASE_URL the client id at its issuer.
   */
  readonly audience?: string;
  /** Domain of all cookies, already checked against the Public Suffix List. Default: host-only. */
  readonly cookieDomain?: string;
  /** Whether `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted. Default false. */
  readonly trustForwarded?: boolean;
  /** Default `sb_oidc_idt`. */
  readonly hintCookieName?: string;
  /** Default `openid email profile`. Must contain `openid`. */
  readonly scope?: string;
  /** Overrides the choice from the issuer's metadata, for issuers that advertise methods which do not work. */
  readonly clientAuthMethod?: ClientAuthMethod;
  /** An issuer, with its caches, that several relying parties share. */
  readonly issuer?: Issuer;
  /** Default `AbortSignal.timeout`. */
  readonly deadline?: Deadline;
}

/**
 * Made once per configuration by `makeRelyingParty`, and reused: it holds the derived keys and the issuer's
 * caches.
 */
export interface OidcContext extends OriginRules, CookieRules {
  readonly env: OidcEnv;
  readonly audience: string;
  readonly issuer: Issuer;
  readonly scope: string;
  readonly clientAuthMethod: ClientAuthMethod | undefined;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches with limits of time and size, for the endpoints that the metadata names. */
  readonly peerFetch: PeerFetch;
  readonly signers: { readonly flow: TokenSigner; readonly session: TokenSigner; readonly hint: TokenSigner };
  /** Seals the `state` that goes to the issuer and comes back; bound to this issuer and client. */
  readonly states: TextSealer;
}

/** @throws OidcConfigError for an `env` that cannot be used; TypeError for other wrong options. */
export function makeContext(options: OidcContextOptions): OidcContext {
  const env = checkOidcEnv(options.env);
  const audience = options.audience ?? env.baseUrl ?? `${env.clientId}@${env.issuer}`;
  const deadline = options.deadline ?? AbortSignal.timeout.bind(AbortSignal);
  const scope = options.scope ?? 'openid email profile';
  if (!scope.split(' ').includes('openid')) throw new TypeError('The scope must contain openid.');
  if (options.issuer !== undefined && options.issuer.url !== env.issuer) {
    throw new TypeError('A shared issuer must be the one that OIDC_ISSUER names.');
  }
  // Both values go into a Set-Cookie header, where a separator would add attributes.
  if (options.cookieDomain !== undefined && !/^[a-z0-9.-]+$/i.test(options.cookieDomain)) {
    throw new TypeError('The cookie domain must be a plain domain name.');
  }
  if (options.hintCookieName !== undefined && !/^[\w-]+$/.test(options.hintCookieName)) {
    throw new TypeError('The name of the hint cookie must be letters, digits, _ and -.');
  }
  const { fetch, now } = options;
  const signer = (purpose: 'flow' | 'session' | 'hint'): TokenSigner =>
    makeTokenSigner({ secrets: env.sessionSecrets, purpose, audience });

  const random = options.random ?? ((bytes) => crypto.getRandomValues(new Uint8Array(bytes)));

  return {
    env,
    audience,
    now,
    scope,
    random,
    clientAuthMethod: options.clientAuthMethod,
    trustForwarded: options.trustForwarded === true,
    cookieDomain: options.cookieDomain,
    hintCookieName: options.hintCookieName ?? HINT_COOKIE_NAME,
    issuer:
      options.issuer ??
      makeIssuer({ url: env.issuer, fetch, now, deadline, allowInsecure: env.allowInsecureIssuer === true }),
    peerFetch: makePeerFetch({ fetch, issuer: env.issuer, deadline, timeoutMs: EXCHANGE_TIMEOUT_MS }),
    signers: { flow: signer('flow'), session: signer('session'), hint: signer('hint') },
    states: makeTextSealer({
      secrets: env.sessionSecrets,
      purpose: 'state',
      audience,
      context: `${env.issuer} ${env.clientId}`,
      random,
    }),
  };
}
