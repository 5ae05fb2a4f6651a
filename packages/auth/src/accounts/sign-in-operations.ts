/** Signing in with a password and a second factor. The caller does the slow work between two calls. */
import type { UnitContext } from '@freehold/store';
import { requireEmailAddress } from '../lib/email-address.ts';
import type { SecretKeeper } from '../lib/secret-keeper.ts';
import { hashToken } from '../lib/token.ts';
import { passFirstFactor, refuseSignIn, requireAccount, requireHolder, signIn } from './account.ts';
import {
  countAttempt,
  forgetAttempts,
  passwordCounters,
  secondFactorCounters,
  sourceOf,
} from './attempts.ts';
import type { AccountOperations, Attempt, Limited, PasswordToJudge, SignedInStep } from './contract.ts';
import { recordAccountEvent } from './events.ts';
import { requirePasswordHash } from './input.ts';
import { hashRecoveryCode, isTotpCode, matchTotp, totpPlace } from './one-time-codes.ts';
import { deleteSecondFactor, loadSecondFactor, saveSecondFactorTries } from './pending-store.ts';
import {
  type AccountRow,
  countRecoveryCodes,
  loadAccount,
  loadAccountByEmail,
  savePasswordHash,
  saveTotpStep,
  useRecoveryCode,
} from './store.ts';

const TRIES_MAX = 5;
/** A longer text is no code, even without its blanks. */
const CODE_LENGTH_MAX = 64;

type SignInOperations = Pick<
  AccountOperations,
  'beginPassword' | 'beginConfirm' | 'finishPassword' | 'finishSecondFactor'
>;

export function makeSignInOperations(unit: UnitContext, keeper: SecretKeeper): SignInOperations {
  return {
    beginPassword(input) {
      const email = requireEmailAddress(input.email);
      return begin(unit, input, { email, account: loadAccountByEmail(unit.db, email) });
    },

    beginConfirm(input) {
      const account = requireHolder(unit, input);
      return begin(unit, input, { email: account.email, account });
    },

    finishPassword(input) {
      const { scopeId, rehash, session } = input;
      const account = input.userId === null ? undefined : loadAccount(unit.db, input.userId);
      // The attempt was counted against the account's own address, should the caller's be out of date.
      const email = account?.email ?? requireEmailAddress(input.email);
      const counters = passwordCounters(email, sourceOf(account, input));
      const isCurrent = account !== undefined && account.passwordChangedAtMs === input.passwordChangedMs;
      if (!input.right || !isCurrent || account.passwordHash === null) {
        const reason = input.right ? 'password_changed' : 'wrong_password';
        return refuseSignIn(unit, { scopeId, account, reason, counters });
      }
      const { userId } = account;
      if (session) requireHolder(unit, { userId, session });
      forgetAttempts(unit, counters);
      if (rehash !== undefined)
        savePasswordHash(unit.db, { userId, passwordHash: requirePasswordHash(rehash) });
      return passFirstFactor(unit, account);
    },

    finishSecondFactor(input) {
      const { scopeId } = input;
      const tokenHash = hashToken(input.token);
      const waiting = loadSecondFactor(unit.db, tokenHash);
      if (!waiting || unit.now() >= waiting.expiresAtMs) return { outcome: 'expired' };
      const { userId } = waiting;
      const account = requireAccount(unit, userId);
      const counters = secondFactorCounters(userId, sourceOf(account, input));
      const limited = countAttempt(unit, counters);
      if (limited) return limited;
      const taken = takeCode(unit, keeper, account, { scopeId, code: input.code });
      if (taken === null) {
        const tries = waiting.tries + 1;
        if (tries >= TRIES_MAX) deleteSecondFactor(unit.db, tokenHash);
        else saveSecondFactorTries(unit.db, { tokenHash, tries });
        return refuseSignIn(unit, { scopeId, account, reason: 'wrong_code', counters });
      }
      deleteSecondFactor(unit.db, tokenHash);
      forgetAttempts(unit, counters);
      return { ...signIn(unit, account), ...taken };
    },
  };
}

/** Counts an attempt at a password. Returns the hash to judge it by. */
function begin(
  unit: UnitContext,
  attempt: Attempt,
  { email, account }: { readonly email: string; readonly account: AccountRow | undefined },
): PasswordToJudge | Limited {
  const limited = countAttempt(unit, passwordCounters(email, sourceOf(account, attempt)));
  if (limited) return limited;
  return {
    outcome: 'judge',
    userId: account?.userId ?? null,
    hash: account?.passwordHash ?? null,
    passwordChangedMs: account?.passwordChangedAtMs ?? null,
  };
}

/** Uses up a code of either kind; null when the code is wrong or was used. */
function takeCode(
  unit: UnitContext,
  keeper: SecretKeeper,
  account: AccountRow,
  input: { scopeId: string; code: unknown },
): Pick<SignedInStep, 'recoveryCodesLeft'> | null {
  const { scopeId, code } = input;
  if (typeof code !== 'string' || code.length > CODE_LENGTH_MAX) return null;
  return takeTotpCode(unit, keeper, account, code) ? {} : takeRecoveryCode(unit, account, { scopeId, code });
}

function takeTotpCode(unit: UnitContext, keeper: SecretKeeper, account: AccountRow, typed: string): boolean {
  const { userId, totpSecret: value, totpSealed: sealed, totpStep: afterStep } = account;
  const code = typed.replace(/[\s-]/g, '');
  // A recovery code works also where the secret cannot be opened.
  if (!account.totpEnabled || value === null || !isTotpCode(code)) return false;
  const secret = keeper.reveal(totpPlace(userId), { value, sealed });
  const step = matchTotp(code, { secret, nowMs: unit.now(), afterStep });
  if (step === null) return false;
  saveTotpStep(unit.db, { userId, totpStep: step });
  return true;
}

function takeRecoveryCode(
  unit: UnitContext,
  { userId }: AccountRow,
  { scopeId, code }: { scopeId: string; code: string },
): Pick<SignedInStep, 'recoveryCodesLeft'> | null {
  const hash = hashRecoveryCode(code);
  if (hash === null || !useRecoveryCode(unit.db, { userId, hash })) return null;
  const recoveryCodesLeft = countRecoveryCodes(unit.db, userId);
  const detail = { left: `${recoveryCodesLeft}` };
  recordAccountEvent(unit, 'recovery_code_used', { scopeId, userId, detail });
  return { recoveryCodesLeft };
}
