/** Turning the second factor on and off, and the recovery codes that come with it. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { requireAccount } from './account.ts';
import type { AccountOperations } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { voidSecondFactors } from './pending-store.ts';
import { makeRecoveryCode, RECOVERY_CODES } from './recovery-codes.ts';
import {
  deleteRecoveryCodes,
  deleteTotp,
  insertRecoveryCode,
  markTotpEnabled,
  saveFreshTotp,
  saveTotpStep,
} from './store.ts';
import { makeTotpSecret, matchTotp } from './totp.ts';

type SecondFactorOperations = Pick<
  AccountOperations,
  'beginTotp' | 'enableTotp' | 'disableTotp' | 'makeRecoveryCodes'
>;

export function makeSecondFactorOperations(unit: UnitContext): SecondFactorOperations {
  return {
    beginTotp({ userId }) {
      if (requireAccount(unit, userId).totpEnabled === 1)
        throw new PlatformError('conflict', 'A second factor is in use already. Turn it off first.', {
          reason: 'totp_enabled',
        });
      const secret = makeTotpSecret(unit.random);
      saveFreshTotp(unit.db, { userId, secret });
      return { secret };
    },

    enableTotp({ scopeId, userId, code }) {
      const { totpSecret: secret, totpEnabled, totpStep: afterStep } = requireAccount(unit, userId);
      if (secret === null || totpEnabled === 1)
        throw new PlatformError('conflict', 'There is no new second factor to turn on. Begin again.', {
          reason: 'totp_not_begun',
        });
      const typed = typeof code === 'string' ? code.replace(/[\s-]/g, '') : '';
      const step = matchTotp(typed, { secret, nowMs: unit.now(), afterStep });
      if (step === null)
        throw new PlatformError('validation_failed', 'This code is not right. Try the next one.', {
          reason: 'code_wrong',
          errors: [{ path: 'code', message: 'must be the present code' }],
        });
      markTotpEnabled(unit.db, userId);
      saveTotpStep(unit.db, { userId, step });
      recordAccountEvent(unit, 'totp_enabled', { scopeId, userId });
      return { recoveryCodes: replaceRecoveryCodes(unit, userId) };
    },

    disableTotp({ scopeId, userId }) {
      const { totpEnabled } = requireAccount(unit, userId);
      deleteTotp(unit.db, userId);
      deleteRecoveryCodes(unit.db, userId);
      voidSecondFactors(unit.db, userId);
      if (totpEnabled === 1) recordAccountEvent(unit, 'totp_disabled', { scopeId, userId });
      return null;
    },

    makeRecoveryCodes({ scopeId, userId }) {
      if (requireAccount(unit, userId).totpEnabled === 0)
        throw new PlatformError(
          'conflict',
          'Recovery codes stand in for a second factor, and there is none.',
          {
            reason: 'totp_disabled',
          },
        );
      recordAccountEvent(unit, 'recovery_codes_made', { scopeId, userId });
      return { recoveryCodes: replaceRecoveryCodes(unit, userId) };
    },
  };
}

/** Ten fresh codes in the place of whatever is left of the earlier ones. */
function replaceRecoveryCodes(unit: UnitContext, userId: string): string[] {
  deleteRecoveryCodes(unit.db, userId);
  return Array.from({ length: RECOVERY_CODES }, () => {
    const { code, hash } = makeRecoveryCode(unit.random);
    insertRecoveryCode(unit.db, { userId, hash });
    return code;
  });
}
