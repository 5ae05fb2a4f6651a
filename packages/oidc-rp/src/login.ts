/**
 * The first half of a sign-in: the redirect to the issuer, and the cookies that the browser must bring back (RFC
 * 6749 section 4.1.1).
 */
import {
  calculatePKCECodeChallenge,
  processPushedAuthorizationResponse,
  pushedAuthorizationRequest,
} from 'oauth4webapi';
import { chooseClientAuth, oauthClient } from './client-auth.ts';
import type { OidcContext } from './context.ts';
import { CALLBACK_PATH } from './cookies.ts';
import type { IssuerMetadata } from './discovery.ts';
import { isDeliberate } from './fetch-metadata.ts';
import { restartFlow, type StartedFlow, startFlow } from './flow.ts';
import { flowCookiesWith } from './flow-cookie.ts';
import { OidcError } from './lib/errors.ts';
import { oauthHttp } from './lib/oauth-http.ts';
import { resolveOrigin } from './origin.ts';

export interface BeginLoginOptions {
  /** A same-origin absolute path of at most 512 bytes; any other value is omitted. */
  readonly returnTo?: unknown;
  /** `none`, `login`, `consent`, `select_account` (OpenID Connect Core section 3.1.2.1). */
  readonly prompt?: string;
  readonly loginHint?: string;
  /** Makes the issuer ask who signs in, even if a user is signed in there. `prompt` takes precedence. */
  readonly otherAccount?: boolean;
  /** The accepted age of the last authentication, in seconds. Enforced on the ID token. */
  readonly maxAgeS?: number;
  /** The accepted authentication contexts. Enforced on the ID token: one of them must come back. */
  readonly acrValues?: readonly string[];
}

export interface BegunLogin {
  /** The issuer's authorization endpoint with the request in its query. */
  readonly redirectTo: string;
  /** `Set-Cookie` values that must go with the redirect. */
  readonly setCookies: readonly string[];
  readonly state: string;
}

/** The parts of a request that are read. */
export type IncomingRequest = Pick<Request, 'url' | 'headers'>;

/**
 * Starts an authorization code flow with PKCE S256, state and nonce; pushes the request first when the issuer
 * requires that (RFC 9126).
 * @throws OidcError `issuer_unavailable` (503) or `issuer_misconfigured`.
 */
export async function beginLogin(
  env: OidcContext,
  request: IncomingRequest,
  options: BeginLoginOptions = {},
): Promise<BegunLogin> {
  const metadata = await env.issuer.metadata();
  const origin = resolveOrigin(env, request);
  const prompt = options.prompt ?? (options.otherAccount === true ? promptForAccount(metadata) : undefined);
  const { maxAgeS, acrValues, loginHint } = options;
  const asked = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(loginHint === undefined ? {} : { loginHint }),
    ...(maxAgeS === undefined ? {} : { maxAgeS }),
    ...(acrValues === undefined ? {} : { acrValues }),
  };
  const started = startFlow(env, {
    ...asked,
    redirectUri: `${origin}${CALLBACK_PATH}`,
    returnTo: options.returnTo,
    // A second flow would not request these again.
    isFinal: prompt !== undefined || maxAgeS !== undefined || acrValues !== undefined,
  });
  return {
    redirectTo: await requestUrl(env, metadata, started, asked),
    setCookies: flowCookiesWith(env, request.headers, origin, started.flow),
    state: started.state,
  };
}

/**
 * Starts a sign-in again whose callback this browser can no longer complete: tabs that started at the same moment
 * overwrote each other's cookie, too many of them were open, or the callback came late. The answer of the first
 * flow is discarded; the second one leads to the same place. Returns null when it must not start: see
 * `restartFlow`, an answer that is no code of our issuer, or a request that the user did not mean. Throws as
 * `beginLogin` does.
 */
export async function restartLogin(env: OidcContext, request: IncomingRequest): Promise<BegunLogin | null> {
  const answer = new URL(request.url).searchParams;
  const isCode = answer.has('code') && !answer.has('error');
  if (!isCode || answer.getAll('iss').some((issuer) => issuer !== env.env.issuer)) return null;
  if (!isDeliberate(request.headers, resolveOrigin(env, request))) return null;
  const started = restartFlow(env, request.headers, answer.get('state') ?? '');
  if (started === null) return null;
  return {
    redirectTo: await requestUrl(env, await env.issuer.metadata(), started, {}),
    setCookies: [],
    state: started.state,
  };
}

/** Whether a browser makes a request speculatively, before its user decided. */
export function isPrefetch(headers: Headers): boolean {
  return (
    headers.has('next-router-prefetch') ||
    ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
      /\b(prefetch|prerender|preview)\b/i.test(headers.get(name) ?? ''),
    )
  );
}

/** Returns `select_account`, unless the issuer lists its prompts without it; then `login`, which every issuer has. */
function promptForAccount({ promptValues }: IssuerMetadata): string {
  return promptValues === undefined || promptValues.includes('select_account') ? 'select_account' : 'login';
}

type Asked = Pick<BeginLoginOptions, 'prompt' | 'loginHint' | 'maxAgeS' | 'acrValues'>;

async function requestUrl(
  env: OidcContext,
  metadata: IssuerMetadata,
  started: StartedFlow,
  asked: Asked,
): Promise<string> {
  const parameters = await authorizationParameters(env, started, asked);
  return authorizationUrl(
    metadata,
    metadata.pushedAuthorizationRequired ? await push(env, metadata, parameters) : parameters,
  );
}

async function authorizationParameters(
  env: OidcContext,
  { flow, state }: StartedFlow,
  asked: Asked,
): Promise<URLSearchParams> {
  const parameters = new URLSearchParams({
    client_id: env.env.clientId,
    redirect_uri: flow.redirectUri,
    response_type: 'code',
    scope: env.scope,
    state,
    nonce: flow.nonce,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
  });
  if (asked.prompt !== undefined) parameters.set('prompt', asked.prompt);
  if (asked.loginHint !== undefined) parameters.set('login_hint', asked.loginHint);
  if (asked.maxAgeS !== undefined) parameters.set('max_age', String(asked.maxAgeS));
  if (asked.acrValues !== undefined) parameters.set('acr_values', asked.acrValues.join(' '));
  return parameters;
}

function authorizationUrl(metadata: IssuerMetadata, parameters: URLSearchParams): string {
  const url = new URL(metadata.authorizationEndpoint);
  // The endpoint's own query is preserved (RFC 6749 section 3.1).
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
