/** Signing in with a password. */
import type { Handler, ProviderContext } from '../context.ts';
import { again, orInvalid, tooMany } from '../form-answers.ts';
import { findNotice } from '../notices.ts';
import { loginPage } from '../pages/sign-in-pages.ts';
import { readForm } from '../request-body.ts';
import { pageResponse, redirectTo } from '../responses.ts';
import { returnPath } from '../return-path.ts';
import { goOn } from '../sign-in.ts';

/** The same for an address without an account, an account without a password, and a wrong password. */
const REFUSED = 'This e-mail address and password do not go together.';

export const showLogin: Handler = async (context, exchange) => {
  const { query, appName } = exchange;
  const page = loginPage({
    appName,
    signUpOpen: context.signUp === 'open',
    returnTo: returnPath(query.get('returnTo')),
    notice: findNotice(query.get('notice')),
  });
  return pageResponse(context, exchange, page);
};

export const postLogin: Handler = async (context, exchange) => {
  const { directory } = context;
  const form = await readForm(exchange.request, ['email', 'password', 'returnTo']);
  const returnTo = returnPath(form.returnTo);
  const email = form.email.trim();
  const page = (alert: string) =>
    loginPage({ appName: exchange.appName, signUpOpen: context.signUp === 'open', returnTo, email, alert });

  const startedMs = context.now();
  const attempt = { ...exchange.attempt, email };
  const begun = await orInvalid(directory.beginPassword(attempt));
  if (begun.outcome === 'invalid') return again(context, exchange, page(REFUSED));
  if (begun.outcome === 'limited') return tooMany(context, exchange, begun, page);
  const { userId, hash: judgedHash } = begun;
  const verdict = await judgePassword(context, form.password, judgedHash);
  const step = await directory.finishPassword({ ...attempt, userId, judgedHash, ...verdict });
  const onward = await goOn(context, exchange, { step, startedMs, returnTo });
  if (onward === null) return again(context, exchange, page(REFUSED));
  return redirectTo(onward.location, onward.setCookies);
};

/** Compares a password with a stored hash, at the same cost when there is none, and renews a hash that is out of date. */
export async function judgePassword(
  context: Pick<ProviderContext, 'hasher' | 'report'>,
  password: string,
  stored: string | null,
): Promise<{ readonly right: boolean; readonly rehash?: string }> {
  const { right, outdated, unreadable } = await context.hasher.verify(password, stored);
  if (unreadable) context.report(new Error('The stored hash of a password cannot be computed here.'));
  // An account without a password is not entered with any, whatever the hasher makes of it.
  if (!right || stored === null) return { right: false };
  return outdated ? { right, rehash: await context.hasher.hash(password) } : { right };
}
