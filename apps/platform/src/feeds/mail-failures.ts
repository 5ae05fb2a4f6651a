/** Mail that did not leave is work of the platform that failed, whoever asked for it. */
import type { Mail } from '../applications/mail.ts';
import { type FailureSink, reasonOf } from './feeds.ts';

/** The same mailer. Its errors go on to the caller; the row holds no recipient and no text. */
export function tellingFailures(mailer: Mail['mailer'], onFailure: FailureSink): Mail['mailer'] {
  return {
    send: async (mail) => {
      try {
        await mailer.send(mail);
      } catch (error) {
        const detail = 'A message could not be sent; the incident log has more.';
        onFailure({ operation: 'mail.send', reason: reasonOf(error), detail });
        throw error;
      }
    },
  };
}
