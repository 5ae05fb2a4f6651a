/** The second half of a sign-in with a password: a code from an app, or a recovery code. */
import type { Handler } from '../lib/context.ts';
import { again, tooMany } from '../form-answers.ts';
import { noticeCookie } from '../notices.ts';
import { secondFactorPage } from '../pages/sign-in-pages.ts';
import { readForm } from '../lib/request-body.ts';
import { pageResponse, redirectTo } from '../lib/responses.ts';
import { authUrl, returnPath } from '../pages/paths.ts';
import { clearShortCookie, readShortCookie, SECOND_FACTOR_COOKIE } from '../lib/cookies.ts';
import { goOn } from '../sign-in.ts';

export const showSecondFactor: Handler = async (context, exchange) => {
  const returnTo = returnPath(exchange.query.get('returnTo'));
  if (readShortCookie(exchange.request.headers, SECOND_FACTOR_COOKIE, exchange.origin) === null)
    return redirectTo(authUrl('login', { returnTo }));
  return pageResponse(context, exchange, secondFactorPage({ returnTo }));
};

export const postSecondFactor: Handler = async (context, exchange) => {
  const form = await readForm(exchange.request, ['code', 'returnTo']);
  const returnTo = returnPath(form.returnTo);
  const page = (fault: string) => secondFactorPage({ returnTo, fault });
  const token = readShortCookie(exchange.request.headers, SECOND_FACTOR_COOKIE, exchange.origin);
  const expired = () =>
    redirectTo(authUrl('login', { returnTo }), [
      noticeCookie(exchange, 'second_factor_expired'),
      clearShortCookie(SECOND_FACTOR_COOKIE, exchange.origin),
    ]);
  if (token === null) return expired();

  const attempt = { ...exchange.attempt, token, code: form.code };
  const step = await context.directory.finishSecondFactor(attempt);
  if (step.outcome === 'expired') return expired();
  if (step.outcome === 'limited') return tooMany(context, exchange, step, page);
  const onward = await goOn(context, exchange, { step, returnTo });
  if (onward === null)
    return again(
      context,
      exchange,
      page('This code is not right, or it was used already. Try the next one.'),
    );
  return redirectTo(onward.location, onward.setCookies);
};
