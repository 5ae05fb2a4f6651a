/** Whether the person at the door is the one an invite was addressed to. */
import { PlatformError } from '@freehold/contracts';
import type { AuthSubject } from '../lib/subject.ts';

/**
 * One spelling for one address: compatibility forms folded (NFKC), lower case, no white space around it, and the
 * domain as the name system knows it (`bücher.example` and `xn--bcher-kva.example` are one; RFC 5890).
 */
export function normalizeEmail(email: string): string {
  const folded = email.normalize('NFKC').trim().toLowerCase();
  const at = folded.lastIndexOf('@') + 1;
  return at === 0 ? folded : folded.slice(0, at) + asciiDomain(folded.slice(at));
}

/** A domain that is ASCII already, or none at all, stays as it is. */
function asciiDomain(domain: string): string {
  const isUnicode = /[^ -~]/.test(domain) && /^[^\s\p{C}/?#@:\\[\]%]+$/u.test(domain);
  return isUnicode && URL.canParse(`http://${domain}`) ? new URL(`http://${domain}`).hostname : domain;
}

/**
 * Holds a subject against the address that the inviter made a condition. Without the issuer's word that the
 * address was verified, anybody could register it and take the invite.
 * @returns the refusal, `forbidden` with reason `invite_email_mismatch` or `invite_email_unverified`, or null.
 */
export function judgeInviteEmail(invited: string, subject: AuthSubject): PlatformError | null {
  if (subject.email === null || normalizeEmail(subject.email) !== normalizeEmail(invited))
    return new PlatformError(
      'forbidden',
      'This invite is for another e-mail address. Sign in with the address that it was sent to.',
      { reason: 'invite_email_mismatch' },
    );
  if (subject.emailVerified !== true)
    return new PlatformError(
      'forbidden',
      'Your e-mail address has not been verified. Verify it where you sign in, and try again.',
      { reason: 'invite_email_unverified' },
    );
  return null;
}
