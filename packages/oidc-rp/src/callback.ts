/** The second half of a sign-in: turns the issuer's answer into a session (RFC 6749 section 4.1.2 and following). */
import {
  AuthorizationResponseError,
  authorizationCodeGrantRequest,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { chooseClientAuth, oauthClient } from './client-auth.ts';
import type { OidcContext } from './context.ts';
import { clearCookie, cookieName, fitsInCookie, setCookie } from './cookies.ts';
import type { IssuerMetadata } from './discovery.ts';
import { findFlow, isSigningIn } from './flow.ts';
import { type Flow, flowCookiesAfter, isExpired } from './flow-cookie.ts';
import { sealHint } from './hint.ts';
import { type IdTokenClaims, verifyIdToken } from './id-token.ts';
import { OidcError, type OidcErrorCode } from './lib/errors.ts';
import { oauthHttp } from './lib/oauth-http.ts';
import { isRecord, textOrUndefined } from './lib/record.ts';
import type { IncomingRequest } from './login.ts';
import { resolveOrigin } from './origin.ts';
import { mintSession, type SessionUser, type VerifiedSession, verifySession } from './session.ts';
import { loadUser } from './userinfo.ts';

export interface CompletedLogin {
  readonly user: SessionUser;
  /** The session JWT. */
  readonly session: string;
  /** The content of the session JWT. */
  readonly verified: VerifiedSession;
  readonly returnTo?: string;
  readonly idToken: string;
  /**
   * The id of the issuer's own session, which a logout token would name (Back-Channel Logout section 2.1). Often
   * absent.
   */
  readonly issuerSid?: string;
  /** `Set-Cookie` values: the session, the logout hint (or its removal), and the flows that remain. */
  readonly setCookies: readonly string[];
}

/**
 * Completes the flow that the callback's `state` names. The code is redeemed only after the checks of state, flow
 * age and RFC 9207 issuer.
 * @throws OidcError; the flow is used up then too (see `flowCookiesWithout`). After `state_mismatch` and
 * `flow_expired`, `restartLogin` may start another one.
 */
export async function completeLogin(env: OidcContext, request: IncomingRequest): Promise<CompletedLogin> {
  const parameters = new URL(request.url).searchParams;
  const state = parameters.get('state') ?? '';
  const flow = requireFlow(env, request.headers, state);
  const metadata = await env.issuer.metadata();
  const answer = judgeAnswer(env, metadata, parameters, state);
  const { idToken, claims, accessToken } = await redeemCode(env, metadata, flow, answer);
  const user = await loadUser(env, metadata, { claims, accessToken });
  const session = mintSession(
    env,
    user,
    claims.auth_time === undefined ? {} : { authTimeMs: claims.auth_time * 1000 },
  );
  const verified = verifySession(env, session);
  if (verified === null) throw new Error('A session that was just minted does not verify.');

  const origin = resolveOrigin(env, request);
  const issuerSid = textOrUndefined(claims.sid);
  return {
    user,
    session,
    verified,
    ...(flow.returnTo === undefined ? {} : { returnTo: flow.returnTo }),
    idToken,
    ...(issuerSid === undefined ? {} : { issuerSid }),
    setCookies: [
      ...setCookie(env, 'session', origin, session),
      ...hintCookies(env, origin, idToken),
      ...flowCookiesAfter(env, request.headers, origin, flow),
    ],
  };
}

/** Returns the one flow to which the callback belongs. @throws OidcError `flow_expired` or `state_mismatch`. */
function requireFlow(env: OidcContext, headers: Headers, state: string): Flow {
  const flow = findFlow(env, headers, state);
  if (flow === undefined) {
    throw isSigningIn(env, headers)
      ? new OidcError('state_mismatch', 'The state is none of those that this browser was given.')
      : new OidcError('flow_expired', 'The browser brought no pending sign-in.');
  }
  if (isExpired(env, flow)) throw new OidcError('flow_expired', 'The sign-in is older than ten minutes.');
  return flow;
}

/**
 * Checks the authorization response, and returns it in the form that oauth4webapi redeems. The issuer is checked
 * first (RFC 9207 section 2.4): another issuer's error must not be shown as if it were ours.
 */
function judgeAnswer(
  env: OidcContext,
  metadata: IssuerMetadata,
  parameters: URLSearchParams,
  state: string,
): URLSearchParams {
  const issuers = parameters.getAll('iss');
  if (issuers.some((issuer) => issuer !== metadata.issuer)) {
    throw new OidcError('issuer_mismatch', 'The authorization response names another issuer.');
  }
  if (issuers.length === 0 && metadata.sendsIssInResponse) {
    throw new OidcError(
      'issuer_mismatch',
      'The authorization response lacks the issuer that is always sent.',
    );
  }
  try {
    const answer = validateAuthResponse(metadata.server, oauthClient(env), parameters, state);
    if (answer.getAll('code').length !== 1 || answer.get('code') === '') {
      throw new OidcError('response_invalid', 'The authorization response does not have exactly one code.');
    }
    return answer;
  } catch (cause) {
    if (cause instanceof OidcError) throw cause;
    if (cause instanceof AuthorizationResponseError) {
      throw new OidcError(
        codeForAnswer(cause.error),
        'The issuer answered the authorization request with an error.',
      );
    }
    throw new OidcError('response_invalid', 'The authorization response does not conform.', { cause });
  }
}

/** Maps the issuer's error (RFC 6749 section 4.1.2.1, OpenID Connect Core section 3.1.2.6) to our closed list. */
function codeForAnswer(error: string): OidcErrorCode {
  switch (error) {
    case 'access_denied':
      return 'access_denied';
    case 'login_required':
    case 'interaction_required':
    case 'consent_required':
    case 'account_selection_required':
      return 'login_required';
    case 'server_error':
    case 'temporarily_unavailable':
      return 'issuer_unavailable';
    default:
      return 'authorization_failed';
  }
}

interface Redeemed {
  readonly idToken: string;
  readonly claims: IdTokenClaims;
  readonly accessToken: string;
}

async function redeemCode(
  env: OidcContext,
  metadata: IssuerMetadata,
  flow: Flow,
  answer: URLSearchParams,
): Promise<Redeemed> {
  const client = oauthClient(env);
  const clientAuth = chooseClientAuth(env, metadata);
  try {
    const response = await authorizationCodeGrantRequest(
      metadata.server,
      client,
      clientAuth,
      answer,
      flow.redirectUri,
      flow.verifier,
      oauthHttp(env.peerFetch),
    );
    // Our own check includes the signature and the injected clock, so it comes first and names the failure. Then
    // oauth4webapi checks the rest of the token response, and the claims once more.
    const idToken = await readIdToken(response);
    const claims =
      idToken === undefined
        ? undefined
        : await verifyIdToken(env.issuer, idToken, {
            clientId: env.env.clientId,
            nowMs: env.now(),
            nonce: flow.nonce,
            ...(flow.maxAgeS === undefined ? {} : { maxAgeS: flow.maxAgeS }),
            ...(flow.acrValues === undefined ? {} : { acrValues: flow.acrValues }),
          });
    const tokens = await processAuthorizationCodeResponse(metadata.server, client, response, {
      expectedNonce: flow.nonce,
      requireIdToken: true,
    });
    if (idToken === undefined || claims === undefined) {
      throw new Error('A token response without a readable ID token was accepted.');
    }
    return { idToken, claims, accessToken: tokens.access_token };
  } catch (cause) {
    if (cause instanceof OidcError) throw cause;
    throw new OidcError(
      'exchange_failed',
      'The token endpoint refused the code, or its answer does not conform.',
      {
        cause,
      },
    );
  }
}

/**
 * Returns the ID token of a successful token response, or undefined for an unsuccessful one, for which
 * oauth4webapi throws. A successful response without an ID token is refused here.
 */
async function readIdToken(response: Response): Promise<string | undefined> {
  if (response.status !== 200) return undefined;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (!isRecord(body)) return undefined;
  if (typeof body.id_token !== 'string') {
    throw new OidcError('id_token_invalid', 'The token response has no ID token.');
  }
  return body.id_token;
}

/**
 * Omits a hint that is too large for a browser, and removes an older user's: the sign-in must not fail because of
 * it.
 */
function hintCookies(env: OidcContext, origin: string, idToken: string): readonly string[] {
  const sealed = sealHint(env, idToken);
  return fitsInCookie(cookieName(env, 'hint'), sealed)
    ? setCookie(env, 'hint', origin, sealed)
    : clearCookie(env, 'hint', origin);
}
