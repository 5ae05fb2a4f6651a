/**
 * The secrets of tokens: `fh_push_`, `fh_svc_` or `fh_staff_`, 256 bits and a checksum (design: control-plane, "Actors");
 * and `fh_access_` of programs with a grant, which its flow mints.
 */
import { createHash } from 'node:crypto';
import { SECRET_PREFIXES } from '@freehold/auth/grants';
import { isCheckedSecret, mintCheckedSecret } from '@freehold/contracts';

export const PROGRAM_PREFIX = SECRET_PREFIXES.access;

export type TokenKind = 'push' | 'service' | 'staff';

export const TOKEN_PREFIXES: Readonly<Record<TokenKind, string>> = {
  push: 'fh_push_',
  service: 'fh_svc_',
  staff: 'fh_staff_',
};

/** Makes a secret. @param random returns that many bytes from a cryptographic source. */
export function mintSecret(kind: TokenKind, random: (bytes: number) => Uint8Array): string {
  return mintCheckedSecret(TOKEN_PREFIXES[kind], random);
}

/** Whether a text has the form and the checksum of a secret. It need never have been issued. */
export function isWellFormedSecret(text: string): boolean {
  return isCheckedSecret([...Object.values(TOKEN_PREFIXES), PROGRAM_PREFIX], text);
}

/**
 * The stored form of a secret: SHA-256 in hexadecimal. 256 random bits cannot be guessed, so that neither a salt nor a
 * slow hash would add anything.
 */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
