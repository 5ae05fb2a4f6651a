/** Ending one's own sessions: one of them, or all. */
import { orRefusal } from '../form-answers.ts';
import { readForm } from '../request-body.ts';
import { redirectTo } from '../responses.ts';
import { authUrl, SECURITY_PATH } from '../return-path.ts';
import { type AccountHandler, forSignedIn } from '../signed-in.ts';
import { doneAt } from './security.ts';

const endOne: AccountHandler = async (context, exchange, signedIn) => {
  const { sid } = await readForm(exchange.request, ['sid']);
  const { issuer, directory } = context;
  // One that is over already is not there any more, which is all that was asked for.
  await orRefusal(directory.endOwnSession({ issuer, sub: signedIn.account.userId, sid }));
  return sid === signedIn.session.sid
    ? redirectTo(authUrl('login', { returnTo: SECURITY_PATH }), context.cookies.clear(exchange.origin))
    : doneAt('session_ended');
};

const endAll: AccountHandler = async (context, exchange, signedIn) => {
  await readForm(exchange.request, []);
  const { issuer, directory } = context;
  // This one too, also when it was issued a moment ahead of the clock.
  const nowMs = Math.max(context.now(), signedIn.session.issuedAtMs);
  await directory.endAllSessions({ issuer, sub: signedIn.account.userId, nowMs });
  return redirectTo(authUrl('login', { notice: 'signed_out' }), context.cookies.clear(exchange.origin));
};

export const postSessionEnd = forSignedIn(endOne);
export const postSessionsEndAll = forSignedIn(endAll);
