/**
 * One-time codes: of authenticator apps (RFC 6238 with SHA-1, six digits, thirty seconds, as every app computes them),
 * and the recovery codes that replace a lost app, once each.
 */
import { HOTP, Secret } from 'otpauth';
import type { SecretPlace } from '../lib/secret-keeper.ts';
import { hashToken } from '../lib/token.ts';

/** 160 bits, the length that RFC 4226, section 4, recommends. */
const SECRET_BYTES = 20;
const DIGITS = 6;
const STEP_MS = 30_000;
/** The steps that a phone's clock may be off, either way. */
const WINDOW_STEPS = 1;

export const RECOVERY_CODES = 10;
/** 80 random bits need no slow hash. */
const RECOVERY_CODE_BYTES = 10;
/** Crockford's base 32, which leaves out letters that look like others on paper. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const RECOVERY_CODE = new RegExp(`^[${ALPHABET}]{16}$`);

export function makeTotpSecret(random: (bytes: number) => Uint8Array): string {
  // A copy, because the bytes may be a view of a larger buffer.
  return new Secret({ buffer: new Uint8Array(random(SECRET_BYTES)).buffer }).base32;
}

/**
 * Returns the time step of a code, or null when the code is wrong. Steps up to `afterStep` do not count: a code that
 * was accepted once is never accepted again (RFC 6238, section 5.2), nor is one from before it.
 */
export function matchTotp(
  code: string,
  totp: { secret: string; nowMs: number; afterStep: number },
): number | null {
  if (!isTotpCode(code)) return null;
  const secret = Secret.fromBase32(totp.secret);
  const present = Math.floor(totp.nowMs / STEP_MS);
  for (let step = present - WINDOW_STEPS; step <= present + WINDOW_STEPS; step++) {
    if (step <= totp.afterStep) continue;
    const options = { token: code, secret, algorithm: 'SHA1', digits: DIGITS, counter: step, window: 0 };
    if (HOTP.validate(options) !== null) return step;
  }
  return null;
}

export function isTotpCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text);
}

/** Returns the place of an account's TOTP secret, to which its seal is bound. */
export function totpPlace(userId: string): SecretPlace {
  return ['accounts', 'totp_secret', userId];
}

/** Returns a fresh recovery code, such as `abcd-efgh-jkmn-pqrs`, shown once, and its stored form. */
export function makeRecoveryCode(random: (bytes: number) => Uint8Array): { code: string; hash: string } {
  let bits = 0n;
  for (const byte of random(RECOVERY_CODE_BYTES)) bits = (bits << 8n) | BigInt(byte);
  const digits = Array.from({ length: 16 }, (_, i) => ALPHABET[Number((bits >> BigInt(5 * (15 - i))) & 31n)]);
  const plain = digits.join('');
  return { code: plain.replace(/.{4}(?=.)/g, '$&-'), hash: hashToken(plain) };
}

/**
 * Returns the stored form of a typed recovery code, or null when it is none. It may be in any case, with or without
 * dashes and blanks, with an o for a zero and an i or l for a one.
 */
export function hashRecoveryCode(typed: string): string | null {
  const plain = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1');
  return RECOVERY_CODE.test(plain) ? hashToken(plain) : null;
}
