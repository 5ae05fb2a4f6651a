/** Seals what is kept in clear from before there was a key, and what is under a key that is being replaced. */
import type { UnitContext } from '@freehold/store';
import { loadTotpSecrets, saveTotpSecret } from '../accounts/store.ts';
import { totpPlace } from '../accounts/one-time-codes.ts';
import { configPlace, formerSecretPlace, sessionSecretPlace } from '../config/places.ts';
import {
  loadAllSettings,
  loadFormerSecrets,
  loadSecret,
  SESSION_SECRET,
  saveFormerSecretValue,
  saveSecretValue,
  saveSettingValue,
} from '../config/store.ts';
import type { KeptSecret, SecretKeeper, SecretPlace } from '../lib/secret-keeper.ts';

/** So many in one transaction, which other calls wait for. */
const LIMIT_DEFAULT = 500;

interface Row {
  readonly kept: KeptSecret;
  readonly place: SecretPlace;
  readonly save: (kept: KeptSecret) => void;
}

/** The sealing feature of the identity directory. */
export function makeSealingOperations(unit: UnitContext, keeper: SecretKeeper) {
  return {
    /**
     * Keeps anew, under the newest key, what is in clear or under an older one: at most `limit` secrets (default 500).
     * Answers how many it did, how many are `left` to do, and how many are `unreadable`, which stay as they are.
     * Without a keyring there is nothing to do. Reading an instance's configuration has this done where it is due.
     */
    resealSecrets(input: { limit?: number } = {}): { resealed: number; left: number; unreadable: number } {
      const { limit = LIMIT_DEFAULT } = input;
      const due = secretsOf(unit).filter(({ kept }) => keeper.isDue(kept));
      let resealed = 0;
      let unreadable = 0;
      for (const { kept, place, save } of due) {
        if (resealed === limit) break;
        const secret = keeper.tryReveal(place, kept);
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

/** The configuration goes last: as long as something of it is due, whoever reads it asks for the rest as well. */
function secretsOf({ db }: UnitContext): Row[] {
  const totp = loadTotpSecrets(db).map(
    ({ userId, ...kept }): Row => ({
      kept,
      place: totpPlace(userId),
      save: (anew) => saveTotpSecret(db, { userId, ...anew }),
    }),
  );
  const former = loadFormerSecrets(db).map(
    ({ id, validUntilMs, ...kept }): Row => ({
      kept,
      place: formerSecretPlace(validUntilMs),
      save: (anew) => saveFormerSecretValue(db, { id, ...anew }),
    }),
  );
  const settings = loadAllSettings(db).map(
    ({ scopeId, key, ...kept }): Row => ({
      kept,
      place: configPlace(scopeId, key),
      save: (anew) => saveSettingValue(db, { scopeId, key, ...anew }),
    }),
  );
  const session = loadSecret(db, SESSION_SECRET);
  const current: Row[] =
    session === undefined
      ? []
      : [
          {
            kept: session,
            place: sessionSecretPlace(),
            save: (anew) => saveSecretValue(db, { name: SESSION_SECRET, ...anew }),
          },
        ];
  return [...totp, ...former, ...settings, ...current];
}
