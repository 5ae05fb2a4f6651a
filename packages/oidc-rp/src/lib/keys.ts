/** Signing keys of this package: one per purpose and audience, derived from SESSION_SECRET. */
import { hkdfSync } from 'node:crypto';

/** The purpose of a key. A token made for one purpose never verifies for another. */
export type KeyPurpose = 'flow' | 'state' | 'session' | 'hint' | 'claim' | 'invite';

/**
 * Derives a key of 32 bytes from one secret by HKDF-SHA-256 (RFC 5869). `info` binds the purpose and the audience,
 * so that a flow cookie is never a session and one tenant's session is invalid at another's. The same arguments
 * give the same key.
 */
export function deriveKey(secret: string, binding: { purpose: KeyPurpose; audience: string }): Uint8Array {
  // A purpose never holds a NUL, so no two bindings share an info string.
  const info = `freehold.oidc-rp.v1\u0000${binding.purpose}\u0000${binding.audience}`;
  return new Uint8Array(hkdfSync('sha256', secret, '', info, 32));
}
