/** Signing out, as the relying party does it (spec B-12, B-14): by a link, in this browser, and for good. */
import { isDeliberate, isPrefetch, landingPath } from '@freehold/oidc-rp';
import type { Handler } from '../lib/context.ts';
import { messagePage } from '../pages/message-page.ts';
import { pageResponse } from '../lib/responses.ts';
import { clearShortCookie, RETURN_COOKIE, SECOND_FACTOR_COOKIE } from '../lib/cookies.ts';
import { endSessions } from '../sign-in.ts';

export const logout: Handler = async (context, exchange) => {
  const { request, query, origin } = exchange;
  // A picture on somebody's page, and a browser that guesses, must not sign anybody out.
  if (isPrefetch(request.headers) || !isDeliberate(request.headers, origin)) {
    const sentences = ['This address is only for a person who follows the link.'];
    const page = messagePage({ heading: 'Not signed out', sentences, failed: true });
    return pageResponse(context, exchange, page, { status: 503 });
  }
  const sessions = context.cookies.readAll(request.headers);
  // Before anything that can fail.
  const cleared = [
    ...context.cookies.clear(origin),
    clearShortCookie(SECOND_FACTOR_COOKIE, origin),
    clearShortCookie(RETURN_COOKIE, origin),
  ];
  try {
    await endSessions(context, sessions);
  } catch (error) {
    context.report(error);
    const page = messagePage({
      heading: 'Sign-out incomplete',
      sentences: [
        'You are signed out in this browser, but the session could not be ended everywhere. Sign in again and end it under “Sign-in and security”.',
      ],
      failed: true,
    });
    return pageResponse(context, exchange, page, { status: 503, setCookies: cleared });
  }
  const headers = new Headers({
    location: landingPath(query.get('returnTo')) ?? '/',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  for (const cookie of cleared) headers.append('set-cookie', cookie);
  return new Response(null, { status: 302, headers });
};
