/**
 * The sealed credential of a connection (design: control-plane, "Secrets"). The directory's database holds sealed text that
 * opens only for its own tenant and connection; only the host administration has the keys.
 */
import { createHash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { Keyring } from '@freehold/store';
import { z } from 'zod';
import type { Tokens } from './oauth.ts';

/** NIST SP 800-38D, section 8.2.2. */
const IV_BYTES = 12;
const FINGERPRINT_CHARS = 12;

const credential = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('api-key'), apiKey: z.string() }),
  z.strictObject({
    kind: z.literal('oauth2'),
    accessToken: z.string(),
    refreshToken: z.string().nullable(),
  }),
]);
export type Credential = z.infer<typeof credential>;

/** The owner that sealed text is bound to. */
export interface CredentialPlace {
  readonly tenant: string;
  readonly connection: string;
}

/** A credential as the directory stores it: unreadable without a key. */
export interface SealedCredential {
  readonly kind: Credential['kind'];
  readonly sealed: string;
  readonly fingerprint: string;
  readonly refreshable: boolean;
  readonly expiresAtMs: number | null;
}

export interface CredentialVault {
  /** @throws PlatformError `unavailable`, reason `no_seal_key`. */
  seal(place: CredentialPlace, what: Credential, expiresAtMs: number | null): SealedCredential;
  /** @throws PlatformError `unavailable`, reason `credential_unreadable`: the key is missing, or the owner is another. */
  open(place: CredentialPlace, sealed: string): Credential;
  /** The same credential under the first key, or null when it is under it already. */
  reseal(place: CredentialPlace, sealed: string): string | null;
  /** Refuses work whose credential could not be stored. @throws PlatformError `unavailable`. */
  requireKey(): void;
}

export function makeCredentialVault(
  keyring: Keyring,
  random: (bytes: number) => Uint8Array,
): CredentialVault {
  const sealText = (at: string, text: string): string => keyring.seal(at, text, random(IV_BYTES));

  const openText = (place: CredentialPlace, sealed: string): string => {
    const text = keyring.open(placeOf(place), sealed);
    if (text !== null) return text;
    throw new PlatformError(
      'unavailable',
      'The credential of this connection cannot be opened: the key that it was sealed under is missing.',
      { reason: 'credential_unreadable' },
    );
  };

  return {
    seal: (place, what, expiresAtMs) => ({
      kind: what.kind,
      sealed: sealText(placeOf(place), JSON.stringify(what)),
      fingerprint: fingerprintOf(place, what),
      refreshable: what.kind === 'oauth2' && what.refreshToken !== null,
      expiresAtMs,
    }),
    open: (place, sealed) => credential.parse(JSON.parse(openText(place, sealed))),
    reseal: (place, sealed) =>
      keyring.isStale(sealed) ? sealText(placeOf(place), openText(place, sealed)) : null,
    requireKey: () => void sealText('connection', ''),
  };
}

/** Tokens as a credential. Without a new refresh token the one before stays valid (RFC 6749, section 6). */
export function credentialOfTokens(tokens: Tokens, refreshTokenBefore: string | null): Credential {
  return {
    kind: 'oauth2',
    accessToken: tokens.accessToken,
    refreshToken: tokens.refreshToken ?? refreshTokenBefore,
  };
}

/** The id of the sealing key of a text. */
export function sealKeyOf(sealed: string): string {
  return sealed.slice(0, sealed.indexOf('.'));
}

function placeOf({ tenant, connection }: CredentialPlace): string {
  return `connection:${tenant}:${connection}`;
}

/**
 * Tells two credentials apart. Bound to the connection, so that the same key in two places does not show; short, so that it
 * does not help to guess a weak key.
 */
function fingerprintOf({ connection }: CredentialPlace, what: Credential): string {
  const secret = what.kind === 'api-key' ? what.apiKey : (what.refreshToken ?? what.accessToken);
  return createHash('sha256').update(`${connection}:${secret}`).digest('hex').slice(0, FINGERPRINT_CHARS);
}
