/** Sealing: AES-256-GCM (NIST SP 800-38D), bound to its place by associated data, so that nothing opens elsewhere. */
import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';

export const SEAL_KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

const encoder = new TextEncoder();

/** Seals text under a key. `iv` is 12 fresh random bytes. The answer is URL-safe text. */
export function seal(key: Uint8Array, place: string, text: string, iv: Uint8Array): string {
  if (iv.length !== IV_BYTES) throw new TypeError(`an IV has ${IV_BYTES} bytes`);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(encoder.encode(place));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${VERSION}.${Buffer.from(iv).toString('base64url')}.${body.toString('base64url')}`;
}

/** Opens what {@link seal} made; null when it was made with another key, for another place, or was changed. */
export function open(key: Uint8Array, place: string, sealed: string): string | null {
  const [version, iv, body, more] = sealed.split('.');
  if (version !== VERSION || iv === undefined || body === undefined || more !== undefined) return null;
  const [ivBytes, bytes] = [Buffer.from(iv, 'base64url'), Buffer.from(body, 'base64url')];
  if (ivBytes.length !== IV_BYTES || bytes.length < TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, ivBytes);
  decipher.setAAD(encoder.encode(place));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)),
      decipher.final(),
    ]).toString('utf8');
  } catch {
    return null;
  }
}

/** The platform's sealing keys: the first seals, all open. */
export interface Keyring {
  /** Seals under the first key. @throws PlatformError `unavailable`, reason `no_seal_key`, without any. */
  seal(place: string, text: string, iv: Uint8Array): string;
  /** Opens with the key that it names; null when that one is gone or it was not sealed for this place. */
  open(place: string, sealed: string): string | null;
  /** Whether something is sealed under another key than the first: to be sealed again after a rotation. */
  isStale(sealed: string): boolean;
}

/**
 * Makes a keyring. What it seals names its key by the first characters of the key's SHA-256.
 * @param secrets texts of at least 32 bytes each, such as the entries of SEAL_KEY; empty: nothing can be sealed.
 * @throws TypeError for a shorter one.
 */
export function makeKeyring(secrets: readonly string[]): Keyring {
  const keys = secrets.map((secret) => {
    if (encoder.encode(secret).length < SEAL_KEY_BYTES)
      throw new TypeError(`a sealing key has at least ${SEAL_KEY_BYTES} bytes`);
    const key = createHash('sha256').update('freehold.seal.v1\u0000').update(secret).digest();
    return { name: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
  });
  const [first] = keys;
  return {
    seal: (place, text, iv) => {
      if (!first)
        throw new PlatformError('unavailable', 'Secrets cannot be stored: set SEAL_KEY first.', {
          reason: 'no_seal_key',
        });
      return `${first.name}.${seal(first.key, place, text, iv)}`;
    },
    open: (place, sealed) => {
      const dot = sealed.indexOf('.');
      const found = keys.find(({ name }) => name === sealed.slice(0, dot));
      return found ? open(found.key, place, sealed.slice(dot + 1)) : null;
    },
    isStale: (sealed) => first !== undefined && !sealed.startsWith(`${first.name}.`),
  };
}
