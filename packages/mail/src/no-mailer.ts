/** The mailer of a platform without a mail server. */
import type { Mailer } from '@freehold/auth';
import { MailError } from './errors.ts';

/**
 * Makes a mailer that refuses every message, so that a forgotten setting is a visible failure and not mail that never
 * arrives.
 * @param advice what the operator has to do, as a sentence.
 */
export function makeNoMailer(advice: string): Mailer {
  return {
    send: async () => {
      throw new MailError('not_configured', `There is no mail server to send through. ${advice}`);
    },
  };
}
