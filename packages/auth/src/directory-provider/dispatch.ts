/** The provider's routes, and the way of a request to one of them: who may ask, and how a failure is answered. */
import { PlatformError, PROBLEMS, publicError, toFailure } from '@freehold/contracts';
import { requireSameOrigin, wantsPage } from '@freehold/contracts/http';
import { problemAnswer, withCare } from '../lib/answers.ts';
import type { Exchange, Handler, ProviderContext } from './lib/context.ts';
import { findKnownBrowser } from './lib/cookies.ts';
import { pageResponse } from './lib/responses.ts';
import { messagePage } from './pages/layout.ts';
import { AUTH_BASE } from './pages/paths.ts';
import { showScript, showStyle } from './routes/assets.ts';
import { postEmailFinish, postEmailRevert, showEmailFinish, showEmailRevert } from './routes/email.ts';
import {
  postConfirm,
  postLogin,
  postSecondFactor,
  showConfirm,
  showLogin,
  showSecondFactor,
} from './routes/login.ts';
import {
  postNewPasskey,
  postNewPasskeyOptions,
  postPasskeyOptions,
  postPasskeyRemove,
  postPasskeyRename,
  postPasskeyVerify,
} from './routes/passkeys.ts';
import { postReset, postResetFinish, showReset, showResetFinish } from './routes/reset.ts';
import { postDelete, postEmail, postName, postPassword, showSecurity } from './routes/security.ts';
import { logout, postSessionEnd, postSessionsEndAll } from './routes/sessions.ts';
import { postSignUp, postSignUpFinish, showSignUp, showSignUpFinish } from './routes/sign-up.ts';
import { postRecoveryCodes, postTotp, postTotpDisable, postTotpEnable } from './routes/two-step.ts';
import { chooseLanguage, textsOf } from './texts/language.ts';

export interface Route {
  readonly GET?: Handler;
  readonly POST?: Handler;
  /** True for our script's routes, which take and answer JSON. */
  readonly json?: true;
  /** True when a GET changes state, so that a HEAD must not run it. */
  readonly unsafe?: true;
}

export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['login', { GET: showLogin, POST: postLogin }],
  ['login/second-factor', { GET: showSecondFactor, POST: postSecondFactor }],
  ['sign-up', { GET: showSignUp, POST: postSignUp }],
  ['sign-up/finish', { GET: showSignUpFinish, POST: postSignUpFinish }],
  ['reset', { GET: showReset, POST: postReset }],
  ['reset/finish', { GET: showResetFinish, POST: postResetFinish }],
  ['email/finish', { GET: showEmailFinish, POST: postEmailFinish }],
  ['email/revert', { GET: showEmailRevert, POST: postEmailRevert }],
  ['confirm', { GET: showConfirm, POST: postConfirm }],
  ['logout', { GET: logout, unsafe: true }],
  ['security', { GET: showSecurity }],
  ['security/name', { POST: postName }],
  ['security/email', { POST: postEmail }],
  ['security/password', { POST: postPassword }],
  ['security/delete', { POST: postDelete }],
  ['security/totp', { POST: postTotp }],
  ['security/totp/enable', { POST: postTotpEnable }],
  ['security/totp/disable', { POST: postTotpDisable }],
  ['security/recovery-codes', { POST: postRecoveryCodes }],
  ['security/passkeys/rename', { POST: postPasskeyRename }],
  ['security/passkeys/remove', { POST: postPasskeyRemove }],
  ['security/sessions/end', { POST: postSessionEnd }],
  ['security/sessions/end-all', { POST: postSessionsEndAll }],
  ['passkey/options', { POST: postPasskeyOptions, json: true }],
  ['passkey/verify', { POST: postPasskeyVerify, json: true }],
  ['passkeys/options', { POST: postNewPasskeyOptions, json: true }],
  ['passkeys', { POST: postNewPasskey, json: true }],
  ['client.js', { GET: showScript }],
  ['style.css', { GET: showStyle }],
]);

export interface Connection {
  /** The client's network address: attempts are limited by it as well. */
  readonly clientAddress?: string | undefined;
}

/** Answers any request under `/api/auth/`. Never rejects: an unexpected error is reported, and is a 500. */
export async function dispatch(
  context: ProviderContext,
  request: Request,
  connection: Connection = {},
): Promise<Response> {
  const url = new URL(request.url);
  const route = findRoute(url.pathname);
  if (route === undefined)
    return problemAnswer(new PlatformError('not_found', 'There is no sign-in route at this address.'));
  const handler = handlerOf(route, request.method);
  if (handler === undefined) return problemAnswer(otherMethod(route));
  try {
    const exchange = makeExchange(context, request, { url, ...connection });
    try {
      // A cookie rides along on any page's POST, and signing a user in as another user is an attack as well: every
      // form and every call of our script comes from our own pages.
      if (request.method === 'POST') requireSameOrigin(request.headers, exchange.origin, { pageOnly: true });
      const response = await handler(exchange);
      return withCare(request.method === 'HEAD' ? new Response(null, response) : response);
    } catch (error) {
      return failure(exchange, { error, json: route.json === true });
    }
  } catch (error) {
    context.report(error);
    return problemAnswer(publicError(error));
  }
}

function findRoute(pathname: string): Route | undefined {
  return pathname.startsWith(`${AUTH_BASE}/`) ? ROUTES.get(pathname.slice(AUTH_BASE.length + 1)) : undefined;
}

function handlerOf(route: Route, method: string): Handler | undefined {
  if (method === 'HEAD') return route.unsafe ? undefined : route.GET;
  return method === 'GET' ? route.GET : method === 'POST' ? route.POST : undefined;
}

function makeExchange(
  context: ProviderContext,
  request: Request,
  { url, clientAddress }: Connection & { readonly url: URL },
): Exchange {
  const { theme, scopeId } = context;
  const origin = context.originOf(request);
  const { language, tag } = chooseLanguage(
    theme.language,
    request.headers.get('accept-language') ?? undefined,
  );
  const browser = findKnownBrowser(context, request.headers, origin);
  return {
    ...context,
    request,
    query: url.searchParams,
    origin,
    appName: theme.appName ?? new URL(origin).host,
    t: textsOf(language),
    tag,
    attempt: { scopeId, address: clientAddress, browser },
  };
}

/** Answers a problem to our script and to software; a page with the same sentence to a navigating user. */
function failure(
  exchange: Exchange,
  { error, json }: { readonly error: unknown; readonly json: boolean },
): Response {
  const shown = publicError(error);
  if (shown.status >= 500) exchange.report(error);
  const { frame } = exchange.t;
  const sentence = frame.sentenceOf(shown);
  // Our script shows the sentence to the person.
  if (json) return problemAnswer(worded(shown, sentence));
  if (!wantsPage(exchange.request.headers)) return problemAnswer(shown);
  const page = messagePage(exchange.t, {
    heading: frame.titleOf(shown, PROBLEMS[shown.code].title),
    sentences: [sentence],
    failed: true,
    next: { label: frame.goBack, url: exchange.theme.homeUrl },
  });
  return pageResponse(exchange, page, { status: shown.status, headers: shown.headers ?? {} });
}

/** The same refusal with another sentence. */
function worded(error: PlatformError, sentence: string): PlatformError {
  return new PlatformError(error.code, sentence, toFailure(error));
}

function otherMethod(route: Route): PlatformError {
  const methods = [route.GET && 'GET', route.GET && !route.unsafe && 'HEAD', route.POST && 'POST'];
  const allow = methods.filter((each) => each).join(', ');
  return new PlatformError('method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
}
