/** The three sign-in routes over Web Requests (spec 4.1): the one implementation behind every mount of them. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { completeLogin } from './callback.ts';
import type { OidcContext } from './context.ts';
import { CALLBACK_PATH, clearCookie, LOGIN_PATH, LOGOUT_PATH } from './cookies.ts';
import { failureResponse } from './failure-page.ts';
import { isDeliberate } from './fetch-metadata.ts';
import { returnToOf } from './flow.ts';
import { flowCookiesWithout } from './flow-cookie.ts';
import { hintFromHeaders } from './hint.ts';
import { OidcError } from './lib/errors.ts';
import { beginLogin, isPrefetch, restartLogin } from './login.ts';
import { federatedLogoutUrl } from './logout.ts';
import { resolveOrigin } from './origin.ts';
import { landingPath } from './safe-path.ts';
import { type VerifiedSession, verifiedSessionFromHeaders } from './session.ts';
import { stateId } from './state.ts';

/** A user signed in; the cookies are about to be set. */
export interface SignedIn {
  readonly session: VerifiedSession;
  /** The session that this browser had until now. It is replaced and should be ended. */
  readonly previous: VerifiedSession | null;
  readonly idToken: string;
  /**
   * The issuer's own session: store it beside `session.sid`, so that a logout token that names it can end this
   * session.
   */
  readonly issuerSid?: string;
  readonly request: Request;
}

/** A user signed out in this browser. */
export interface SignedOut {
  readonly session: VerifiedSession;
  readonly request: Request;
}

export interface AuthRoutesOptions {
  /** The destination of a sign-in without `returnTo`. A same-origin path. Default `/`. */
  readonly onSuccess?: string;
  /**
   * The destination of a failed sign-in, with `?error=<code>`. A same-origin path. Default: a plain page of our
   * own.
   */
  readonly onError?: string;
  /** Awaited before the session cookie is sent. Throw `OidcError` `sign_in_refused` to refuse the user. */
  readonly onSignedIn?: (event: SignedIn) => void | Promise<void>;
  /**
   * Awaited after the cookies are removed from the response; a throw is shown to the user as an incomplete
   * sign-out.
   */
  readonly onSignedOut?: (event: SignedOut) => void | Promise<void>;
  /** Called for every failure, for the operator's log. */
  readonly onFailure?: (error: OidcError) => void;
}

/** Call it when mounting. @throws TypeError when `onSuccess` or `onError` is not a same-origin path. */
export function checkAuthRoutesOptions(options: AuthRoutesOptions): void {
  for (const name of ['onSuccess', 'onError'] as const) {
    if (options[name] !== undefined && landingPath(options[name]) === null) {
      throw new TypeError(`${name} must be a same-origin absolute path outside the sign-in routes.`);
    }
  }
}

/**
 * Answers GET `/api/auth/login`, `/api/auth/callback` and `/api/auth/logout`; 404 for any other path, 405 for any
 * other method. Every answer is `Cache-Control: no-store`. Rejects only with a hook's error that is no
 * `OidcError`, and for our own bugs.
 */
export async function handleAuthRequest(
  env: OidcContext,
  request: Request,
  options: AuthRoutesOptions = {},
): Promise<Response> {
  const path = new URL(request.url).pathname;
  const route = ROUTES[path];
  if (route === undefined)
    return new Response(null, { status: 404, headers: { 'cache-control': 'no-store' } });
  // HEAD is refused too: link checkers send it, and these addresses change state.
  if (request.method !== 'GET') {
    return problemDocument(
      new PlatformError('method_not_allowed', 'This address takes GET.', { headers: { allow: 'GET' } }),
    );
  }
  if (isPrefetch(request.headers)) {
    return failureResponse(new OidcError('prefetch_refused', 'The browser made the request speculatively.'));
  }
  // An image on a foreign page must not sign its readers out, or push their flows out of the cookie. The callback
  // needs no such rule: it does nothing without a flow of this browser and its unguessable state, and
  // `restartLogin` checks for itself.
  if (path !== CALLBACK_PATH && !isDeliberate(request.headers, resolveOrigin(env, request))) {
    const error = new OidcError(
      'navigation_required',
      'A page made the request by itself; the user followed no link.',
    );
    options.onFailure?.(error);
    return failureResponse(error);
  }
  return route(env, request, options);
}

type Route = (env: OidcContext, request: Request, options: AuthRoutesOptions) => Promise<Response>;

const ROUTES: Readonly<Record<string, Route>> = {
  [LOGIN_PATH]: handleLogin,
  [CALLBACK_PATH]: handleCallback,
  [LOGOUT_PATH]: handleLogout,
};

async function handleLogin(
  env: OidcContext,
  request: Request,
  options: AuthRoutesOptions,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const returnTo = query.get('returnTo');
  try {
    const begun = await beginLogin(env, request, { returnTo, otherAccount: query.has('switch') });
    return redirect(begun.redirectTo, begun.setCookies);
  } catch (error) {
    return fail(error, { returnTo, setCookies: [] }, options);
  }
}

