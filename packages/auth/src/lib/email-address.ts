/** The address of an account: one mailbox, in one spelling. */
import { PlatformError } from '@freehold/contracts';
import { normalizeEmail } from '../invites/email.ts';

/** RFC 5321, section 4.5.3.1.3, without the angle brackets of a path. */
const OCTETS_MAX = 254;
/**
 * One at sign; no white space, nothing invisible (control and format characters, half a surrogate pair), and none of
 * the characters that make a header line a list, a group, a comment, a route or a quoted string (RFC 5322, section
 * 3.2.3), nor dots but between others. The domain has no empty label and does not begin with a hyphen.
 */
const ADDRESS =
  /^(?!\.|.*\.[.@])[^\s\p{C}\p{Z}@,;:<>()[\]"\\]+@(?!-)[^\s\p{C}\p{Z}@,;:<>()[\]"\\.]+(?:\.[^\s\p{C}\p{Z}@,;:<>()[\]"\\.]+)*$/u;

/**
 * The one spelling of an address that somebody typed. It is what the account is known by, and what is written to:
 * mail to the address as typed could reach somebody else, whose address merely folds to the same (`ａda@…`).
 * @throws PlatformError `validation_failed` when it is no single address.
 */
export function requireEmailAddress(typed: unknown): string {
  const email = typeof typed === 'string' && typed.length <= 4 * OCTETS_MAX ? normalizeEmail(typed) : '';
  const settled = normalizeEmail(email) === email;
  if (!settled || !ADDRESS.test(email) || new TextEncoder().encode(email).length > OCTETS_MAX)
    throw new PlatformError('validation_failed', 'This is not an e-mail address.', {
      errors: [{ path: 'email', message: 'must be one e-mail address' }],
    });
  return email;
}
