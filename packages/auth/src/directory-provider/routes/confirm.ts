/** Proving once more who one is, before changing how one signs in. */
import { again, tooMany } from '../form-answers.ts';
import { confirmPage } from '../pages/sign-in-pages.ts';
import { pageResponse, redirectTo } from '../lib/responses.ts';
import { returnPath, SECURITY_PATH } from '../pages/paths.ts';
import { goOn } from '../sign-in.ts';
import { type AccountHandler, forSignedIn, forSignedInForm, holderOf, type SignedIn } from '../lib/sessions.ts';
import { judgePassword } from './login.ts';

const show: AccountHandler = async (context, exchange, signedIn) => {
  const returnTo = returnPath(exchange.query.get('returnTo')) ?? SECURITY_PATH;
  return pageResponse(context, exchange, pageOf(signedIn, returnTo));
};

const FIELDS = ['password', 'username', 'returnTo'] as const;

const post: AccountHandler<(typeof FIELDS)[number]> = async (context, exchange, signedIn, form) => {
  const { directory } = context;
  const returnTo = returnPath(form.returnTo) ?? SECURITY_PATH;
  const page = (fault: string) => pageOf(signedIn, returnTo, fault);
  const holder = holderOf(context, signedIn);
  if (form.password === '') return again(context, exchange, page('Type your password.'));

  const attempt = { ...exchange.attempt, ...holder, email: signedIn.account.email };
  const step = await judgePassword(context, form.password, {
    begin: () => directory.beginConfirm(attempt),
    finish: (verdict) => directory.finishPassword({ ...attempt, ...verdict }),
  });
  if (step.outcome === 'limited') return tooMany(context, exchange, step, page);
  // With a second factor this is only the first half: a session from before there was one proves nothing of it.
  const onward = await goOn(context, exchange, { step, returnTo });
  if (onward === null) return again(context, exchange, page('This is not your password.'));
  return redirectTo(onward.location, onward.setCookies);
};

export const showConfirm = forSignedIn(show);
export const postConfirm = forSignedInForm(FIELDS, post);

function pageOf({ account }: SignedIn, returnTo: string, fault?: string) {
  return confirmPage({
    email: account.email,
    returnTo,
    hasPassword: account.passwordChangedMs !== null,
    hasPasskeys: account.passkeys.length > 0,
    ...(fault === undefined ? {} : { fault }),
  });
}
