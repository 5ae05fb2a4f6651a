/** Signing out (spec B-12, B-14), and ending one's own sessions: one of them, or all. */
import { isDeliberate, isPrefetch, landingPath } from '@freehold/oidc-rp';
import type { Handler } from '../lib/context.ts';
import { clearShortCookie, noticeCookie, RETURN_COOKIE, SECOND_FACTOR_COOKIE } from '../lib/cookies.ts';
import { orRefusal, pageResponse, redirectTo } from '../lib/responses.ts';
import { type AccountHandler, endSessions, forSignedInForm } from '../lib/sessions.ts';
import { messagePage } from '../pages/layout.ts';
import { authUrl, SECURITY_PATH } from '../pages/paths.ts';
import { doneAt } from './security.ts';

export const logout: Handler = async (exchange) => {
  const { request, query, origin } = exchange;
  // An image on another page, and a browser that prefetches, must not sign a user out.
  if (isPrefetch(request.headers) || !isDeliberate(request.headers, origin)) {
    const sentences = [exchange.t.signOut.refusedWhat];
    const page = messagePage(exchange.t, { heading: exchange.t.signOut.refused, sentences, failed: true });
    return pageResponse(exchange, page, { status: 503 });
  }
  const sessions = exchange.cookies.readAll(request.headers);
  // Before any step that can fail.
  const cleared = [
    ...exchange.cookies.clear(origin),
    clearShortCookie(SECOND_FACTOR_COOKIE, origin),
    clearShortCookie(RETURN_COOKIE, origin),
  ];
  try {
    await endSessions(exchange, sessions);
  } catch (error) {
    exchange.report(error);
    const page = messagePage(exchange.t, {
      heading: exchange.t.signOut.incomplete,
      sentences: [exchange.t.signOut.incompleteWhat],
      failed: true,
    });
    return pageResponse(exchange, page, { status: 503, setCookies: cleared });
  }
  const headers = new Headers({
    location: landingPath(query.get('returnTo')) ?? '/',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  for (const cookie of cleared) headers.append('set-cookie', cookie);
  return new Response(null, { status: 302, headers });
};

const endOne: AccountHandler<'sid'> = async (exchange, signedIn, { sid }) => {
  const { issuer, directory } = exchange;
  // A session that is over already needs no end.
  await orRefusal(exchange, directory.endOwnSession({ issuer, sub: signedIn.account.userId, sid }));
  return sid === signedIn.session.sid
    ? redirectTo(authUrl('login', { returnTo: SECURITY_PATH }), exchange.cookies.clear(exchange.origin))
    : doneAt(exchange, 'session_ended');
};

const endAll: AccountHandler = async (exchange, signedIn) => {
  const { issuer, directory } = exchange;
  await directory.endAllSessions({ issuer, sub: signedIn.account.userId });
  return redirectTo(authUrl('login'), [
    ...exchange.cookies.clear(exchange.origin),
    noticeCookie(exchange, 'signed_out'),
  ]);
};

export const postSessionEnd = forSignedInForm(['sid'], endOne);
export const postSessionsEndAll = forSignedInForm([], endAll);
