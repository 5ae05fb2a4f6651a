/**
 * What a new password must be (NIST SP 800-63B-4, section 3.1.1; OWASP ASVS 5.0, 6.2): long enough, and not the
 * first thing somebody would try. No rules about which characters it is made of.
 */
import { isCommonPassword } from './common-passwords.ts';

/** Counted in characters as a person counts them, after normalisation. */
export const PASSWORD_LENGTH = { min: 8, max: 256 };

/** What a password must not simply repeat. */
export interface PasswordOwner {
  readonly email: string;
  readonly name?: string | null | undefined;
  readonly appName: string;
}

/** What is wrong with a new password, as a sentence for the person who typed it; null when it will do. */
export function findPasswordFault(password: string, owner: PasswordOwner): string | null {
  const length = [...password.normalize('NFKC')].length;
  if (length < PASSWORD_LENGTH.min) return `Use at least ${PASSWORD_LENGTH.min} characters.`;
  if (length > PASSWORD_LENGTH.max) return `Use at most ${PASSWORD_LENGTH.max} characters.`;
  if (repeatsOwner(password, owner))
    return 'This is your e-mail address, your name or the name of this site. Choose something else.';
  if (isCommonPassword(password))
    return 'This is one of the first passwords that anybody would try. Choose something else.';
  return null;
}

function repeatsOwner(password: string, { email, name, appName }: PasswordOwner): boolean {
  const bare = simplify(password);
  const [local = '', domain = ''] = email.split('@');
  return [email, local, domain, domain.split('.')[0], name, appName]
    .map((word) => simplify(word ?? ''))
    .some((word) => word !== '' && (bare === word || bare === word + word));
}

/** Letters and inner digits only: `Ada.Lovelace1!` is the address `ada.lovelace@…` all the same. */
function simplify(text: string): string {
  const letters = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return letters.replace(/\p{N}{1,4}$/u, '') || letters;
}
