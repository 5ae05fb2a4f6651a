/** One-time tokens: shown once, stored as a hash. 128 random bits need no slow hash (OWASP ASVS 5.0, 6.5.2). */

import { createHash, timingSafeEqual } from 'node:crypto';
import { base64url } from 'jose';
import { invalid } from './refusals.ts';

const TOKEN_BYTES = 16;
/** A link that lies in a mailbox for longer than a month is forgotten, not waiting. */
const TTL_MAX_MS = 30 * 24 * 3_600_000;

export interface MintedToken {
  /** 22 characters of base64url. It exists in this answer and nowhere else. */
  readonly token: string;
  /** SHA-256 of the token's characters, in hexadecimal. */
  readonly hash: string;
}

/** Returns a fresh token of 128 bits. @param random that many bytes from a cryptographic source. */
export function mintToken(random: (bytes: number) => Uint8Array): MintedToken {
  const token = base64url.encode(random(TOKEN_BYTES));
  return { token, hash: hashToken(token) };
}

/** Returns the stored form of a token. A value that is no string hashes like the empty one, which no token is. */
export function hashToken(token: unknown): string {
  return createHash('sha256')
    .update(typeof token === 'string' ? token : '')
    .digest('hex');
}

export function isSameHash(left: string, right: string): boolean {
  const encoder = new TextEncoder();
  const [a, b] = [encoder.encode(left), encoder.encode(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns a link's time to live, or the default. @throws PlatformError `validation_failed` beyond 30 days. */
export function requireTtl(ttlMs: number | undefined, defaultMs: number): number {
  if (ttlMs === undefined) return defaultMs;
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > TTL_MAX_MS)
    throw invalid(
      'ttlMs',
      'must be a whole number of milliseconds, at most 30 days',
      'A link lives for one millisecond to 30 days.',
    );
  return ttlMs;
}
