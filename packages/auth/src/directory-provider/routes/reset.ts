/** Choosing a new password by mail. */
import type { Handler } from '../lib/context.ts';
import { RETURN_COOKIE, readShortCookie } from '../lib/cookies.ts';
import { notifyAccount, postLink, resetMail } from '../lib/mails.ts';
import { readForm } from '../lib/request-body.ts';
import { again, orInvalid, pageResponse, redirectTo, tooMany } from '../lib/responses.ts';
import { goOn } from '../lib/sessions.ts';
import { resetFinishPage, resetPage } from '../pages/mail-pages.ts';
import { authUrl, returnPath } from '../pages/paths.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';
import { deadLink, mailSent, orDeadLink } from './sign-up.ts';

export const showReset: Handler = async (exchange) => {
  const returnTo = returnPath(exchange.query.get('returnTo'));
  return pageResponse(exchange, resetPage(exchange.t, { returnTo }));
};

export const postReset: Handler = async (exchange) => {
  const form = await readForm(exchange.request, ['email', 'returnTo']);
  const typed = { email: form.email.trim(), returnTo: returnPath(form.returnTo) };
  const begun = await orInvalid(
    exchange,
    exchange.directory.beginReset({ ...exchange.attempt, email: typed.email }),
  );
  if (begun.outcome === 'invalid')
    return again(exchange, resetPage(exchange.t, { ...typed, emailFault: begun.message }));
  if (begun.outcome === 'limited')
    return tooMany(exchange, begun, (alert) => resetPage(exchange.t, { ...typed, alert }));
  if (begun.outcome === 'made') postLink(exchange, 'reset/finish', begun, resetMail);
  return mailSent(exchange, { ...typed, back: 'reset' });
};

/** Shows a form and changes nothing: mail scanners follow links. */
export const showResetFinish: Handler = async (exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await exchange.directory.showLink({ token, purpose: 'reset' });
  if (link === null) return deadLink(exchange, 'reset');
  return pageResponse(
    exchange,
    resetFinishPage(exchange.t, { token, email: link.email, passkeys: link.passkeys }),
  );
};

export const postResetFinish: Handler = async (exchange) => {
  const { appName, origin, request, directory } = exchange;
  const form = await readForm(request, ['token', 'username', 'password', 'removePasskeys']);
  const { token, password } = form;
  const link = await directory.showLink({ token, purpose: 'reset' });
  if (link === null) return deadLink(exchange, 'reset');
  const { email, name, passkeys } = link;
  const removePasskeys = form.removePasskeys !== '';
  const fault = findPasswordFault(password, { email, name, appName }, exchange.t.newPassword);
  if (fault !== null)
    return again(
      exchange,
      resetFinishPage(exchange.t, { token, email, passkeys, removing: removePasskeys, fault }),
    );

  const hash = await exchange.hasher.hash(password);
  const step = await orDeadLink(
    directory.completeReset({ ...exchange.attempt, token, hash, removePasskeys }),
  );
  if (step === null) return deadLink(exchange, 'reset');
  notifyAccount(exchange, { email }, 'password_reset');
  const returnTo = returnPath(readShortCookie(request.headers, RETURN_COOKIE, origin));
  const onward = await goOn(exchange, { step, returnTo });
  return onward === null
    ? redirectTo(authUrl('login', { returnTo }))
    : redirectTo(onward.location, onward.setCookies);
};
