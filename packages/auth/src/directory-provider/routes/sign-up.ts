/** Signing up: first an address, then a credential by the link that is sent to it. */
import { PlatformError } from '@freehold/contracts';
import type { NewCredential } from '../../accounts/contract.ts';
import type { Exchange, Handler } from '../lib/context.ts';
import { RETURN_COOKIE, readShortCookie, setShortCookie } from '../lib/cookies.ts';
import { accountExistsMail, postLink, signUpMail } from '../lib/mails.ts';
import { readForm } from '../lib/request-body.ts';
import { again, orInvalid, pageResponse, redirectTo, tooMany } from '../lib/responses.ts';
import { goOn, type Onward } from '../lib/sessions.ts';
import { messagePage } from '../pages/layout.ts';
import { deadLinkPage, mailSentPage, signUpFinishPage, signUpPage } from '../pages/mail-pages.ts';
import { returnPath } from '../pages/paths.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';

export const showSignUp: Handler = async (exchange) => {
  if (exchange.signUp === 'closed') return closed(exchange);
  const returnTo = returnPath(exchange.query.get('returnTo'));
  return pageResponse(exchange, signUpPage(exchange.t, { appName: exchange.appName, returnTo }));
};

export const postSignUp: Handler = async (exchange) => {
  if (exchange.signUp === 'closed') return closed(exchange);
  const { appName } = exchange;
  const form = await readForm(exchange.request, ['email', 'name', 'returnTo']);
  const [email, name] = [form.email.trim(), form.name.trim()];
  const typed = { appName, email, name, returnTo: returnPath(form.returnTo) };

  const asked = { ...exchange.attempt, email, ...(name === '' ? {} : { name }) };
  const begun = await orInvalid(exchange, exchange.directory.beginSignUp(asked));
  if (begun.outcome === 'invalid') {
    const fault = begun.field === 'name' ? { nameFault: begun.message } : { emailFault: begun.message };
    return again(exchange, signUpPage(exchange.t, { ...typed, ...fault }));
  }
  if (begun.outcome === 'limited')
    return tooMany(exchange, begun, (alert) => signUpPage(exchange.t, { ...typed, alert }));
  if (begun.outcome === 'known') exchange.post(accountExistsMail(exchange, begun.account.email));
  else postLink(exchange, 'sign-up/finish', begun, signUpMail);
  return mailSent(exchange, { ...typed, back: 'sign-up' });
};

/** Shows a form and changes nothing: mail scanners follow links. */
export const showSignUpFinish: Handler = async (exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await exchange.directory.showLink({ token, purpose: 'sign_up' });
  if (link === null) return deadLink(exchange, 'sign-up');
  return pageResponse(
    exchange,
    signUpFinishPage(exchange.t, { email: link.email, name: link.name, token, appName: exchange.appName }),
  );
};

export const postSignUpFinish: Handler = async (exchange) => {
  const { appName } = exchange;
  const form = await readForm(exchange.request, ['token', 'name', 'username', 'password']);
  const { token, password } = form;
  // Checked before the costly hash, for a sender without a link.
  const link = await exchange.directory.showLink({ token, purpose: 'sign_up' });
  if (link === null) return deadLink(exchange, 'sign-up');
  const name = form.name.trim();
  const page = (fault: { readonly fault?: string; readonly nameFault?: string }) =>
    signUpFinishPage(exchange.t, { token, email: link.email, appName, name, ...fault });
  const fault = findPasswordFault(password, { email: link.email, name, appName }, exchange.t.newPassword);
  if (fault !== null) return again(exchange, page({ fault }));

  const credential: NewCredential = { kind: 'password', hash: await exchange.hasher.hash(password) };
  const done = await orInvalid(exchange, orDeadLink(finishSignUp(exchange, { token, name, credential })));
  if (done === null) return deadLink(exchange, 'sign-up');
  if ('outcome' in done) return again(exchange, page({ nameFault: done.message }));
  return redirectTo(done.location, done.setCookies);
};

/** Makes the account and signs in. @throws PlatformError as `completeSignUp` does. */
export async function finishSignUp(
  exchange: Exchange,
  input: { readonly token: string; readonly name?: string; readonly credential: NewCredential },
): Promise<Onward> {
  const step = await exchange.directory.completeSignUp({ scopeId: exchange.scopeId, ...input });
  const { headers } = exchange.request;
  const returnTo = returnPath(readShortCookie(headers, RETURN_COOKIE, exchange.origin));
  const onward = await goOn(exchange, { step, returnTo });
  if (onward === null) throw new TypeError('A new account is signed in at once.');
  return onward;
}

/** Answers every request for a mail, whether one was sent or not. */
export function mailSent(
  exchange: Exchange,
  sent: { readonly email: string; readonly returnTo: string | null; readonly back: string },
): Response {
  const { returnTo } = sent;
  const setCookies = returnTo === null ? [] : [setShortCookie(RETURN_COOKIE, exchange.origin, returnTo)];
  return pageResponse(exchange, mailSentPage(exchange.t, sent), { setCookies });
}

/** Returns null for a link that was used, retired or expired meanwhile, or whose address has an account by now. */
export async function orDeadLink<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    const reason = error instanceof PlatformError ? error.reason : undefined;
    if (reason?.startsWith('link_') || reason === 'account_exists') return null;
    throw error;
  }
}

export function deadLink(exchange: Exchange, askAgain: string): Response {
  return pageResponse(exchange, deadLinkPage(exchange.t, { askAgain }), { status: 410 });
}

/** Refuses sign-up. A link that the directory made otherwise, such as an operator's, still works. */
function closed(exchange: Exchange): Response {
  const page = messagePage(exchange.t, {
    heading: exchange.t.signUp.closed,
    sentences: [exchange.t.signUp.closedWhat],
    failed: true,
  });
  return pageResponse(exchange, page, { status: 403 });
}
