/** The page “Sign-in and security”, and its changes: name, address, password, and the deletion of the account. */
import { requireEmailAddress } from '../../lib/email-address.ts';
import type { Exchange, ProviderContext } from '../lib/context.ts';
import { type NoticeCode, noticeCookie, takeNotice } from '../lib/cookies.ts';
import { accountExistsMail, emailChangeMail, notifyAccount } from '../lib/mails.ts';
import { again, orInvalid, orRefusal, pageResponse, redirectTo, tooMany } from '../lib/responses.ts';
import {
  type AccountHandler,
  beginSession,
  forFreshlySignedInForm,
  forSignedIn,
  forSignedInForm,
  holderOf,
  type SignedIn,
} from '../lib/sessions.ts';
import type { PageContent } from '../pages/layout.ts';
import { messagePage } from '../pages/layout.ts';
import { authUrl, SECURITY_PATH } from '../pages/paths.ts';
import { type SecurityFault, securityPage } from '../pages/security-page.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';

export function doneAt(exchange: Exchange, notice: NoticeCode, setCookies: readonly string[] = []): Response {
  return redirectTo(SECURITY_PATH, [...setCookies, noticeCookie(exchange, notice)]);
}

async function accountPage(
  context: ProviderContext,
  { account, session, fresh }: SignedIn,
  shown: {
    readonly notice?: string | undefined;
    readonly alert?: string;
    readonly fault?: SecurityFault;
  } = {},
): Promise<PageContent> {
  const { issuer, directory } = context;
  const { items } = await directory.listSessions({ issuer, sub: account.userId });
  return securityPage({ account, sessions: items, currentSid: session.sid, fresh, ...shown });
}

const show: AccountHandler = async (context, exchange, signedIn) => {
  const { notice, setCookies } = takeNotice(exchange);
  return pageResponse(context, exchange, await accountPage(context, signedIn, { notice }), { setCookies });
};

const saveName: AccountHandler<'name'> = async (context, exchange, signedIn, { name }) => {
  const typed = name.trim();
  const renaming = { ...holderOf(context, signedIn), name: typed === '' ? null : typed };
  const renamed = await orInvalid(context.directory.renameAccount(renaming));
  if ('outcome' in renamed)
    return faulty(context, exchange, signedIn, { section: 'name', message: renamed.message, typed });
  return doneAt(exchange, 'name_saved');
};

const changeEmail: AccountHandler<'email'> = async (context, exchange, signedIn, form) => {
  const { appName, origin } = exchange;
  const typed = form.email.trim();
  const asked = { ...exchange.attempt, ...holderOf(context, signedIn), email: typed };
  const begun = await orInvalid(context.directory.beginEmailChange(asked));
  if (begun.outcome === 'invalid')
    return faulty(context, exchange, signedIn, { section: 'email', message: begun.message, typed });
  if (begun.outcome === 'limited')
    return tooMany(context, exchange, begun, (alert) => accountPage(context, signedIn, { alert }));
  // The directory's spelling of the address, as in all mail to it.
  if (begun.outcome === 'known')
    context.post(accountExistsMail({ appName, origin }, requireEmailAddress(typed)));
  else {
    const url = `${origin}${authUrl('email/finish', { token: begun.token })}`;
    const lifetimeMs = begun.expiresAtMs - context.now();
    context.post(emailChangeMail({ appName, origin }, { to: begun.email, url, lifetimeMs }));
  }
  // Before any change, so that the holder of a stolen session can still stop it.
  notifyAccount(context, exchange, signedIn.account, 'email_change_asked');
  return doneAt(exchange, 'email_sent');
};

const changePassword: AccountHandler<'username' | 'password'> = async (
  context,
  exchange,
  signedIn,
  { password },
) => {
  const { account, session } = signedIn;
  const { email, name } = account;
  const message = findPasswordFault(password, { email, name, appName: exchange.appName });
  if (message !== null) return faulty(context, exchange, signedIn, { section: 'password', message });

  const hash = await context.hasher.hash(password);
  const changed = await context.directory.setPassword({ ...holderOf(context, signedIn), hash });
  notifyAccount(context, exchange, account, 'password_changed');
  const { authTimeMs } = session;
  const renewed = { account, atMs: changed.sessionAtMs, authTimeMs };
  return doneAt(exchange, 'password_changed', await beginSession(context, exchange, renewed));
};

const deleteAccount: AccountHandler<'email'> = async (context, exchange, signedIn, form) => {
  const { account } = signedIn;
  const typed = form.email.trim();
  if (typed.toLowerCase() !== account.email) {
    const message = 'This is not the address of your account.';
    return faulty(context, exchange, signedIn, { section: 'delete', message, typed });
  }
  const deleted = await orRefusal(context.directory.deleteAccount(holderOf(context, signedIn)));
  if (deleted !== null) return conflicting(context, exchange, signedIn, deleted.refusal);
  notifyAccount(context, exchange, account, 'account_deleted');
  const page = messagePage({
    heading: 'Your account was deleted',
    sentences: ['It can no longer be used to sign in, and its sessions are over.'],
    next: { label: 'Go back', url: context.theme.homeUrl },
  });
  return pageResponse(context, exchange, page, { setCookies: context.cookies.clear(exchange.origin) });
};

export const showSecurity = forSignedIn(show);
export const postName = forSignedInForm(['name'], saveName);
export const postEmail = forFreshlySignedInForm(['email'], changeEmail);
export const postPassword = forFreshlySignedInForm(['username', 'password'], changePassword);
export const postDelete = forFreshlySignedInForm(['email'], deleteAccount);

async function faulty(
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
  fault: SecurityFault,
): Promise<Response> {
  return again(context, exchange, await accountPage(context, signedIn, { fault }));
}

/** Returns the account page with a sentence about the refusal. */
export async function conflicting(
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
  sentence: string,
): Promise<Response> {
  return again(context, exchange, await accountPage(context, signedIn, { alert: sentence }));
}
