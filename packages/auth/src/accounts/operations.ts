/** The accounts feature of the identity directory, which `doAuthProvider` calls (see `contract.ts`). */

import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { requireEmailAddress } from '../lib/email-address.ts';
import { invalid, refusal } from '../lib/refusals.ts';
import type { SecretKeeper } from '../lib/secret-keeper.ts';
import { endAllOf, requireAccount, requireHolder, toAccount } from './account.ts';
import { forgetAttempts, passwordCounters } from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { recordAccountEvent, subjectOf } from './events.ts';
import { requireImportedHash, requireName, requirePasswordHash, requireTotpSecret } from './input.ts';
import { makeAccount, makeLinkOperations } from './link-operations.ts';
import { makeRecoveryCode, matchTotp, RECOVERY_CODES, totpPlace } from './one-time-codes.ts';
import { loadPasskeys } from './passkey-store.ts';
import { makePasskeyOperations, passkeyHandleOf, toPasskey } from './passkeys.ts';
import { voidSecondFactors } from './pending-store.ts';
import { makeSignInOperations } from './sign-in-operations.ts';
import {
  countRecoveryCodes,
  deleteAccountRows,
  deleteRecoveryCodes,
  deleteTotp,
  holdsOwnerSeat,
  insertRecoveryCode,
  loadAccount,
  saveAccountName,
  savePassword,
  saveTotp,
} from './store.ts';

export function makeAccountOperations(unit: UnitContext, keeper: SecretKeeper): AccountOperations {
  return {
    ...makeLinkOperations(unit),
    ...makeSignInOperations(unit, keeper),
    ...makePasskeyOperations(unit),
    ...makeSecondFactorOperations(unit, keeper),

    accountSecurity({ userId }) {
      const row = loadAccount(unit.db, userId);
      if (!row) return null;
      return {
        ...toAccount(row),
        createdMs: row.createdAtMs,
        passwordChangedMs: row.passwordChangedAtMs,
        totp: row.totpEnabled,
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

    setPassword(input) {
      const { scopeId, userId } = input;
      requireHolder(unit, input);
      // Later than all sessions of the old password, and so are the sessions and browsers of the new one.
      const sessionAtMs = endAllOf(unit, userId);
      savePassword(unit.db, {
        userId,
        passwordHash: requirePasswordHash(input.hash),
        passwordChangedAtMs: sessionAtMs,
      });
      recordAccountEvent(unit, 'password_changed', { scopeId, userId });
      return { sessionAtMs };
    },

    deleteAccount(input) {
      const { scopeId, userId } = input;
      const isOwn = 'session' in input;
      const { email } = isOwn ? requireHolder(unit, input) : requireAccount(unit, userId);
      if (holdsOwnerSeat(unit.db, subjectOf(unit, userId)))
        throw refusal(
          'conflict',
          'owner_seat_held',
          'This account holds the owner seat of an instance. Hand the seat over first.',
        );
      endAllOf(unit, userId);
      deleteAccountRows(unit.db, userId);
      forgetAttempts(unit, passwordCounters(email, {}));
      recordAccountEvent(unit, 'account_deleted', {
        userId,
        ...(scopeId === undefined ? {} : { scopeId }),
        ...(isOwn ? {} : { by: input.by }),
      });
      return null;
    },

    importAccount(input) {
      if (typeof input.emailVerified !== 'boolean')
        throw invalid(
          'emailVerified',
          'must be true or false',
          'An account says whether its address was verified.',
        );
      const account = makeAccount(unit, {
        email: requireEmailAddress(input.email),
        emailVerified: input.emailVerified,
        name: requireName(input.name),
        passwordHash: input.passwordHash === undefined ? null : requireImportedHash(input.passwordHash),
        passkeyHandle: null,
      });
      recordAccountEvent(unit, 'account_created', { userId: account.userId, detail: { how: 'import' } });
      return toAccount(account);
    },
  };
}

function makeSecondFactorOperations(
  unit: UnitContext,
  keeper: SecretKeeper,
): Pick<AccountOperations, 'enableTotp' | 'disableTotp' | 'makeRecoveryCodes'> {
  return {
    enableTotp(input) {
      const { scopeId, userId, code } = input;
      if (requireHolder(unit, input).totpEnabled)
        throw refusal('conflict', 'totp_enabled', 'A second factor is in use already. Turn it off first.');
      const secret = requireTotpSecret(input.secret);
      const typed = typeof code === 'string' ? code.replace(/[\s-]/g, '') : '';
      const step = matchTotp(typed, { secret, nowMs: unit.now(), afterStep: 0 });
      if (step === null)
        throw new PlatformError('validation_failed', 'This code is not right. Try the next one.', {
          reason: 'code_wrong',
          errors: [{ path: 'code', message: 'must be the present code' }],
        });
      saveTotp(unit.db, { userId, ...keeper.keep(totpPlace(userId), secret), step });
      recordAccountEvent(unit, 'totp_enabled', { scopeId, userId });
      // The session of an attacker with only the password must not outlive the second factor.
      const sessionAtMs = endAllOf(unit, userId);
      return { recoveryCodes: replaceRecoveryCodes(unit, userId), sessionAtMs };
    },

    disableTotp(input) {
      const { scopeId, userId } = input;
      const { totpEnabled } = requireHolder(unit, input);
      deleteTotp(unit.db, userId);
      deleteRecoveryCodes(unit.db, userId);
      voidSecondFactors(unit.db, userId);
      if (totpEnabled) recordAccountEvent(unit, 'totp_disabled', { scopeId, userId });
      return null;
    },

    makeRecoveryCodes(input) {
      const { scopeId, userId } = input;
      if (!requireHolder(unit, input).totpEnabled)
        throw refusal(
          'conflict',
          'totp_disabled',
          'Recovery codes stand in for a second factor, and there is none.',
        );
      recordAccountEvent(unit, 'recovery_codes_made', { scopeId, userId });
      return { recoveryCodes: replaceRecoveryCodes(unit, userId) };
    },
  };
}

function replaceRecoveryCodes(unit: UnitContext, userId: string): string[] {
  deleteRecoveryCodes(unit.db, userId);
  return Array.from({ length: RECOVERY_CODES }, () => {
    const { code, hash } = makeRecoveryCode(unit.random);
    insertRecoveryCode(unit.db, { userId, hash });
    return code;
  });
}
