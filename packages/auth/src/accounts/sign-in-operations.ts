/** Signing in with a password and a second factor. What is slow is done by the caller, between two calls. */
import type { UnitContext } from '@freehold/store';
import { hashToken } from '../lib/token.ts';
import { requireAccount, toAccount } from './account.ts';
import {
  countAttempt,
  forgetAttempts,
  networkCounters,
  passwordCounter,
  refundAttempt,
  secondFactorCounter,
} from './attempts.ts';
import type { AccountOperations } from './contract.ts';
import { requireEmailAddress } from './email-address.ts';
import { recordAccountEvent } from './events.ts';
import { requirePasswordHash } from './input.ts';
import { deleteSecondFactor, loadSecondFactor, saveSecondFactorTries } from './pending-store.ts';
import { hashRecoveryCode } from './recovery-codes.ts';
import { passFirstFactor, refuseSignIn } from './sign-in-steps.ts';
import {
  type AccountRow,
  countRecoveryCodes,
  loadAccount,
  loadAccountByEmail,
  savePasswordHash,
  saveTotpStep,
  useRecoveryCode,
} from './store.ts';
import { matchTotp } from './totp.ts';

/** Wrong codes that one token stands. */
const TRIES_MAX = 5;
/** What is longer is no code, whatever is left of it without blanks. */
const CODE_LENGTH_MAX = 64;

type SignInOperations = Pick<
  AccountOperations,
  'beginPassword' | 'beginConfirm' | 'finishPassword' | 'finishSecondFactor'
>;

export function makeSignInOperations(unit: UnitContext): SignInOperations {
  return {
    beginPassword(input) {
      const email = requireEmailAddress(input.email);
      const limited = countAttempt(unit, [passwordCounter(email), ...networkCounters(input.address)]);
      if (limited) return limited;
      const account = loadAccountByEmail(unit.db, email);
      return { outcome: 'judge', userId: account?.userId ?? null, hash: account?.passwordHash ?? null };
    },

    beginConfirm(input) {
      const { userId, email, passwordHash } = requireAccount(unit, input.userId);
      const limited = countAttempt(unit, [passwordCounter(email), ...networkCounters(input.address)]);
      return limited ?? { outcome: 'judge', userId, hash: passwordHash };
    },

    finishPassword(input) {
      const { scopeId, address, rehash } = input;
      const account = input.userId === null ? undefined : loadAccount(unit.db, input.userId);
      // The account's own address, should the caller's be out of date: the attempt was counted against that.
      const counter = passwordCounter(account?.email ?? requireEmailAddress(input.email));
      const stands = account !== undefined && account.passwordHash === input.judgedHash;
      if (!input.right || !stands || account.passwordHash === null) {
        const reason = input.right ? 'password_changed' : 'wrong_password';
        return refuseSignIn(unit, { scopeId, userId: account?.userId, reason, counter });
      }
      forgetAttempts(unit, counter);
      refundAttempt(unit, networkCounters(address));
      if (rehash !== undefined)
        savePasswordHash(unit.db, { userId: account.userId, hash: requirePasswordHash(rehash) });
      return input.confirm
        ? { outcome: 'signed_in', account: toAccount(account) }
        : passFirstFactor(unit, account);
    },

    finishSecondFactor(input) {
      const { scopeId, address } = input;
      const tokenHash = hashToken(input.token);
      const waiting = loadSecondFactor(unit.db, tokenHash);
      if (!waiting || unit.now() >= waiting.expiresAtMs) return { outcome: 'expired' };
      const { userId } = waiting;
      const account = requireAccount(unit, userId);
      const counter = secondFactorCounter(userId);
      const limited = countAttempt(unit, [counter, ...networkCounters(address)]);
      if (limited) return limited;
      if (!takeCode(unit, account, { scopeId, code: input.code })) {
        const tries = waiting.tries + 1;
        if (tries >= TRIES_MAX) deleteSecondFactor(unit.db, tokenHash);
        else saveSecondFactorTries(unit.db, { tokenHash, tries });
        return refuseSignIn(unit, { scopeId, userId, reason: 'wrong_code', counter });
      }
      deleteSecondFactor(unit.db, tokenHash);
      forgetAttempts(unit, counter);
      refundAttempt(unit, networkCounters(address));
      return { outcome: 'signed_in', account: toAccount(account) };
    },
  };
}

/** Uses a code of either kind up; false when it is wrong or was used. */
function takeCode(
  unit: UnitContext,
  account: AccountRow,
  input: { scopeId: string; code: unknown },
): boolean {
  const { scopeId, code } = input;
  if (typeof code !== 'string' || code.length > CODE_LENGTH_MAX) return false;
  return takeTotpCode(unit, account, code) || takeRecoveryCode(unit, account, { scopeId, code });
}

function takeTotpCode(unit: UnitContext, account: AccountRow, typed: string): boolean {
  const { userId, totpSecret: secret, totpStep: afterStep } = account;
  if (account.totpEnabled === 0 || secret === null) return false;
  const step = matchTotp(typed.replace(/[\s-]/g, ''), { secret, nowMs: unit.now(), afterStep });
  if (step === null) return false;
  saveTotpStep(unit.db, { userId, step });
  return true;
}

function takeRecoveryCode(
  unit: UnitContext,
  { userId }: AccountRow,
  { scopeId, code }: { scopeId: string; code: string },
): boolean {
  const hash = hashRecoveryCode(code);
  if (hash === null || !useRecoveryCode(unit.db, { userId, hash })) return false;
  const left = `${countRecoveryCodes(unit.db, userId)}`;
  recordAccountEvent(unit, 'recovery_code_used', { scopeId, userId, detail: { left } });
  return true;
}
