/**
 * Bookmarks: `bmk_`, the commit's number (ten digits of Crockford's base 32, so that text sorts as commits do), and
 * the first half of its checksum (seven digits), so that a commit that replaced a lost one is not mistaken for it.
 */

export interface Commit {
  /** Counts from 1: one for every transaction that wrote and one for every state that replaced the unit's. */
  readonly seq: number;
  /** Sixteen hexadecimal digits that are unique to this commit. */
  readonly check: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const FORM = /^bmk_([0-9a-hjkmnp-tv-z]{10})([0-9a-hjkmnp-tv-z]{7})$/;
const SEQ_DIGITS = 10;
const CHECK_DIGITS = 7;

export function bookmarkOf({ seq, check }: Pick<Commit, 'seq' | 'check'>): string {
  return `bmk_${encode(seq, SEQ_DIGITS)}${encode(Number.parseInt(check.slice(0, 8), 16), CHECK_DIGITS)}`;
}

/**
 * Returns the number in a bookmark, or null for another text. The caller compares {@link bookmarkOf} of that commit.
 */
export function seqOfBookmark(bookmark: string): number | null {
  const digits = FORM.exec(bookmark)?.[1];
  if (digits === undefined) return null;
  let seq = 0;
  for (const digit of digits) seq = seq * 32 + DIGITS.indexOf(digit);
  return Number.isSafeInteger(seq) ? seq : null;
}

function encode(value: number, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest = Math.floor(rest / 32)) text = DIGITS[rest % 32] + text;
  return text;
}
