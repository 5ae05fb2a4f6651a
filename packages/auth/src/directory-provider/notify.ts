/** Writes to the holder of an account what was done with it. Nobody waits for the mail. */
import type { Account } from '../accounts/contract.ts';
import type { Exchange, ProviderContext } from './lib/context.ts';
import { type Notice, noticeMail } from './lib/mails.ts';

export function notifyAccount(
  context: ProviderContext,
  { appName, origin }: Exchange,
  { email }: Pick<Account, 'email'>,
  notice: Notice,
): void {
  context.post(noticeMail({ appName, origin }, email, notice));
}
