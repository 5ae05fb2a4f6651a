/** Proving once more who one is, before changing how one signs in. */
import { again, tooMany } from '../form-answers.ts';
import { confirmPage } from '../pages/sign-in-pages.ts';
import { readForm } from '../request-body.ts';
import { pageResponse, redirectTo } from '../responses.ts';
import { returnPath, SECURITY_PATH } from '../return-path.ts';
import { goOn } from '../sign-in.ts';
import { type AccountHandler, forSignedIn, type SignedIn } from '../signed-in.ts';
import { judgePassword } from './login.ts';

const show: AccountHandler = async (context, exchange, signedIn) => {
  const returnTo = returnPath(exchange.query.get('returnTo')) ?? SECURITY_PATH;
  return pageResponse(context, exchange, pageOf(signedIn, returnTo));
};

const post: AccountHandler = async (context, exchange, signedIn) => {
  const { directory } = context;
  const form = await readForm(exchange.request, ['password', 'username', 'returnTo']);
  const returnTo = returnPath(form.returnTo) ?? SECURITY_PATH;
  const page = (fault: string) => pageOf(signedIn, returnTo, fault);
  const { userId, email } = signedIn.account;

  const startedMs = context.now();
  const begun = await directory.beginConfirm({ ...exchange.attempt, userId });
  if (begun.outcome === 'limited') return tooMany(context, exchange, begun, page);
  const verdict = await judgePassword(context, form.password, begun.hash);
  const judged = { ...exchange.attempt, email, userId, judgedHash: begun.hash, confirm: true };
  const step = await directory.finishPassword({ ...judged, ...verdict });
  const onward = await goOn(context, exchange, { step, startedMs, returnTo });
  if (onward === null) return again(context, exchange, page('This is not your password.'));
  return redirectTo(onward.location, onward.setCookies);
};

export const showConfirm = forSignedIn(show);
export const postConfirm = forSignedIn(post);

function pageOf({ account }: SignedIn, returnTo: string, fault?: string) {
  return confirmPage({
    email: account.email,
    returnTo,
    hasPassword: account.passwordChangedMs !== null,
    hasPasskeys: account.passkeys.length > 0,
    ...(fault === undefined ? {} : { fault }),
  });
}
