/** The development outbox: messages that go nowhere, kept in memory, to be read in a browser. */
import type { Mail, Mailer } from '@freehold/auth';
import { requireSound } from './message.ts';
import { answerOutbox } from './outbox-routes.ts';

/** A message as the outbox keeps it. */
export interface OutboxMessage {
  /** `1` for the first message of this process, and so on: nothing that has to be guessed. */
  readonly id: string;
  readonly sentAtMs: number;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Null for a message of text alone. */
  readonly html: string | null;
}

export interface OutboxOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The number of messages that it holds; the oldest goes first. Default 100. */
  readonly sizeMax?: number;
  /** Where the pages are mounted. Default `/outbox`. */
  readonly basePath?: string;
}

export interface Outbox extends Mailer {
  /** Newest first. */
  list(): readonly OutboxMessage[];
  /**
   * Answers the pages and, for `Accept: application/json`, the messages. A caller can read every message,
   * and with it enter every account: mount it for the developer at the machine alone.
   */
  handle(request: Request): Response;
}

/** Makes an empty outbox. `send` rejects what a mail server would not take either. */
export function makeOutbox({ now, sizeMax = 100, basePath = '/outbox' }: OutboxOptions): Outbox {
  const messages: OutboxMessage[] = [];
  let taken = 0;
  const list = (): readonly OutboxMessage[] => messages.toReversed();
  return {
    send: async (mail) => {
      requireSound(mail);
      taken += 1;
      messages.push(toMessage(String(taken), mail, now()));
      if (messages.length > sizeMax) messages.shift();
    },
    list,
    handle: (request) => answerOutbox(request, { messages: list(), basePath }),
  };
}

function toMessage(id: string, { to, subject, text, html }: Mail, sentAtMs: number): OutboxMessage {
  return { id, sentAtMs, to, subject, text, html: html ?? null };
}
