/** Which way mail leaves: through the operator's server, or, while developing, into an outbox to read. */
import { makeNoMailer, makeOutbox, makeSmtpMailer, type Outbox } from '@freehold/mail';
import type { Settings } from '../settings/settings.ts';
import { type LocalOutbox, makeLocalOutbox } from './local-outbox.ts';

export interface Mail {
  readonly mailer: Pick<Outbox, 'send'>;
  /** Null where mail really leaves, or never does. */
  readonly outbox: LocalOutbox | null;
  close(): void;
}

export function openMail(settings: Pick<Settings, 'mail' | 'production'>, now: () => number): Mail {
  if (settings.mail !== null) {
    const mailer = makeSmtpMailer(settings.mail);
    return { mailer, outbox: null, close: () => mailer.close() };
  }
  if (settings.production) {
    const mailer = makeNoMailer('Set FREEHOLD_SMTP_URL and FREEHOLD_MAIL_FROM.');
    return { mailer, outbox: null, close: () => undefined };
  }
  const outbox = makeOutbox({ now });
  return { mailer: outbox, outbox: makeLocalOutbox(outbox), close: () => undefined };
}
