/** Turning the second factor on and off, and the recovery codes that come with it. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { SecretKeeper } from '../lib/secret-keeper.ts';
import { endWhatWasBegun, requireHolder } from './account.ts';
import type { AccountOperations } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { requireTotpSecret } from './input.ts';
import { voidSecondFactors } from './pending-store.ts';
import { makeRecoveryCode, RECOVERY_CODES } from './recovery-codes.ts';
import { deleteRecoveryCodes, deleteTotp, insertRecoveryCode, saveTotp } from './store.ts';
import { matchTotp, totpPlace } from './one-time-codes.ts';

type SecondFactorOperations = Pick<AccountOperations, 'enableTotp' | 'disableTotp' | 'makeRecoveryCodes'>;

export function makeSecondFactorOperations(unit: UnitContext, keeper: SecretKeeper): SecondFactorOperations {
  return {
    enableTotp(input) {
      const { scopeId, userId, code } = input;
      if (requireHolder(unit, input).totpEnabled === 1)
        throw new PlatformError('conflict', 'A second factor is in use already. Turn it off first.', {
          reason: 'totp_enabled',
        });
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
      // A session of somebody who has only the password must not live on beside the second factor.
      const sessionAtMs = endWhatWasBegun(unit, userId);
      return { recoveryCodes: replaceRecoveryCodes(unit, userId), sessionAtMs };
    },

    disableTotp(input) {
      const { scopeId, userId } = input;
      const { totpEnabled } = requireHolder(unit, input);
      deleteTotp(unit.db, userId);
      deleteRecoveryCodes(unit.db, userId);
      voidSecondFactors(unit.db, userId);
      if (totpEnabled === 1) recordAccountEvent(unit, 'totp_disabled', { scopeId, userId });
      return null;
    },

    makeRecoveryCodes(input) {
      const { scopeId, userId } = input;
      if (requireHolder(unit, input).totpEnabled === 0)
        throw new PlatformError(
          'conflict',
          'Recovery codes stand in for a second factor, and there is none.',
          { reason: 'totp_disabled' },
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
