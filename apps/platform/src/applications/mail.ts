/** Sends mail: through the operator's server, or, while developing, into an outbox to read. */

import { PlatformError } from '@freehold/contracts';
import { refusal } from '@freehold/contracts/http';
import { makeNoMailer, makeOutbox, makeSmtpMailer, type Outbox } from '@freehold/mail';
import { type FailureSink, reasonOf } from '../feeds/feeds.ts';
import type { Client } from '../network/router.ts';
import { isLoopbackAddress } from '../settings/address-list.ts';
import type { Settings } from '../settings/settings.ts';

export interface Mail {
  readonly mailer: Pick<Outbox, 'send'>;
  /** Null where mail really leaves, or every message fails. */
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

/** The same mailer; it reports failures, without recipient and text, and throws them. */
export function reportingFailures(mailer: Mail['mailer'], onFailure: FailureSink): Mail['mailer'] {
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

export interface LocalOutbox {
  /** Answers its pages to this machine under its own names, and refuses all other requests. */
  handle(request: Request, client: Client): Response | Promise<Response>;
}

/** The check is part of the outbox, so that no way of mounting it leaves it open. */
export function makeLocalOutbox(outbox: Pick<Outbox, 'handle'>): LocalOutbox {
  return {
    handle: (request, { clientAddress }) =>
      isFromThisMachine(request, clientAddress)
        ? outbox.handle(request)
        : refusal(
            request.headers,
            new PlatformError('forbidden', 'The outbox is read on the machine that the platform runs on.', {
              reason: 'not_this_machine',
            }),
          ),
  };
}

/** Names of this machine. Another name was made to lead here, as in DNS rebinding. */
const OWN_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Headers of proxies. A proxy on this machine has this machine's address, and its callers may not. */
const RELAYED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

function isFromThisMachine(request: Request, clientAddress: string | null): boolean {
  return (
    clientAddress !== null &&
    isLoopbackAddress(clientAddress) &&
    OWN_NAMES.has(new URL(request.url).hostname) &&
    !RELAYED.some((name) => request.headers.has(name))
  );
}
