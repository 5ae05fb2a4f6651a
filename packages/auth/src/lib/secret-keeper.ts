/**
 * Stores secrets that the directory must read again: sealed under the platform's keyring and bound to their place, so
 * that an attacker with only the database, or who moves a value to another row or tenant, has nothing.
 */

import type { PlatformError } from '@freehold/contracts';
import type { Keyring, UnitContext } from '@freehold/store';
import { refusal } from './refusals.ts';

/** Required by NIST SP 800-38D for AES-GCM. */
const IV_BYTES = 12;

export interface StoredSecret {
  readonly value: string;
  /** 1 when the value is sealed, 0 when it is the secret itself. */
  readonly sealed: number;
}

/** The place of a secret in the tenant's database: table, column, and the parts that identify its row. */
export type SecretPlace = readonly [table: string, column: string, ...row: readonly string[]];

export interface SecretKeeper {
  /** Returns the form to store; without a keyring, the secret itself. @throws as `Keyring.seal` does. */
  keep(place: SecretPlace, secret: string): StoredSecret;
  /**
   * Returns the secret of a row.
   * @throws PlatformError `unavailable`, reason `seal_key_missing` without a keyring for a sealed value, and
   * `secret_unreadable` when none of its keys made this, for this place.
   */
  reveal(place: SecretPlace, stored: StoredSecret): string;
  /** Returns the same, or null for a value that does not open: for callers that replace it anyway. */
  tryReveal(place: SecretPlace, stored: StoredSecret): string | null;
  /** Whether to store it anew: it is in clear although there is a keyring, or under a key that is being replaced. */
  isDue(stored: StoredSecret): boolean;
}

/** @param keyring the platform's; undefined stores secrets in clear. */
export function makeSecretKeeper(
  unit: Pick<UnitContext, 'key' | 'random'>,
  keyring: Keyring | undefined,
): SecretKeeper {
  // A list, because names joined by a separator could be joined in two ways.
  const placeOf = (place: SecretPlace): string => JSON.stringify(['identity', unit.key, ...place]);
  const tryReveal = (place: SecretPlace, { value, sealed }: StoredSecret): string | null => {
    if (sealed === 0) return value;
    return keyring === undefined ? null : keyring.open(placeOf(place), value);
  };
  return {
    keep: (place, secret) =>
      keyring === undefined
        ? { value: secret, sealed: 0 }
        : { value: keyring.seal(placeOf(place), secret, unit.random(IV_BYTES)), sealed: 1 },
    reveal: (place, stored) => {
      const secret = tryReveal(place, stored);
      if (secret === null) throw unreadable(keyring !== undefined);
      return secret;
    },
    tryReveal,
    isDue: ({ value, sealed }) => keyring !== undefined && (sealed === 0 || keyring.isStale(value)),
  };
}

function unreadable(hasKeyring: boolean): PlatformError {
  return hasKeyring
    ? refusal(
        'unavailable',
        'secret_unreadable',
        "Sign-in is unavailable: the tenant's secrets are sealed under another key, or were changed or moved.",
      )
    : refusal(
        'unavailable',
        'seal_key_missing',
        "Sign-in is unavailable: the tenant's secrets are sealed, and there is no key to open them.",
      );
}
