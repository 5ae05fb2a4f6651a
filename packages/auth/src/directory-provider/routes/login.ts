/** Signing in with a password. */
import type { PasswordToJudge } from '../../accounts/contract.ts';
import type { AccountDirectory, Handler, ProviderContext } from '../lib/context.ts';
import { again, orInvalid, tooMany } from '../form-answers.ts';
import { takeNotice } from '../notices.ts';
import { loginPage } from '../pages/sign-in-pages.ts';
import { readForm } from '../lib/request-body.ts';
import { pageResponse, redirectTo } from '../lib/responses.ts';
import { returnPath } from '../pages/paths.ts';
import { goOn } from '../sign-in.ts';

/** The same for an address without an account, an account without a password, and a wrong password. */
const REFUSED = 'This e-mail address and password do not go together.';

export const showLogin: Handler = async (context, exchange) => {
  const { query, appName } = exchange;
  const { notice, setCookies } = takeNotice(exchange);
  const page = loginPage({
    appName,
    signUpOpen: context.signUp === 'open',
    returnTo: returnPath(query.get('returnTo')),
    notice,
  });
  return pageResponse(context, exchange, page, { setCookies });
};

export const postLogin: Handler = async (context, exchange) => {
  const { directory } = context;
  const form = await readForm(exchange.request, ['email', 'password', 'returnTo']);
  const returnTo = returnPath(form.returnTo);
  const email = form.email.trim();
  const page = (alert: string) =>
    loginPage({ appName: exchange.appName, signUpOpen: context.signUp === 'open', returnTo, email, alert });

  // Nobody has that one, and nobody is to be locked out by sending a form too early.
  if (form.password === '') return again(context, exchange, page(REFUSED));
  const attempt = { ...exchange.attempt, email };
  const step = await judgePassword(context, form.password, {
    begin: () => orInvalid(directory.beginPassword(attempt)),
    finish: (verdict) => directory.finishPassword({ ...attempt, ...verdict }),
  });
  if (step.outcome === 'invalid') return again(context, exchange, page(REFUSED));
  if (step.outcome === 'limited') return tooMany(context, exchange, step, page);
  const onward = await goOn(context, exchange, { step, returnTo });
  if (onward === null) return again(context, exchange, page(REFUSED));
  return redirectTo(onward.location, onward.setCookies);
};

/** What the directory is told of a comparison. */
type Verdict = Pick<
  Parameters<AccountDirectory['finishPassword']>[0],
  'userId' | 'passwordChangedMs' | 'right' | 'rehash'
>;

/**
 * Judges a password between the two halves of an attempt, at the same cost when there is nothing to compare with, and
 * renews a hash that is out of date. The attempt begins when the hasher has a place for it: one that is sent away for
 * want of a place was not counted, and one that is right does not fail for want of another.
 */
export async function judgePassword<Begun extends { readonly outcome: string }, Finished>(
  { hasher, report }: Pick<ProviderContext, 'hasher' | 'report'>,
  password: string,
  attempt: {
    readonly begin: () => Promise<PasswordToJudge | Begun>;
    readonly finish: (verdict: Verdict) => Promise<Finished>;
  },
): Promise<Exclude<Begun, PasswordToJudge> | Finished> {
  const judged = await (hasher.inTurn ?? ((work) => work(hasher)))(async (turn) => {
    const begun = await attempt.begin();
    if (!isToJudge(begun)) return { begun };
    const { userId, hash, passwordChangedMs } = begun;
    const { right, outdated, unreadable } = await turn.verify(password, hash);
    if (unreadable) report(new Error('The stored hash of a password cannot be computed here.'));
    const about = { userId, passwordChangedMs };
    // An account without a password is not entered with any, whatever the hasher makes of it.
    if (!right || hash === null) return { verdict: { ...about, right: false } };
    return { verdict: { ...about, right, ...(outdated ? { rehash: await turn.hash(password) } : {}) } };
  });
  return 'verdict' in judged
    ? attempt.finish(judged.verdict)
    : (judged.begun as Exclude<Begun, PasswordToJudge>);
}

function isToJudge(begun: { readonly outcome: string }): begun is PasswordToJudge {
  return begun.outcome === 'judge';
}
