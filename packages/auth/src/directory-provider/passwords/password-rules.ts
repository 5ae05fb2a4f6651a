/**
 * The rules of a new password (NIST SP 800-63B-4, section 3.1.1; OWASP ASVS 5.0, 6.2): long enough, and not one of the
 * first guesses. No rules about its characters.
 */
import type { Texts } from '../texts/en.ts';
import { isCommonPassword } from './common-passwords.ts';

/** Counted in characters as a person counts them, after normalisation. */
const PASSWORD_LENGTH = { min: 8, max: 256 };

export interface PasswordOwner {
  readonly email: string;
  readonly name?: string | null | undefined;
  readonly appName: string;
}

/** Returns the fault of a new password, as a sentence for the person who typed it; null when it has none. */
export function findPasswordFault(
  password: string,
  owner: PasswordOwner,
  t: Texts['newPassword'],
): string | null {
  const length = [...password.normalize('NFKC')].length;
  if (length < PASSWORD_LENGTH.min) return t.tooShort(PASSWORD_LENGTH.min);
  if (length > PASSWORD_LENGTH.max) return t.tooLong(PASSWORD_LENGTH.max);
  if (repeatsOwner(password, owner)) return t.repeatsOwner;
  if (isCommonPassword(password)) return t.common;
  return null;
}

function repeatsOwner(password: string, { email, name, appName }: PasswordOwner): boolean {
  const bare = simplify(password);
  const [local = '', domain = ''] = email.split('@');
  return [email, local, domain, domain.split('.')[0], name, appName]
    .map((word) => simplify(word ?? ''))
    .some((word) => word !== '' && (bare === word || bare === word + word));
}

/** Leaves letters and inner digits: `Ada.Lovelace1!` still repeats the address `ada.lovelace@…`. */
function simplify(text: string): string {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return letters.replace(/\p{N}{1,4}$/u, '') || letters;
}
