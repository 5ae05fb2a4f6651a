/** The first half of a sign-in: where to send the browser, and what it must bring back (RFC 6749 section 4.1.1). */
import {
  calculatePKCECodeChallenge,
  processPushedAuthorizationResponse,
  pushedAuthorizationRequest,
} from 'oauth4webapi';
import { chooseClientAuth, oauthClient } from './client-auth.ts';
import type { OidcContext } from './context.ts';
import { CALLBACK_PATH } from './cookies.ts';
import type { IssuerMetadata } from './discovery.ts';
import { OidcError } from './errors.ts';
import { type Flow, flowCookiesWith, startFlow } from './flow.ts';
import { oauthHttp } from './lib/oauth-http.ts';
import { resolveOrigin } from './origin.ts';

export interface BeginLoginOptions {
  /** A same-origin absolute path; anything else, and more than 512 bytes, is left out. */
  readonly returnTo?: unknown;
  /** `none`, `login`, `consent`, `select_account` (OpenID Connect Core section 3.1.2.1). */
  readonly prompt?: string;
  readonly loginHint?: string;
  /** Seconds since the last proof of identity that are acceptable. Enforced on the ID token. */
  readonly maxAgeS?: number;
  /** Acceptable authentication contexts. Enforced on the ID token: one of them must come back. */
  readonly acrValues?: readonly string[];
}

export interface BegunLogin {
  /** The issuer's authorization endpoint with the request in it. */
  readonly redirectTo: string;
  /** `Set-Cookie` values that must leave with the redirect. */
  readonly setCookies: readonly string[];
  readonly state: string;
}

/** What is read of a request. */
export type IncomingRequest = Pick<Request, 'url' | 'headers'>;

/**
 * Starts an authorization code flow with PKCE S256, state and nonce; pushes the request first when the issuer
 * requires that (RFC 9126). Throws `OidcError` `issuer_unavailable` (503) or `issuer_misconfigured`.
 */
export async function beginLogin(
  env: OidcContext,
  request: IncomingRequest,
  options: BeginLoginOptions = {},
): Promise<BegunLogin> {
  const metadata = await env.issuer.metadata();
  const origin = resolveOrigin(env, request);
  const flow = startFlow(env, {
    redirectUri: `${origin}${CALLBACK_PATH}`,
    returnTo: options.returnTo,
    ...(options.maxAgeS === undefined ? {} : { maxAgeS: options.maxAgeS }),
    ...(options.acrValues === undefined ? {} : { acrValues: options.acrValues }),
  });
  const parameters = await authorizationParameters(env, flow, options);
  return {
    redirectTo: authorizationUrl(
      metadata,
      metadata.pushedAuthorizationRequired ? await push(env, metadata, parameters) : parameters,
    ),
    setCookies: flowCookiesWith(env, request.headers, origin, flow),
    state: flow.state,
  };
}

/** A request that a browser makes on a guess, before its user decided anything. */
export function isPrefetch(headers: Headers): boolean {
  return (
    headers.has('next-router-prefetch') ||
    ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
      /\b(prefetch|prerender|preview)\b/i.test(headers.get(name) ?? ''),
    )
  );
}

async function authorizationParameters(
  env: OidcContext,
  flow: Flow,
  options: BeginLoginOptions,
): Promise<URLSearchParams> {
  const parameters = new URLSearchParams({
    client_id: env.env.clientId,
    redirect_uri: flow.redirectUri,
    response_type: 'code',
    scope: env.scope,
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
  });
  if (options.prompt !== undefined) parameters.set('prompt', options.prompt);
  if (options.loginHint !== undefined) parameters.set('login_hint', options.loginHint);
  if (options.maxAgeS !== undefined) parameters.set('max_age', String(options.maxAgeS));
  if (options.acrValues !== undefined) parameters.set('acr_values', options.acrValues.join(' '));
  return parameters;
}

function authorizationUrl(metadata: IssuerMetadata, parameters: URLSearchParams): string {
  const url = new URL(metadata.authorizationEndpoint);
  // The endpoint may have a query of its own, which is kept (RFC 6749 section 3.1).
  for (const [name, value] of parameters) url.searchParams.set(name, value);
  return url.href;
}

async function push(
  env: OidcContext,
  metadata: IssuerMetadata,
  parameters: URLSearchParams,
): Promise<URLSearchParams> {
  const client = oauthClient(env);
  try {
    const response = await pushedAuthorizationRequest(
      metadata.server,
      client,
      chooseClientAuth(env, metadata),
      parameters,
      oauthHttp(env.peerFetch),
    );
    const pushed = await processPushedAuthorizationResponse(metadata.server, client, response);
    return new URLSearchParams({ client_id: env.env.clientId, request_uri: pushed.request_uri });
  } catch (cause) {
    if (cause instanceof OidcError) throw cause;
    throw new OidcError('authorization_failed', 'The issuer refused the pushed authorization request.', {
      cause,
    });
  }
}
