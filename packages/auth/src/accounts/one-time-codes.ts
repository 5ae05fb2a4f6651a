/** Time-based one-time passwords (RFC 6238): SHA-1, six digits, thirty seconds, which is what every authenticator app does. */
import { HOTP, Secret } from 'otpauth';
import type { SecretPlace } from '../lib/secret-keeper.ts';

/** 160 bits, the length that RFC 4226, section 4, recommends. */
const SECRET_BYTES = 20;
const DIGITS = 6;
const STEP_MS = 30_000;
/** How many steps a phone's clock may be off, either way. */
const WINDOW_STEPS = 1;

/** A fresh secret in base32. */
export function makeTotpSecret(random: (bytes: number) => Uint8Array): string {
  // A copy, because the bytes may be a view of a larger buffer.
  return new Secret({ buffer: new Uint8Array(random(SECRET_BYTES)).buffer }).base32;
}

/**
 * The time step that a code belongs to, or null when the code is wrong. Steps up to `afterStep` are not looked at:
 * a code that was accepted once is never accepted again (RFC 6238, section 5.2), nor is one from before it.
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

/** Whether a text has the form of a code: six digits, and nothing else. */
export function isTotpCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text);
}

/** Where the secret of an account is kept, which is what its seal is bound to. */
export function totpPlace(userId: string): SecretPlace {
  return ['accounts', 'totp_secret', userId];
}
