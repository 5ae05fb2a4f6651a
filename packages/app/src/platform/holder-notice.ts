/** The word to an owner whom the operator replaces. */
import type { Mailer } from '@freehold/auth';
import type { HolderNotice } from '../declaration/env.ts';

/**
 * Mails the holder of the owner seat. The log of the team page tells them as well, and is all where no mail is sent.
 * @throws as the mailer does.
 */
export async function mailToHolder(
  mailer: Mailer | undefined,
  { to, business, why }: HolderNotice,
): Promise<'mail' | 'log'> {
  if (!mailer || to === null) return 'log';
  await mailer.send({
    to,
    subject: `The owner of ${business} is being replaced`,
    text: `The operator of the platform made a link for a new owner of ${business}. When the link is accepted, your membership there ends.\n\nReason: ${why}\n\nIf this is wrong, answer the operator at once: until then they can end the link.\n`,
  });
  return 'mail';
}
