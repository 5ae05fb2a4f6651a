/**
 * Sealed text that others carry but can neither read nor write: AES-256-GCM (NIST SP 800-38D) under a key of one
 * purpose and audience.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { base64url } from 'jose';
import { deriveKey, type KeyPurpose } from './keys.ts';

/** Seals and opens one kind of text. */
export interface TextSealer {
  /** Returns base64url, different every time. */
  seal(text: string): string;
  /**
   * Returns the text, or null when none of our keys sealed it for this purpose, audience and context. Never
   * throws.
   */
  open(sealed: string): string | null;
}

export interface TextSealerOptions {
  /** The first seals, all open. */
  readonly secrets: readonly string[];
  readonly purpose: KeyPurpose;
  readonly audience: string;
  /** A text that is sealed in one context does not open in another. */
  readonly context: string;
  readonly random: (bytes: number) => Uint8Array;
}

const CIPHER = 'aes-256-gcm';
/** SP 800-38D section 8.2.2: 96 random bits serve for 2^32 texts under one key. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Makes a sealer. Keys are derived at the first use and cached; that use throws when `secrets` is empty. */
export function makeTextSealer(options: TextSealerOptions): TextSealer {
  const { secrets, purpose, audience, random } = options;
  const context = encoder.encode(options.context);
  let derived: readonly [Uint8Array, ...Uint8Array[]] | undefined;

  function keys(): readonly [Uint8Array, ...Uint8Array[]] {
    if (derived !== undefined) return derived;
    const [first, ...rest] = secrets.map((secret) => deriveKey(secret, { purpose, audience }));
    if (first === undefined) throw new Error('A text sealer needs at least one secret.');
    derived = [first, ...rest];
    return derived;
  }

  return {
    seal(text) {
      const iv = random(IV_BYTES);
      const cipher = createCipheriv(CIPHER, keys()[0], iv);
      cipher.setAAD(context);
      const body = [cipher.update(encoder.encode(text)), cipher.final()];
      return base64url.encode(concatenate([iv, ...body, cipher.getAuthTag()]));
    },
    open(sealed) {
      const bytes = bytesOf(sealed);
      if (bytes === null || bytes.length < IV_BYTES + TAG_BYTES) return null;
      for (const key of keys()) {
        const text = openWith(key, bytes, context);
        if (text !== null) return text;
      }
      return null;
    },
  };
}

function openWith(key: Uint8Array, bytes: Uint8Array, context: Uint8Array): string | null {
  const end = bytes.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES));
    decipher.setAAD(context);
    decipher.setAuthTag(bytes.subarray(end));
    return decoder.decode(concatenate([decipher.update(bytes.subarray(IV_BYTES, end)), decipher.final()]));
  } catch {
    return null;
  }
}

function bytesOf(text: string): Uint8Array | null {
  try {
    return base64url.decode(text);
  } catch {
    return null;
  }
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
