/**
 * Values that go out and come back, each tagged (HMAC-SHA-256) for one purpose: they cannot be forged, and none passes
 * for another. Their holders can read them.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { base64url } from 'jose';

export interface Seals {
  /** Returns the value with its tag, in base64url. `purpose`: use and holder, in parts. */
  seal(purpose: readonly string[], value: string): string;
  /** Returns the value, or null when it was not sealed here for this purpose. Never throws. */
  open(purpose: readonly string[], sealed: unknown): string | null;
  /** Returns the tag of a value alone, in base64url: a secret that only these keys can make again. */
  tag(purpose: readonly string[], value: string): string;
}

const TAG_BYTES = 32;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param options `secrets`: the first seals, all open. A value that is sealed for one audience opens at no other. */
export function makeSeals(options: {
  readonly secrets: readonly string[];
  readonly audience: string;
}): Seals {
  const info = `freehold.auth.v1\u0000seal\u0000${options.audience}`;
  const [key = new Uint8Array(), ...formerKeys] = options.secrets.map(
    (secret) => new Uint8Array(hkdfSync('sha256', secret, '', info, 32)),
  );
  return {
    seal: (purpose, value) =>
      base64url.encode(new Uint8Array([...tagOf(key, purpose, value), ...encoder.encode(value)])),
    open: (purpose, sealed) => {
      const bytes = toBytes(sealed);
      if (bytes === null || bytes.length < TAG_BYTES) return null;
      const tag = bytes.subarray(0, TAG_BYTES);
      const value = decoder.decode(bytes.subarray(TAG_BYTES));
      const isOurs = [key, ...formerKeys].some((each) => timingSafeEqual(tagOf(each, purpose, value), tag));
      return isOurs ? value : null;
    },
    tag: (purpose, value) => base64url.encode(tagOf(key, purpose, value)),
  };
}

function tagOf(key: Uint8Array, purpose: readonly string[], value: string): Uint8Array {
  return createHmac('sha256', key)
    .update(JSON.stringify([purpose, value]))
    .digest();
}

function toBytes(sealed: unknown): Uint8Array | null {
  if (typeof sealed !== 'string' || !/^[A-Za-z0-9_-]+$/.test(sealed)) return null;
  try {
    return base64url.decode(sealed);
  } catch {
    return null;
  }
}
