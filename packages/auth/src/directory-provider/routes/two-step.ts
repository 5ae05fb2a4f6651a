/** Two-step verification: setting it up, turning it off, and its recovery codes. */
import type { Exchange, ProviderContext } from '../context.ts';
import { again, orInvalid, orRefusal } from '../form-answers.ts';
import { type Notice, noticeMail } from '../mails.ts';
import { recoveryCodesPage, totpSetupPage } from '../pages/totp-pages.ts';
import { readForm } from '../request-body.ts';
import { pageResponse } from '../responses.ts';
import { type AccountHandler, forFreshlySignedIn, type SignedIn } from '../signed-in.ts';
import { accountPage, doneAt } from './security.ts';

const BASE32 = /^[A-Z2-7]{16,128}$/;

const begin: AccountHandler = async (context, exchange, signedIn) => {
  await readForm(exchange.request, []);
  const { userId, email } = signedIn.account;
  const begun = await orRefusal(context.directory.beginTotp({ userId }));
  if ('refusal' in begun) return conflicting(context, exchange, signedIn, begun.refusal);
  return pageResponse(
    context,
    exchange,
    totpSetupPage({ appName: exchange.appName, email, secret: begun.secret }),
  );
};

const enable: AccountHandler = async (context, exchange, signedIn) => {
  const { code, secret } = await readForm(exchange.request, ['code', 'secret']);
  const { userId, email } = signedIn.account;
  const { scopeId, directory } = context;
  const enabled = await orRefusal(orInvalid(directory.enableTotp({ scopeId, userId, code })));
  if ('refusal' in enabled) return conflicting(context, exchange, signedIn, enabled.refusal);
  if ('outcome' in enabled) {
    // A secret that was tampered with would be shown to whoever tampered with it, and to nobody else.
    if (!BASE32.test(secret)) return conflicting(context, exchange, signedIn, enabled.message);
    const { appName } = exchange;
    return again(context, exchange, totpSetupPage({ appName, email, secret, fault: enabled.message }));
  }
  tell(context, exchange, signedIn, 'totp_enabled');
  return pageResponse(context, exchange, recoveryCodesPage({ codes: enabled.recoveryCodes }));
};

const disable: AccountHandler = async (context, exchange, signedIn) => {
  await readForm(exchange.request, []);
  const { userId } = signedIn.account;
  await context.directory.disableTotp({ scopeId: context.scopeId, userId });
  if (signedIn.account.totp) tell(context, exchange, signedIn, 'totp_disabled');
  return doneAt('totp_disabled');
};

const makeCodes: AccountHandler = async (context, exchange, signedIn) => {
  await readForm(exchange.request, []);
  const { userId } = signedIn.account;
  const made = await orRefusal(context.directory.makeRecoveryCodes({ scopeId: context.scopeId, userId }));
  if ('refusal' in made) return conflicting(context, exchange, signedIn, made.refusal);
  tell(context, exchange, signedIn, 'recovery_codes_made');
  return pageResponse(context, exchange, recoveryCodesPage({ codes: made.recoveryCodes }));
};

export const postTotp = forFreshlySignedIn(begin);
export const postTotpEnable = forFreshlySignedIn(enable);
export const postTotpDisable = forFreshlySignedIn(disable);
export const postRecoveryCodes = forFreshlySignedIn(makeCodes);

/** Writes to the holder of the account what was done with it. */
export function tell(
  context: ProviderContext,
  { appName, origin }: Exchange,
  { account }: SignedIn,
  notice: Notice,
): void {
  context.post(noticeMail({ appName, origin }, account.email, notice));
}

/** The account page with a sentence about what could not be done. */
export async function conflicting(
  context: ProviderContext,
  exchange: Exchange,
  signedIn: SignedIn,
  sentence: string,
): Promise<Response> {
  return again(context, exchange, await accountPage(context, signedIn, { alert: sentence }));
}
