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
const show: AccountHandler = async (exchange, signedIn) => {
  const token = exchange.query.get('token') ?? '';
  const link = await exchange.directory.showLink({ token, purpose: 'email_change' });
  // Another account's: its reader may have the mailbox of an address that the account's holder mistyped.
  if (link === null || link.userId !== signedIn.account.userId) return deadLink(exchange, 'security');
  const former = signedIn.account.email;
  return pageResponse(exchange, emailFinishPage(exchange.t, { token, email: link.email, former }));
};

const finish: AccountHandler<'token'> = async (exchange, signedIn, { token }) => {
  const moving = exchange.directory.completeEmailChange({ ...holderOf(exchange, signedIn), token });
  const done = await orDeadLink(moving);
  if (done === null) return deadLink(exchange, 'security');
  const { formerEmail: to, revert } = done;
  const way = revert && {
    url: `${exchange.origin}${authUrl('email/revert', { token: revert.token })}`,
    lifetimeMs: revert.expiresAtMs - exchange.now(),
  };
  exchange.post(emailChangedMail(exchange, { to, way }));
  return doneAt(exchange, 'email_changed');
};

export const showEmailFinish = forSignedIn(requireFresh(show, thisLink), thisLink);
export const postEmailFinish = forFreshlySignedInForm(['token'], finish);

/** Needs no session: the holder of a stolen account cannot sign in. */
export const showEmailRevert: Handler = async (exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await exchange.directory.showLink({ token, purpose: 'email_revert' });
  if (link === null) return deadLink(exchange, 'reset');
  return pageResponse(exchange, emailRevertPage(exchange.t, { token, email: link.email }));
};

export const postEmailRevert: Handler = async (exchange) => {
  const { token } = await readForm(exchange.request, ['token']);
  const reverting = exchange.directory.revertEmailChange({ scopeId: exchange.scopeId, token });
  if ((await orDeadLink(reverting)) === null) return deadLink(exchange, 'reset');
  const page = messagePage(exchange.t, {
    heading: exchange.t.emailRevert.done,
    sentences: [exchange.t.emailRevert.doneWhat],
    next: { label: exchange.t.emailRevert.next, url: authUrl('reset') },
  });
  return pageResponse(exchange, page, { setCookies: exchange.cookies.clear(exchange.origin) });
};
