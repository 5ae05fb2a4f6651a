/** Choosing a new password by mail. */
import type { Handler } from '../lib/context.ts';
import { RETURN_COOKIE, readShortCookie } from '../lib/cookies.ts';
import { notifyAccount, resetMail } from '../lib/mails.ts';
import { readForm } from '../lib/request-body.ts';
import { again, orInvalid, pageResponse, redirectTo, tooMany } from '../lib/responses.ts';
import { goOn } from '../lib/sessions.ts';
import { resetFinishPage, resetPage } from '../pages/mail-pages.ts';
import { authUrl, returnPath } from '../pages/paths.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';
import { deadLink, mailSent, orDeadLink } from './sign-up.ts';

export const showReset: Handler = async (context, exchange) => {
  const returnTo = returnPath(exchange.query.get('returnTo'));
  return pageResponse(context, exchange, resetPage({ returnTo }));
};

export const postReset: Handler = async (context, exchange) => {
  const { appName, origin } = exchange;
  const form = await readForm(exchange.request, ['email', 'returnTo']);
  const typed = { email: form.email.trim(), returnTo: returnPath(form.returnTo) };
  const begun = await orInvalid(context.directory.beginReset({ ...exchange.attempt, email: typed.email }));
  if (begun.outcome === 'invalid')
    return again(context, exchange, resetPage({ ...typed, emailFault: begun.message }));
  if (begun.outcome === 'limited')
    return tooMany(context, exchange, begun, (alert) => resetPage({ ...typed, alert }));
  if (begun.outcome === 'made') {
    const url = `${origin}${authUrl('reset/finish', { token: begun.token })}`;
    const lifetimeMs = begun.expiresAtMs - context.now();
    context.post(resetMail({ appName, origin }, { to: begun.email, url, lifetimeMs }));
  }
  return mailSent(context, exchange, { ...typed, back: 'reset' });
};

/** Shows a form and changes nothing: mail scanners follow links. */
export const showResetFinish: Handler = async (context, exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await context.directory.showLink({ token, purpose: 'reset' });
  if (link === null) return deadLink(context, exchange, 'reset');
  return pageResponse(
    context,
    exchange,
    resetFinishPage({ token, email: link.email, passkeys: link.passkeys }),
  );
};

export const postResetFinish: Handler = async (context, exchange) => {
  const { appName, origin, request } = exchange;
  const { directory } = context;
  const form = await readForm(request, ['token', 'username', 'password', 'removePasskeys']);
  const { token, password } = form;
  const link = await directory.showLink({ token, purpose: 'reset' });
  if (link === null) return deadLink(context, exchange, 'reset');
  const { email, name, passkeys } = link;
  const removePasskeys = form.removePasskeys !== '';
  const fault = findPasswordFault(password, { email, name, appName });
  if (fault !== null)
    return again(
      context,
      exchange,
      resetFinishPage({ token, email, passkeys, removing: removePasskeys, fault }),
    );

  const hash = await context.hasher.hash(password);
  const step = await orDeadLink(
    directory.completeReset({ ...exchange.attempt, token, hash, removePasskeys }),
  );
  if (step === null) return deadLink(context, exchange, 'reset');
  notifyAccount(context, exchange, { email }, 'password_reset');
  const returnTo = returnPath(readShortCookie(request.headers, RETURN_COOKIE, origin));
  const onward = await goOn(context, exchange, { step, returnTo });
  return onward === null
    ? redirectTo(authUrl('login', { returnTo }))
    : redirectTo(onward.location, onward.setCookies);
};
