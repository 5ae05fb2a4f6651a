/**
 * Keeps secrets that the directory has to know again: sealed under the platform's keyring and bound to their place, so
 * that whoever has only the database, or moves a value to another row or tenant, has nothing.
 */
import { PlatformError } from '@freehold/contracts';
import type { Keyring, UnitContext } from '@freehold/store';

/** What NIST SP 800-38D asks of AES-GCM. */
const IV_BYTES = 12;

/** A secret as its row holds it. */
export interface KeptSecret {
  readonly value: string;
  /** 1 when the value is sealed, 0 when it is the secret itself. */
  readonly sealed: number;
}

/** Where a secret is kept in the tenant's database: table, column, and what tells its row from all others. */
export type SecretPlace = readonly [table: string, column: string, ...row: readonly string[]];

export interface SecretKeeper {
  /** What is to be stored. Without a keyring that is the secret itself. @throws as `Keyring.seal` does. */
  keep(place: SecretPlace, secret: string): KeptSecret;
  /**
   * The secret that a row holds.
   * @throws PlatformError `unavailable`, reason `seal_key_missing` without a keyring for what is sealed, and
   * `secret_unreadable` when none of its keys made this, for this place.
   */
  reveal(place: SecretPlace, kept: KeptSecret): string;
  /** The same, or null for what cannot be opened: for whoever replaces it anyway. */
  tryReveal(place: SecretPlace, kept: KeptSecret): string | null;
  /** Whether it is to be kept anew: in clear although there is a keyring, or under a key that is being replaced. */
  isDue(kept: KeptSecret): boolean;
}

/** @param keyring the platform's; undefined keeps secrets in clear. */
export function makeSecretKeeper(
  unit: Pick<UnitContext, 'key' | 'random'>,
  keyring: Keyring | undefined,
): SecretKeeper {
  // A list, because names joined by a separator could be joined in two ways.
  const placeOf = (place: SecretPlace): string => JSON.stringify(['identity', unit.key, ...place]);
  const tryReveal = (place: SecretPlace, { value, sealed }: KeptSecret): string | null => {
    if (sealed === 0) return value;
    return keyring === undefined ? null : keyring.open(placeOf(place), value);
  };
  return {
    keep: (place, secret) =>
      keyring === undefined
        ? { value: secret, sealed: 0 }
        : { value: keyring.seal(placeOf(place), secret, unit.random(IV_BYTES)), sealed: 1 },
    reveal: (place, kept) => {
      const secret = tryReveal(place, kept);
      if (secret === null) throw keyring === undefined ? keyMissing() : unreadable();
      return secret;
    },
    tryReveal,
    isDue: ({ value, sealed }) => keyring !== undefined && (sealed === 0 || keyring.isStale(value)),
  };
}

function keyMissing(): PlatformError {
  return new PlatformError(
    'unavailable',
    'Nobody can sign in: what this tenant keeps is sealed, and there is no key to open it.',
    { reason: 'seal_key_missing' },
  );
}

function unreadable(): PlatformError {
  return new PlatformError(
    'unavailable',
    'Nobody can sign in: what this tenant keeps is sealed under another key, or was changed or moved.',
    { reason: 'secret_unreadable' },
  );
}
