/** The page “Sign-in and security”, and its changes: name, address, password, and the deletion of the account. */
import { requireEmailAddress } from '../../lib/email-address.ts';
import type { Exchange } from '../lib/context.ts';
import { noticeCookie, takeNotice } from '../lib/cookies.ts';
import { accountExistsMail, emailChangeMail, notifyAccount, postLink } from '../lib/mails.ts';
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
import { SECURITY_PATH } from '../pages/paths.ts';
import { type SecurityFault, securityPage } from '../pages/security-page.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';
import type { NoticeCode } from '../texts/en.ts';

export function doneAt(exchange: Exchange, notice: NoticeCode, setCookies: readonly string[] = []): Response {
  return redirectTo(SECURITY_PATH, [...setCookies, noticeCookie(exchange, notice)]);
}

async function accountPage(
  exchange: Exchange,
  { account, session, fresh }: SignedIn,
  shown: {
    readonly notice?: string | undefined;
    readonly alert?: string;
    readonly fault?: SecurityFault;
  } = {},
): Promise<PageContent> {
  const { issuer, directory } = exchange;
  const { items } = await directory.listSessions({ issuer, sub: account.userId });
  return securityPage(exchange.t, { account, sessions: items, currentSid: session.sid, fresh, ...shown });
}

const show: AccountHandler = async (exchange, signedIn) => {
  const { notice, setCookies } = takeNotice(exchange);
  return pageResponse(exchange, await accountPage(exchange, signedIn, { notice }), { setCookies });
};

const saveName: AccountHandler<'name'> = async (exchange, signedIn, { name }) => {
  const typed = name.trim();
  const renaming = { ...holderOf(exchange, signedIn), name: typed === '' ? null : typed };
  const renamed = await orInvalid(exchange, exchange.directory.renameAccount(renaming));
  if ('outcome' in renamed)
    return faulty(exchange, signedIn, { section: 'name', message: renamed.message, typed });
  return doneAt(exchange, 'name_saved');
};

const changeEmail: AccountHandler<'email'> = async (exchange, signedIn, form) => {
  const typed = form.email.trim();
  const asked = { ...exchange.attempt, ...holderOf(exchange, signedIn), email: typed };
  const begun = await orInvalid(exchange, exchange.directory.beginEmailChange(asked));
  if (begun.outcome === 'invalid')
    return faulty(exchange, signedIn, { section: 'email', message: begun.message, typed });
  if (begun.outcome === 'limited')
    return tooMany(exchange, begun, (alert) => accountPage(exchange, signedIn, { alert }));
  // The directory's spelling of the address, as in all mail to it.
  if (begun.outcome === 'known') exchange.post(accountExistsMail(exchange, requireEmailAddress(typed)));
  else postLink(exchange, 'email/finish', begun, emailChangeMail);
  // Before any change, so that the holder of a stolen session can still stop it.
  notifyAccount(exchange, signedIn.account, 'email_change_asked');
  return doneAt(exchange, 'email_sent');
};

const changePassword: AccountHandler<'username' | 'password'> = async (exchange, signedIn, { password }) => {
  const { account, session } = signedIn;
  const { email, name } = account;
  const message = findPasswordFault(
    password,
    { email, name, appName: exchange.appName },
    exchange.t.newPassword,
  );
  if (message !== null) return faulty(exchange, signedIn, { section: 'password', message });

  const hash = await exchange.hasher.hash(password);
  const changed = await exchange.directory.setPassword({ ...holderOf(exchange, signedIn), hash });
  notifyAccount(exchange, account, 'password_changed');
  const { authTimeMs } = session;
  const renewed = { account, atMs: changed.sessionAtMs, authTimeMs };
  return doneAt(exchange, 'password_changed', await beginSession(exchange, renewed));
};

const deleteAccount: AccountHandler<'email'> = async (exchange, signedIn, form) => {
  const { account } = signedIn;
  const typed = form.email.trim();
  if (typed.toLowerCase() !== account.email) {
    const message = exchange.t.security.notYours;
    return faulty(exchange, signedIn, { section: 'delete', message, typed });
  }
  const deleted = await orRefusal(exchange, exchange.directory.deleteAccount(holderOf(exchange, signedIn)));
  if (deleted !== null) return conflicting(exchange, signedIn, deleted.refusal);
  notifyAccount(exchange, account, 'account_deleted');
  const page = messagePage(exchange.t, {
    heading: exchange.t.security.deleted,
    sentences: [exchange.t.security.deletedWhat],
    next: { label: exchange.t.frame.goBack, url: exchange.theme.homeUrl },
  });
  return pageResponse(exchange, page, { setCookies: exchange.cookies.clear(exchange.origin) });
};

export const showSecurity = forSignedIn(show);
export const postName = forSignedInForm(['name'], saveName);
export const postEmail = forFreshlySignedInForm(['email'], changeEmail);
export const postPassword = forFreshlySignedInForm(['username', 'password'], changePassword);
export const postDelete = forFreshlySignedInForm(['email'], deleteAccount);

async function faulty(exchange: Exchange, signedIn: SignedIn, fault: SecurityFault): Promise<Response> {
  return again(exchange, await accountPage(exchange, signedIn, { fault }));
}

/** Returns the account page with a sentence about the refusal. */
export async function conflicting(
  exchange: Exchange,
  signedIn: SignedIn,
  sentence: string,
): Promise<Response> {
  return again(exchange, await accountPage(exchange, signedIn, { alert: sentence }));
}
