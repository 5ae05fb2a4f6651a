/** The accounts feature of the identity directory: what `doAuthProvider` calls (see `contract.ts`). */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { SecretKeeper } from '../lib/secret-keeper.ts';
import { endWhatWasBegun, requireAccount, requireHolder, toAccount } from './account.ts';
import { forgetAttempts, passwordCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { makeEmailOperations } from './email-operations.ts';
import { recordAccountEvent, subjectOf } from './events.ts';
import { requireName } from './input.ts';
import { findLiveLink } from './links.ts';
import { makePasskeyOperations, passkeyHandleOf, toPasskey } from './passkeys.ts';
import { loadPasskeys } from './passkey-store.ts';
import { makePasswordOperations } from './password-operations.ts';
import { makeSecondFactorOperations } from './second-factor-operations.ts';
import { makeSignInOperations } from './sign-in-operations.ts';
import { makeSignUpOperations } from './link-operations.ts';
import {
  countRecoveryCodes,
  deleteAccountRows,
  holdsOwnerSeat,
  loadAccount,
  saveAccountName,
} from './store.ts';

/** Builds the feature over a unit's database. What each operation promises is said in {@link AccountOperations}. */
export function makeAccountOperations(unit: UnitContext, keeper: SecretKeeper): AccountOperations {
  return {
    ...makeSignUpOperations(unit),
    ...makeSignInOperations(unit, keeper),
    ...makePasswordOperations(unit),
    ...makeEmailOperations(unit),
    ...makeSecondFactorOperations(unit, keeper),
    ...makePasskeyOperations(unit),

    showLink({ token, purpose }) {
      const link = findLiveLink(unit, token, purpose);
      if (link === null) return null;
      const { email, name, userId } = link;
      const passkeys = userId === null ? [] : loadPasskeys(unit.db, userId).map(toPasskey);
      return { email, name, userId, passkeys };
    },

    accountSecurity({ userId }) {
      const row = loadAccount(unit.db, userId);
      if (!row) return null;
      return {
        ...toAccount(row),
        createdMs: row.createdAtMs,
        passwordChangedMs: row.passwordChangedAtMs,
        totp: row.totpEnabled === 1,
        recoveryCodes: countRecoveryCodes(unit.db, userId),
        passkeys: loadPasskeys(unit.db, userId).map(toPasskey),
        passkeyHandle: passkeyHandleOf(row),
      };
    },

    findAccount({ userId }) {
      const row = loadAccount(unit.db, userId);
      return row ? toAccount(row) : null;
    },

    renameAccount(input) {
      const { scopeId, userId } = input;
      const row = requireHolder(unit, input);
      const name = requireName(input.name);
      if (name === row.name) return toAccount(row);
      saveAccountName(unit.db, { userId, name });
      recordAccountEvent(unit, 'account_renamed', { scopeId, userId });
      return toAccount({ ...row, name });
    },

    deleteAccount(input) {
      const { scopeId, userId } = input;
      const isOwn = 'session' in input;
      const { email } = isOwn ? requireHolder(unit, input) : requireAccount(unit, userId);
      if (holdsOwnerSeat(unit.db, subjectOf(unit, userId)))
        throw new PlatformError('conflict', 'The owner cannot be removed: nobody would be left in charge.', {
          reason: 'last_owner',
        });
      endWhatWasBegun(unit, userId);
      deleteAccountRows(unit.db, userId);
      forgetAttempts(unit, passwordCounters(email, {}));
      recordAccountEvent(unit, 'account_deleted', {
        userId,
        ...(scopeId === undefined ? {} : { scopeId }),
        ...(isOwn ? {} : { by: input.by }),
      });
      return null;
    },
  };
}
