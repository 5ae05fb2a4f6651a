/**
 * The optional claims about a person, in the form in which they are kept and shown. An issuer says anything there, so a
 * value that cannot be shown is repaired or left out: it never keeps the person out.
 */

/** In characters; a longer name is cut. With the longest address and subject it still fits in a session cookie. */
export const NAME_LENGTH_MAX = 200;
/** RFC 5321 section 4.5.3.1.3, in bytes. */
const EMAIL_BYTES_MAX = 254;

const CONTROLS_AND_SPACE = /[\s\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** They change the order in which the text around them is shown, so that one name can look like another. */
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns a name in Unicode's form NFC, on one line, without bidirectional controls; undefined when nothing is left. */
export function nameClaim(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const shown = value
    .normalize('NFC')
    .replaceAll(BIDIRECTIONAL, '')
    .replaceAll(CONTROLS_AND_SPACE, ' ')
    .trim();
  const cut = shown.length > NAME_LENGTH_MAX ? [...shown].slice(0, NAME_LENGTH_MAX).join('').trim() : shown;
  return cut === '' ? undefined : cut;
}

/** Returns an address as the issuer wrote it; undefined for one that no mailbox has. */
export function emailClaim(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const isUsable =
    value.search(/[\s\p{Cc}\p{Cs}\p{Z}]/u) < 0 &&
    value.search(BIDIRECTIONAL) < 0 &&
    new TextEncoder().encode(value).byteLength <= EMAIL_BYTES_MAX;
  return isUsable ? value : undefined;
}
