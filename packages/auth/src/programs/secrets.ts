/** The secrets of programs: opaque, recognised by their prefixes, stored as SHA-256 alone. */
import { createHash } from 'node:crypto';
import { isCheckedSecret } from '@freehold/contracts';
import { hashToken, isSameHash } from '../lib/token.ts';

export const SECRET_PREFIXES = {
  code: 'fh_code_',
  access: 'fh_access_',
  refresh: 'fh_refresh_',
  personal: 'fh_personal_',
} as const;

const PRESENTED = [SECRET_PREFIXES.access, SECRET_PREFIXES.personal];
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Returns the hash of the program's token in a request; empty for a mistyped one, null for a request without one. A
 * token of another issuer is not this server's to judge.
 */
export function presentedTokenHash(headers: Headers): string | null {
  const token = BEARER.exec(headers.get('authorization') ?? '')?.[1];
  if (token === undefined || !PRESENTED.some((prefix) => token.startsWith(prefix))) return null;
  return isCheckedSecret(PRESENTED, token) ? hashToken(token) : '';
}

/** RFC 7636, section 4.1. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Whether a verifier belongs to a challenge of the method S256 (RFC 7636, section 4.6). */
export function isVerifierOf(challenge: string, verifier: string): boolean {
  if (!VERIFIER.test(verifier)) return false;
  return isSameHash(challenge, createHash('sha256').update(verifier).digest('base64url'));
}
