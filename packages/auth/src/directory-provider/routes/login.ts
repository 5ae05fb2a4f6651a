/** Signing in with a password, its second factor, and confirming one's identity with them. */
import type { PasswordToJudge } from '../../accounts/contract.ts';
import type { AccountDirectory, Exchange, Handler, ProviderContext } from '../lib/context.ts';
import {
  clearShortCookie,
  noticeCookie,
  readShortCookie,
  SECOND_FACTOR_COOKIE,
  takeNotice,
} from '../lib/cookies.ts';
import { readForm } from '../lib/request-body.ts';
import { again, orInvalid, pageResponse, redirectTo, tooMany } from '../lib/responses.ts';
import {
  type AccountHandler,
  forSignedIn,
  forSignedInForm,
  goOn,
  holderOf,
  type SignedIn,
} from '../lib/sessions.ts';
import { authUrl, returnPath, SECURITY_PATH } from '../pages/paths.ts';
import { confirmPage, loginPage, secondFactorPage } from '../pages/sign-in-pages.ts';

export const showLogin: Handler = async (exchange) => {
  const { query, appName } = exchange;
  const { notice, setCookies } = takeNotice(exchange);
  const page = loginPage(exchange.t, {
    appName,
    signUpOpen: exchange.signUp === 'open',
    returnTo: returnPath(query.get('returnTo')),
    notice,
  });
  return pageResponse(exchange, page, { setCookies });
};

export const postLogin: Handler = async (exchange) => {
  const { directory } = exchange;
  const form = await readForm(exchange.request, ['email', 'password', 'returnTo']);
  const returnTo = returnPath(form.returnTo);
  const email = form.email.trim();
  const page = (alert: string) =>
    loginPage(exchange.t, {
      appName: exchange.appName,
      signUpOpen: exchange.signUp === 'open',
      returnTo,
      email,
      alert,
    });

  // No account has that one, and a form sent too early must not lock its sender out.
  if (form.password === '') return again(exchange, page(exchange.t.signIn.refused));
  const attempt = { ...exchange.attempt, email };
  const step = await judgePassword(exchange, form.password, {
    begin: () => orInvalid(exchange, directory.beginPassword(attempt)),
    finish: (verdict) => directory.finishPassword({ ...attempt, ...verdict }),
  });
  if (step.outcome === 'invalid') return again(exchange, page(exchange.t.signIn.refused));
  if (step.outcome === 'limited') return tooMany(exchange, step, page);
  const onward = await goOn(exchange, { step, returnTo });
  if (onward === null) return again(exchange, page(exchange.t.signIn.refused));
  return redirectTo(onward.location, onward.setCookies);
};

export const showSecondFactor: Handler = async (exchange) => {
  const returnTo = returnPath(exchange.query.get('returnTo'));
  if (readShortCookie(exchange.request.headers, SECOND_FACTOR_COOKIE, exchange.origin) === null)
    return redirectTo(authUrl('login', { returnTo }));
  return pageResponse(exchange, secondFactorPage(exchange.t, { returnTo }));
};

export const postSecondFactor: Handler = async (exchange) => {
  const form = await readForm(exchange.request, ['code', 'returnTo']);
  const returnTo = returnPath(form.returnTo);
  const page = (fault: string) => secondFactorPage(exchange.t, { returnTo, fault });
  const token = readShortCookie(exchange.request.headers, SECOND_FACTOR_COOKIE, exchange.origin);
  const expired = () =>
    redirectTo(authUrl('login', { returnTo }), [
      noticeCookie(exchange, 'second_factor_expired'),
      clearShortCookie(SECOND_FACTOR_COOKIE, exchange.origin),
    ]);
  if (token === null) return expired();

  const attempt = { ...exchange.attempt, token, code: form.code };
  const step = await exchange.directory.finishSecondFactor(attempt);
  if (step.outcome === 'expired') return expired();
  if (step.outcome === 'limited') return tooMany(exchange, step, page);
  const onward = await goOn(exchange, { step, returnTo });
  if (onward !== null) return redirectTo(onward.location, onward.setCookies);
  const wrong = page(exchange.t.secondFactor.refused);
  return again(exchange, wrong);
};

const confirm: AccountHandler = async (exchange, signedIn) => {
  const returnTo = returnPath(exchange.query.get('returnTo')) ?? SECURITY_PATH;
  return pageResponse(exchange, confirmPageOf(exchange, signedIn, returnTo));
};

const CONFIRM_FIELDS = ['password', 'username', 'returnTo'] as const;

const confirmed: AccountHandler<(typeof CONFIRM_FIELDS)[number]> = async (exchange, signedIn, form) => {
  const { directory } = exchange;
  const returnTo = returnPath(form.returnTo) ?? SECURITY_PATH;
  const page = (fault: string) => confirmPageOf(exchange, signedIn, returnTo, fault);
  const holder = holderOf(exchange, signedIn);
  if (form.password === '') return again(exchange, page(exchange.t.confirm.missing));

  const attempt = { ...exchange.attempt, ...holder, email: signedIn.account.email };
  const step = await judgePassword(exchange, form.password, {
    begin: () => directory.beginConfirm(attempt),
    finish: (verdict) => directory.finishPassword({ ...attempt, ...verdict }),
  });
  if (step.outcome === 'limited') return tooMany(exchange, step, page);
  // With a second factor this is only the first half: a session from before it proves nothing of it.
  const onward = await goOn(exchange, { step, returnTo });
  if (onward === null) return again(exchange, page(exchange.t.confirm.refused));
  return redirectTo(onward.location, onward.setCookies);
};

export const showConfirm = forSignedIn(confirm);
export const postConfirm = forSignedInForm(CONFIRM_FIELDS, confirmed);

function confirmPageOf(exchange: Exchange, { account }: SignedIn, returnTo: string, fault?: string) {
  return confirmPage(exchange.t, {
    email: account.email,
    returnTo,
    hasPassword: account.passwordChangedMs !== null,
    hasPasskeys: account.passkeys.length > 0,
    ...(fault === undefined ? {} : { fault }),
  });
}

type Verdict = Pick<
  Parameters<AccountDirectory['finishPassword']>[0],
  'userId' | 'passwordChangedMs' | 'right' | 'rehash'
>;

/**
 * Judges a password between the two halves of an attempt, at the same cost when there is no hash, and renews an
 * outdated hash. The attempt begins when the hasher has a place for it: one that is turned away was not counted, and a
 * right one does not fail for want of another place.
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
    // No password opens an account without one, whatever the hasher says.
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
