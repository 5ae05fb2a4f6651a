/** Two-step verification: setting it up, turning it off, and its recovery codes. */
import { makeTotpSecret } from '../../accounts/one-time-codes.ts';
import type { ProviderContext } from '../lib/context.ts';
import { notifyAccount } from '../lib/mails.ts';
import { again, orInvalid, orRefusal, pageResponse } from '../lib/responses.ts';
import { type AccountHandler, beginSession, forFreshlySignedInForm, holderOf } from '../lib/sessions.ts';
import { recoveryCodesPage, totpSetupPage } from '../pages/totp-pages.ts';
import { conflicting, doneAt } from './security.ts';

/**
 * A secret that is being set up exists only in its own page, sealed for the account: each tab has its own, and an
 * attacker cannot make a user turn on a secret that the attacker has seen.
 */
const begin: AccountHandler = async (exchange, signedIn) => {
  const { account } = signedIn;
  if (account.totp) return conflicting(exchange, signedIn, exchange.t.totp.inUse);
  const secret = makeTotpSecret(exchange.random);
  const { appName } = exchange;
  const sealed = exchange.seals.seal(setUpOf(account.userId), `${exchange.now() + SET_UP_TTL_MS} ${secret}`);
  return pageResponse(exchange, totpSetupPage(exchange.t, { appName, email: account.email, secret, sealed }));
};

const SET_UP_TTL_MS = 60 * 60_000;

function setUpOf(userId: string): string[] {
  return ['totp', userId];
}

/** Returns the secret of a set-up page of this account from the last hour, or null. */
function openSecret({ seals, now }: ProviderContext, userId: string, sealed: string): string | null {
  const [expiry = '', secret] = seals.open(setUpOf(userId), sealed)?.split(' ') ?? [];
  return secret !== undefined && now() < Number(expiry) ? secret : null;
}

const enable: AccountHandler<'code' | 'sealed'> = async (exchange, signedIn, form) => {
  const { code, sealed } = form;
  const { account, session } = signedIn;
  const { userId, email } = account;
  const secret = openSecret(exchange, userId, sealed);
  if (secret === null) return conflicting(exchange, signedIn, exchange.t.totp.tooLong);
  const enabling = { ...holderOf(exchange, signedIn), secret, code };
  const enabled = await orRefusal(exchange, orInvalid(exchange, exchange.directory.enableTotp(enabling)));
  if ('refusal' in enabled) return conflicting(exchange, signedIn, enabled.refusal);
  if ('outcome' in enabled) {
    const { appName } = exchange;
    const fault = enabled.message;
    return again(exchange, totpSetupPage(exchange.t, { appName, email, secret, sealed, fault }));
  }
  notifyAccount(exchange, account, 'totp_enabled');
  const { authTimeMs } = session;
  const renewed = { account, atMs: enabled.sessionAtMs, authTimeMs };
  const setCookies = await beginSession(exchange, renewed);
  return pageResponse(exchange, recoveryCodesPage(exchange.t, { codes: enabled.recoveryCodes }), {
    setCookies,
  });
};

const disable: AccountHandler = async (exchange, signedIn) => {
  await exchange.directory.disableTotp(holderOf(exchange, signedIn));
  if (signedIn.account.totp) notifyAccount(exchange, signedIn.account, 'totp_disabled');
  return doneAt(exchange, 'totp_disabled');
};

const makeCodes: AccountHandler = async (exchange, signedIn) => {
  const made = await orRefusal(exchange, exchange.directory.makeRecoveryCodes(holderOf(exchange, signedIn)));
  if ('refusal' in made) return conflicting(exchange, signedIn, made.refusal);
  notifyAccount(exchange, signedIn.account, 'recovery_codes_made');
  return pageResponse(exchange, recoveryCodesPage(exchange.t, { codes: made.recoveryCodes }));
};

export const postTotp = forFreshlySignedInForm([], begin);
export const postTotpEnable = forFreshlySignedInForm(['code', 'sealed'], enable);
export const postTotpDisable = forFreshlySignedInForm([], disable);
export const postRecoveryCodes = forFreshlySignedInForm([], makeCodes);
