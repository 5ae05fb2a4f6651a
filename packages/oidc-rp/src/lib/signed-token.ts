/**
 * Our own compact JWTs (RFC 7519, HS256). Only the exact header bytes that we write are accepted, so there is no
 * algorithm to negotiate. `node:crypto` is synchronous and several times faster than WebCrypto on inputs this
 * small, and this runs on every request.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { base64url } from 'jose';
import { deriveKey, type KeyPurpose } from './keys.ts';

/** Signs and verifies one kind of token for one audience. */
export interface TokenSigner {
  /** Returns a JWT over the claims and `aud`. */
  sign(claims: Readonly<Record<string, unknown>>): string;
  /**
   * Returns the claims, if one of our keys signed this string for this kind and audience; else null. Never throws.
   */
  verify(token: string): Readonly<Record<string, unknown>> | null;
  /** Returns the base64url HMAC of any text, by the signing key. */
  tag(text: string): string;
  /** Whether one of our keys made this tag for this text. Constant in time for each key. */
  hasTag(text: string, tag: string): boolean;
}

export interface TokenSignerOptions {
  /** The first signs, all verify. */
  readonly secrets: readonly string[];
  readonly purpose: KeyPurpose;
  readonly audience: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Base64url of 32 bytes. */
const TAG_CHARS = 43;

// Reused by every comparison, which is synchronous: it saves two allocations on every request.
const presented = new Uint8Array(TAG_CHARS);
const expected = new Uint8Array(TAG_CHARS);

/** Makes a signer. Keys are derived at the first use and cached. Throws when `secrets` is empty. */
export function makeTokenSigner({ secrets, purpose, audience }: TokenSignerOptions): TokenSigner {
  const prefix = `${base64url.encode(JSON.stringify({ alg: 'HS256', typ: `${purpose}+jwt` }))}.`;
  let derived: readonly [KeyObject, ...KeyObject[]] | undefined;

  function keys(): readonly [KeyObject, ...KeyObject[]] {
    if (derived !== undefined) return derived;
    const [first, ...rest] = secrets.map((secret) =>
      createSecretKey(deriveKey(secret, { purpose, audience })),
    );
    if (first === undefined) throw new Error('A token signer needs at least one secret.');
    derived = [first, ...rest];
    return derived;
  }

  function tag(text: string): string {
    return mac(keys()[0], text);
  }

  function hasTag(text: string, candidate: string): boolean {
    // Encoded forms are compared, so a tag has exactly one accepted spelling.
    if (!writeTag(candidate, presented)) return false;
    for (const key of keys()) {
      if (writeTag(mac(key, text), expected) && timingSafeEqual(expected, presented)) return true;
    }
    return false;
  }

  return {
    tag,
    hasTag,
    sign(claims) {
      const input = prefix + base64url.encode(JSON.stringify({ aud: audience, ...claims }));
      return `${input}.${tag(input)}`;
    },
    verify(token) {
      if (!token.startsWith(prefix)) return null;
      const end = token.lastIndexOf('.');
      if (end < prefix.length || !hasTag(token.slice(0, end), token.slice(end + 1))) return null;
      const claims = parsePayload(token.slice(prefix.length, end));
      return claims?.aud === audience ? claims : null;
    },
  };
}

/** Writes a text of 43 one-byte characters into the buffer. Returns false for any other text. */
function writeTag(text: string, buffer: Uint8Array): boolean {
  return text.length === TAG_CHARS && encoder.encodeInto(text, buffer).read === TAG_CHARS;
}

function mac(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/** The tag has proved that we wrote these bytes; this only keeps a defect of the writer from becoming a throw. */
function parsePayload(segment: string): Readonly<Record<string, unknown>> | null {
  try {
    const claims: unknown = JSON.parse(decoder.decode(base64url.decode(segment)));
    // An array has none of the claims.
    return typeof claims === 'object' ? (claims as Readonly<Record<string, unknown>> | null) : null;
  } catch {
    return null;
  }
}
