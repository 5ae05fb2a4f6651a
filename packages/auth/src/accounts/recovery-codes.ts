/** Recovery codes: what stands in for a lost authenticator, once each. 80 random bits need no slow hash. */
import { hashToken } from '../lib/token.ts';

export const RECOVERY_CODES = 10;
const CODE_BYTES = 10;
/** Crockford's base 32, which leaves out what is mistaken for something else on paper. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const CODE = new RegExp(`^[${ALPHABET}]{16}$`);

export interface RecoveryCode {
  /** `abcd-efgh-jkmn-pqrs`: shown once. */
  readonly code: string;
  /** What is stored. */
  readonly hash: string;
}

export function makeRecoveryCode(random: (bytes: number) => Uint8Array): RecoveryCode {
  let bits = 0n;
  for (const byte of random(CODE_BYTES)) bits = (bits << 8n) | BigInt(byte);
  const digits = Array.from({ length: 16 }, (_, i) => ALPHABET[Number((bits >> BigInt(5 * (15 - i))) & 31n)]);
  const plain = digits.join('');
  return { code: plain.replace(/.{4}(?=.)/g, '$&-'), hash: hashToken(plain) };
}

/**
 * The stored form of a code as somebody typed it: in any case, with or without dashes and blanks, an o for a zero
 * and an i or l for a one. Null when it is none.
 */
export function hashRecoveryCode(typed: string): string | null {
  const plain = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1');
  return CODE.test(plain) ? hashToken(plain) : null;
}
