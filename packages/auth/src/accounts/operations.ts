/** The accounts feature of the identity directory: what `doAuthProvider` calls (see `contract.ts`). */
import type { UnitContext } from '@freehold/store';
import { requireAccount, toAccount } from './account.ts';
import type { AccountOperations } from './contract.ts';
import { makeEmailOperations } from './email-operations.ts';
import { recordAccountEvent } from './events.ts';
import { requireName } from './input.ts';
import { findLiveLink } from './links.ts';
import { makePasskeyOperations, toPasskey } from './passkey-operations.ts';
import { loadPasskeys } from './passkey-store.ts';
import { makePasswordOperations } from './password-operations.ts';
import { makeSecondFactorOperations } from './second-factor-operations.ts';
import { makeSignInOperations } from './sign-in-operations.ts';
import { makeSignUpOperations } from './sign-up-operations.ts';
import { countRecoveryCodes, loadAccount, saveAccountName } from './store.ts';

/** Builds the feature over a unit's database. What each operation promises is said in {@link AccountOperations}. */
export function makeAccountOperations(unit: UnitContext): AccountOperations {
  return {
    ...makeSignUpOperations(unit),
    ...makeSignInOperations(unit),
    ...makePasswordOperations(unit),
    ...makeEmailOperations(unit),
    ...makeSecondFactorOperations(unit),
    ...makePasskeyOperations(unit),

    showLink({ token, purpose }) {
      const link = findLiveLink(unit, token, purpose);
      return link && { email: link.email, name: link.name };
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
      };
    },

    findAccount({ userId }) {
      const row = loadAccount(unit.db, userId);
      return row ? toAccount(row) : null;
    },

    renameAccount({ scopeId, userId, name: typed }) {
      const row = requireAccount(unit, userId);
      const name = requireName(typed);
      if (name === row.name) return toAccount(row);
      saveAccountName(unit.db, { userId, name });
      recordAccountEvent(unit, 'account_renamed', { scopeId, userId });
      return toAccount({ ...row, name });
    },
  };
}
