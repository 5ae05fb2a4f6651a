/**
 * Judges a message before anything is done with it. What a person typed into a form ends up in these fields: a line
 * break would become a header of its own, and a comma a second recipient.
 */
import type { Mail } from '@freehold/auth';
import { MailError } from './errors.ts';

/** RFC 5321, sections 4.5.3.1.1 and 4.5.3.1.3. */
const LOCAL_PART_MAX = 64;
const ADDRESS_MAX = 254;
/** One unquoted address: none of the characters that mean something in an address list (RFC 5322, section 3.2.3). */
const ADDRESS = /^([^\s\p{C}@,;:<>()[\]"\\]+)@([^\s\p{C}@,;:<>()[\]"\\]+)$/u;
const NAMED = /^(.*?)\s*<([^<>]+)>$/u;
const CONTROL = /\p{Cc}/u;

/** The sender of a message. */
export interface Sender {
  /** Empty for none. */
  readonly name: string;
  readonly address: string;
}

/** Whether a text is exactly one address: no display name, no list, no line break. */
export function isAddress(text: string): boolean {
  const [, local = '', domain = ''] = ADDRESS.exec(text) ?? [];
  return domain !== '' && local.length <= LOCAL_PART_MAX && text.length <= ADDRESS_MAX;
}

/** Reads `robot@example.org` or `Acme Trades <robot@example.org>`. @throws MailError `settings_invalid` */
export function parseSender(text: string): Sender {
  const [, name = '', named] = NAMED.exec(text.trim()) ?? [];
  const address = named ?? text.trim();
  if (!isAddress(address) || CONTROL.test(name)) {
    throw new MailError(
      'settings_invalid',
      'The sender must be one address, such as robot@example.org or Acme Trades <robot@example.org>.',
    );
  }
  return { name: name.replace(/^"(.*)"$/, '$1'), address };
}

/** @throws MailError `message_invalid` */
export function requireSound({ to, subject }: Mail): void {
  if (!isAddress(to)) throw new MailError('message_invalid', 'A message goes to exactly one address.');
  if (CONTROL.test(subject)) throw new MailError('message_invalid', 'A subject is one line of text.');
}