async function handleCallback(
  env: OidcContext,
  request: Request,
  options: AuthRoutesOptions,
): Promise<Response> {
  const state = new URL(request.url).searchParams.get('state') ?? '';
  const visit = { returnTo: returnToOf(env, request.headers, state) };
  try {
    const previous = verifiedSessionFromHeaders(env, request.headers);
    try {
      return await signIn(env, request, previous, options);
    } catch (error) {
      const onward = isStale(error)
        ? await continueStale(env, request, { ...visit, previous }, options)
        : null;
      if (onward === null) throw error;
      return onward;
    }
  } catch (error) {
    const origin = resolveOrigin(env, request);
    const setCookies = flowCookiesWithout(env, request.headers, origin, stateId(state));
    return fail(error, { ...visit, setCookies }, options);
  }
}

async function signIn(
  env: OidcContext,
  request: Request,
  previous: VerifiedSession | null,
  options: AuthRoutesOptions,
): Promise<Response> {
  const login = await completeLogin(env, request);
  await options.onSignedIn?.({
    session: login.verified,
    previous,
    idToken: login.idToken,
    ...(login.issuerSid === undefined ? {} : { issuerSid: login.issuerSid }),
    request,
  });
  return redirect(landing(options, login.returnTo), login.setCookies);
}

/** Whether the callback belongs to no flow of this browser: it was used, came late, was overtaken, or is foreign. */
function isStale(error: unknown): boolean {
  return error instanceof OidcError && (error.code === 'flow_expired' || error.code === 'state_mismatch');
}

/** Returns the redirect with which a stale callback continues, or null. */
async function continueStale(
  env: OidcContext,
  request: Request,
  visit: { readonly returnTo: string | undefined; readonly previous: VerifiedSession | null },
  options: AuthRoutesOptions,
): Promise<Response | null> {
  // A user who is signed in lost nothing, so nothing is reported.
  if (visit.previous !== null) return redirect(landing(options, visit.returnTo), []);
  const again = await restartLogin(env, request);
  return again && redirect(again.redirectTo, again.setCookies);
}

async function handleLogout(
  env: OidcContext,
  request: Request,
  options: AuthRoutesOptions,
): Promise<Response> {
  const query = new URL(request.url).searchParams;
  const origin = resolveOrigin(env, request);
  const returnTo = landingPath(query.get('returnTo')) ?? '/';
  // Before any step that can fail, so that these cookies are removed in any case (B-14). The hint is used once,
  // here; another tab's pending sign-in must not undo this.
  const cleared = [
    ...clearCookie(env, 'session', origin),
    ...clearCookie(env, 'hint', origin),
    ...clearCookie(env, 'flow', origin),
  ];
  try {
    const session = verifiedSessionFromHeaders(env, request.headers);
    const hint = hintFromHeaders(env, request.headers);
    if (session !== null) await options.onSignedOut?.({ session, request });
    const atIssuer = query.has('federated') ? await federatedLogoutUrl(env, origin, returnTo, hint) : null;
    return redirect(atIssuer ?? returnTo, cleared);
  } catch (cause) {
    const error = new OidcError('sign_out_incomplete', 'The session could not be ended on the server.', {
      cause,
    });
    return fail(error, { returnTo, setCookies: cleared }, options);
  }
}

/**
 * Returns the destination of a sign-in. Settings are checked again here, at the sink, since not every caller
 * checks them.
 */
function landing(options: AuthRoutesOptions, returnTo: string | undefined): string {
  return landingPath(returnTo) ?? landingPath(options.onSuccess) ?? '/';
}

interface FailureAnswer {
  /** The place that the user was going to, for the page's links; checked by `landingPath`. */
  readonly returnTo: unknown;
  readonly setCookies: readonly string[];
}

function fail(error: unknown, { returnTo, setCookies }: FailureAnswer, options: AuthRoutesOptions): Response {
  if (!(error instanceof OidcError)) throw error;
  options.onFailure?.(error);
  const path = landingPath(options.onError);
  if (path === null) return withCookies(failureResponse(error, returnTo), setCookies);
  // Only the closed code is passed on: a description by a peer is never shown as ours.
  const url = new URL(path, 'https://path.invalid');
  url.searchParams.set('error', error.code);
  return redirect(`${url.pathname}${url.search}${url.hash}`, setCookies);
}

function redirect(location: string, setCookies: readonly string[]): Response {
  const headers = new Headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  return withCookies(new Response(null, { status: 302, headers }), setCookies);
}

function withCookies(response: Response, setCookies: readonly string[]): Response {
  for (const cookie of setCookies) response.headers.append('set-cookie', cookie);
  return response;
}
