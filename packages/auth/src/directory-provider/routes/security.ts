/** The account page, and what is changed on it: name, address and password. */
import { requireEmailAddress } from '../../accounts/email-address.ts';
import type { Exchange, ProviderContext } from '../context.ts';
import { again, orInvalid, tooMany } from '../form-answers.ts';
import { accountExistsMail, emailChangeMail, noticeMail } from '../mails.ts';
import { findNotice, type NoticeCode } from '../notices.ts';
import type { PageContent } from '../pages/layout.ts';
import { type SecurityFault, securityPage } from '../pages/security-page.ts';
import { findPasswordFault } from '../passwords/password-rules.ts';
import { readForm } from '../request-body.ts';
import { pageResponse, redirectTo } from '../responses.ts';
import { authUrl } from '../return-path.ts';
import { beginSessionAfterAllEnded } from '../sign-in.ts';
import { type AccountHandler, forFreshlySignedIn, forSignedIn, type SignedIn } from '../signed-in.ts';

/** Back to the account page, which says what was done. */
export function doneAt(notice: NoticeCode, setCookies: readonly string[] = []): Response {
  return redirectTo(authUrl('security', { done: notice }), setCookies);
}

/** The account page of somebody, with what went wrong if something did. */
export async function accountPage(
  context: ProviderContext,
  { account, session, fresh }: SignedIn,
  said: {
    readonly notice?: string | undefined;
    readonly alert?: string;
    readonly fault?: SecurityFault;
  } = {},
): Promise<PageContent> {
  const { issuer, directory } = context;
  const { items } = await directory.listSessions({ issuer, sub: account.userId });
  return securityPage({ account, sessions: items, currentSid: session.sid, fresh, ...said });
}

const show: AccountHandler = async (context, exchange, signedIn) => {
  const notice = findNotice(exchange.query.get('done'));
  return pageResponse(context, exchange, await accountPage(context, signedIn, { notice }));
};

const saveName: AccountHandler = async (context, exchange, signedIn) => {
  const { name } = await readForm(exchange.request, ['name']);
  const { userId } = signedIn.account;
  const typed = name.trim();
  const renamed = await orInvalid(
    context.directory.renameAccount({ scopeId: context.scopeId, userId, name: typed === '' ? null : typed }),
  );
  if ('outcome' in renamed)
    return faulty(context, exchange, signedIn, { section: 'name', message: renamed.message, typed });
  return doneAt('name_saved');
};

const changeEmail: AccountHandler = async (context, exchange, signedIn) => {
  const { appName, origin } = exchange;
  const typed = (await readForm(exchange.request, ['email'])).email.trim();
  const { userId } = signedIn.account;
  const begun = await orInvalid(
    context.directory.beginEmailChange({ ...exchange.attempt, userId, email: typed }),
  );
  if (begun.outcome === 'invalid')
    return faulty(context, exchange, signedIn, { section: 'email', message: begun.message, typed });
  if (begun.outcome === 'limited')
    return tooMany(context, exchange, begun, (alert) => accountPage(context, signedIn, { alert }));
  // The directory's spelling of the address, as for everything else that is sent to it.
  if (begun.outcome === 'known')
    context.post(accountExistsMail({ appName, origin }, requireEmailAddress(typed)));
  else {
    const url = `${origin}${authUrl('email/finish', { token: begun.token })}`;
    const lifetimeMs = begun.expiresAtMs - context.now();
    context.post(emailChangeMail({ appName, origin }, { to: begun.email, url, lifetimeMs }));
  }
  return doneAt('email_sent');
};

const changePassword: AccountHandler = async (context, exchange, signedIn) => {
  const { appName, origin } = exchange;
  const { account, session } = signedIn;
  const { userId, email, name } = account;
  const { password } = await readForm(exchange.request, ['username', 'password']);
  const message = findPasswordFault(password, { email, name, appName });
  if (message !== null) return faulty(context, exchange, signedIn, { section: 'password', message });

  const hash = await context.hasher.hash(password);
  await context.directory.setPassword({ scopeId: context.scopeId, userId, hash });
  context.post(noticeMail({ appName, origin }, email, 'password_changed'));
  const { authTimeMs } = session;
  return doneAt(
    'password_changed',
    await beginSessionAfterAllEnded(context, exchange, { account, authTimeMs }),
  );
};

export const showSecurity = forSignedIn(show);
export const postName = forSignedIn(saveName);
export const postEmail = forFreshlySignedIn(changeEmail);
export const postPassword = forFreshlySignedIn(changePassword);

async function faulty(
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
  fault: SecurityFault,
): Promise<Response> {
  return again(context, exchange, await accountPage(context, signedIn, { fault }));
}
