/** Ending one's own sessions: one of them, or all. */
import { orRefusal } from '../form-answers.ts';
import { noticeCookie } from '../notices.ts';
import { redirectTo } from '../lib/responses.ts';
import { authUrl, SECURITY_PATH } from '../pages/paths.ts';
import { type AccountHandler, forSignedInForm } from '../lib/sessions.ts';
import { doneAt } from './security.ts';

const endOne: AccountHandler<'sid'> = async (context, exchange, signedIn, { sid }) => {
  const { issuer, directory } = context;
  // One that is over already is not there any more, which is all that was asked for.
  await orRefusal(directory.endOwnSession({ issuer, sub: signedIn.account.userId, sid }));
  return sid === signedIn.session.sid
    ? redirectTo(authUrl('login', { returnTo: SECURITY_PATH }), context.cookies.clear(exchange.origin))
    : doneAt(exchange, 'session_ended');
};

const endAll: AccountHandler = async (context, exchange, signedIn) => {
  const { issuer, directory } = context;
  await directory.endAllSessions({ issuer, sub: signedIn.account.userId });
  return redirectTo(authUrl('login'), [
    ...context.cookies.clear(exchange.origin),
    noticeCookie(exchange, 'signed_out'),
  ]);
};

export const postSessionEnd = forSignedInForm(['sid'], endOne);
export const postSessionsEndAll = forSignedInForm([], endAll);
