/** Seals secrets that are stored in clear from before there was a key, or under a key that is being replaced. */
import type { UnitContext } from '@freehold/store';
import { totpPlace } from '../accounts/one-time-codes.ts';
import { loadTotpSecrets, saveTotpSecret } from '../accounts/store.ts';
import { configPlace, formerSecretPlace, SESSION_SECRET_PLACE } from '../config/operations.ts';
import {
  loadAllSettings,
  loadFormerSecrets,
  loadSecret,
  SESSION_SECRET,
  saveFormerSecretValue,
  saveSecretValue,
  saveSettingValue,
} from '../config/store.ts';
import type { SecretKeeper, SecretPlace, StoredSecret } from '../lib/secret-keeper.ts';

/** So many in one transaction, which other calls wait for. */
const LIMIT_DEFAULT = 500;

interface Row {
  readonly stored: StoredSecret;
  readonly place: SecretPlace;
  readonly save: (sealed: StoredSecret) => void;
}

export function makeSealingOperations(unit: UnitContext, keeper: SecretKeeper) {
  return {
    /**
     * Seals secrets in clear or under an older key with the newest one: at most `limit` (default 500). Returns how many
     * it did, how many are `left`, and how many are `unreadable`, which stay as they are. Without a keyring it does
     * nothing. Reading an instance's configuration calls it where it is due.
     */
    resealSecrets(input: { limit?: number } = {}): { resealed: number; left: number; unreadable: number } {
      const { limit = LIMIT_DEFAULT } = input;
      const due = secretsOf(unit).filter(({ stored }) => keeper.isDue(stored));
      let resealed = 0;
      let unreadable = 0;
      for (const { stored, place, save } of due) {
        if (resealed === limit) break;
        const secret = keeper.tryReveal(place, stored);
        if (secret === null) unreadable += 1;
        else {
          save(keeper.keep(place, secret));
          resealed += 1;
        }
      }
      return { resealed, left: due.length - resealed - unreadable, unreadable };
    },
  };
}

/** The configuration goes last: as long as a part of it is due, its readers ask for the rest as well. */
function secretsOf({ db }: UnitContext): Row[] {
  const totp = loadTotpSecrets(db).map(({ userId, ...stored }): Row => {
    const save = (sealed: StoredSecret) => saveTotpSecret(db, { userId, ...sealed });
    return { stored, place: totpPlace(userId), save };
  });
  const former = loadFormerSecrets(db).map(({ id, validUntilMs, ...stored }): Row => {
    const save = (sealed: StoredSecret) => saveFormerSecretValue(db, { id, ...sealed });
    return { stored, place: formerSecretPlace(validUntilMs), save };
  });
  const settings = loadAllSettings(db).map(({ scopeId, key, ...stored }): Row => {
    const save = (sealed: StoredSecret) => saveSettingValue(db, { scopeId, key, ...sealed });
    return { stored, place: configPlace(scopeId, key), save };
  });
  const current = [loadSecret(db, SESSION_SECRET) ?? []].flat().map((stored): Row => {
    const save = (sealed: StoredSecret) => saveSecretValue(db, { name: SESSION_SECRET, ...sealed });
    return { stored, place: SESSION_SECRET_PLACE, save };
  });
  return [...totp, ...former, ...settings, ...current];
}
