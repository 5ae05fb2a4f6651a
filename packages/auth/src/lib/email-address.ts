/** E-mail addresses in one spelling. */
import { invalid } from './refusals.ts';

/** RFC 5321, section 4.5.3.1.3, without the angle brackets of a path. */
const OCTETS_MAX = 254;
/**
 * One at sign; no white space, no invisible character, no half of a surrogate pair; no character that makes a header
 * line a list, a group, a comment, a route or a quoted string (RFC 5322, section 3.2.3); dots only between others. The
 * domain has no empty label and does not begin with a hyphen.
 */
const ADDRESS =
  /^(?!\.|.*\.[.@])[^\s\p{C}\p{Z}@,;:<>()[\]"\\]+@(?!-)[^\s\p{C}\p{Z}@,;:<>()[\]"\\.]+(?:\.[^\s\p{C}\p{Z}@,;:<>()[\]"\\.]+)*$/u;

/**
 * Returns an address in one spelling: compatibility forms folded (NFKC), lower case, trimmed, the domain in ASCII
 * (`bücher.example` and `xn--bcher-kva.example` are one; RFC 5890).
 */
export function normalizeEmail(email: string): string {
  const folded = email.normalize('NFKC').trim().toLowerCase();
  const at = folded.lastIndexOf('@') + 1;
  return at === 0 ? folded : folded.slice(0, at) + asciiDomain(folded.slice(at));
}

function asciiDomain(domain: string): string {
  const isUnicode = /[^ -~]/.test(domain) && /^[^\s\p{C}/?#@:\\[\]%]+$/u.test(domain);
  return isUnicode && URL.canParse(`http://${domain}`) ? new URL(`http://${domain}`).hostname : domain;
}

/**
 * Returns the one spelling of a typed address, by which the account is known and to which mail is sent: mail to the
 * address as typed could reach another person, whose address merely folds to the same (`ａda@…`).
 * @throws PlatformError `validation_failed` when it is no single address.
 */
export function requireEmailAddress(typed: unknown): string {
  const email = typeof typed === 'string' && typed.length <= 4 * OCTETS_MAX ? normalizeEmail(typed) : '';
  const isStable = normalizeEmail(email) === email;
  if (!isStable || !ADDRESS.test(email) || new TextEncoder().encode(email).length > OCTETS_MAX)
    throw invalid('email', 'must be one e-mail address', 'This is not an e-mail address.');
  return email;
}
