/** The links of a change of address: the one to the new address, and the one to the former that reverts the change. */
import type { Exchange, Handler } from '../lib/context.ts';
import { emailChangedMail } from '../lib/mails.ts';
import { readForm } from '../lib/request-body.ts';
import { pageResponse } from '../lib/responses.ts';
import {
  type AccountHandler,
  forFreshlySignedInForm,
  forSignedIn,
  holderOf,
  requireFresh,
} from '../lib/sessions.ts';
import { messagePage } from '../pages/layout.ts';
import { emailFinishPage, emailRevertPage } from '../pages/mail-pages.ts';
import { authUrl, returnPath, SECURITY_PATH } from '../pages/paths.ts';
import { doneAt } from './security.ts';
import { deadLink, orDeadLink } from './sign-up.ts';

/** Returns to the link after the user has proved their identity. */
function thisLink({ query }: Exchange): string {
  return returnPath(authUrl('email/finish', { token: query.get('token') })) ?? SECURITY_PATH;
}

/** Shows a form and changes nothing: mail scanners follow links. */
const show: AccountHandler = async (context, exchange, signedIn) => {
  const token = exchange.query.get('token') ?? '';
  const link = await context.directory.showLink({ token, purpose: 'email_change' });
  // Another account's: its reader may have the mailbox of an address that the account's holder mistyped.
  if (link === null || link.userId !== signedIn.account.userId)
    return deadLink(context, exchange, 'security');
  const former = signedIn.account.email;
  return pageResponse(context, exchange, emailFinishPage({ token, email: link.email, former }));
};

const finish: AccountHandler<'token'> = async (context, exchange, signedIn, { token }) => {
  const { appName, origin } = exchange;
  const moving = context.directory.completeEmailChange({ ...holderOf(context, signedIn), token });
  const done = await orDeadLink(moving);
  if (done === null) return deadLink(context, exchange, 'security');
  const { formerEmail: to, revert } = done;
  const way = revert && {
    url: `${origin}${authUrl('email/revert', { token: revert.token })}`,
    lifetimeMs: revert.expiresAtMs - context.now(),
  };
  context.post(emailChangedMail({ appName, origin }, { to, way }));
  return doneAt(exchange, 'email_changed');
};

export const showEmailFinish = forSignedIn(requireFresh(show, thisLink), thisLink);
export const postEmailFinish = forFreshlySignedInForm(['token'], finish);

/** Needs no session: the holder of a stolen account cannot sign in. */
export const showEmailRevert: Handler = async (context, exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await context.directory.showLink({ token, purpose: 'email_revert' });
  if (link === null) return deadLink(context, exchange, 'reset');
  return pageResponse(context, exchange, emailRevertPage({ token, email: link.email }));
};

export const postEmailRevert: Handler = async (context, exchange) => {
  const { token } = await readForm(exchange.request, ['token']);
  const reverting = context.directory.revertEmailChange({ scopeId: context.scopeId, token });
  if ((await orDeadLink(reverting)) === null) return deadLink(context, exchange, 'reset');
  const page = messagePage({
    heading: 'Your account has its former address again',
    sentences: [
      'All its sessions were ended. Choose a new password now, and remove passkeys that you do not know.',
    ],
    next: { label: 'Choose a new password', url: authUrl('reset') },
  });
  return pageResponse(context, exchange, page, { setCookies: context.cookies.clear(exchange.origin) });
};
