/** What happens between a first factor and a completed sign-in, and how a refused one is told about. */
import { toTimestamp } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { mintToken } from '../lib/token.ts';
import { signIn, toAccount } from './account.ts';
import { type Counter, countAttempt, lockMailCounter, takeUnreportedLock } from './attempts.ts';
import type { Attempt, SignInStep } from './contract.ts';
import { recordAccountEvent, recordRefusedSignIn } from './events.ts';
import { forgetSecondFactors, insertSecondFactor } from './pending-store.ts';
import type { AccountRow } from './store.ts';

/** Long enough to fetch a phone. */
const SECOND_FACTOR_TTL_MS = 5 * 60_000;
/** Sign-ins of one account that may wait for a second factor at the same time. The oldest gives way. */
const SECOND_FACTORS_MAX = 5;
const FORGOTTEN_AT_ONCE = 20;

/** Completes a sign-in after its first factor, or asks for the second. */
export function passFirstFactor(unit: UnitContext, account: AccountRow): SignInStep {
  if (account.totpEnabled === 0) return signIn(unit, account);
  const nowMs = unit.now();
  const { userId } = account;
  const expiresAtMs = nowMs + SECOND_FACTOR_TTL_MS;
  const { token, hash } = mintToken(unit.random);
  forgetSecondFactors(unit.db, { userId, nowMs, rowsMax: FORGOTTEN_AT_ONCE, kept: SECOND_FACTORS_MAX - 1 });
  insertSecondFactor(unit.db, { tokenHash: hash, userId, expiresAtMs });
  return { outcome: 'second_factor', token, expiresAtMs };
}

/** The id of the browser that an attempt comes from, if the account knows it. A new password makes all unknown. */
export function knownBrowserId(account: AccountRow | undefined, { browser }: Attempt): string | undefined {
  const isKnown =
    browser !== undefined &&
    browser.userId === account?.userId &&
    browser.sinceMs >= (account.passwordChangedAtMs ?? 0);
  return isKnown ? browser.id : undefined;
}

export interface RefusedSignIn {
  readonly scopeId: string;
  /** Undefined when there is no such account. */
  readonly account: AccountRow | undefined;
  readonly reason:
    | 'wrong_password'
    | 'password_changed'
    | 'wrong_code'
    | 'passkey_counter'
    | 'passkey_unknown';
  /** What the attempt was counted against, if it was. */
  readonly counters?: readonly Counter[];
}

/**
 * Records that a sign-in was refused, and that the account is locked if it came to that: once a lock. Of an address
 * without an account the same is written but for the lock, of which there is nobody to tell.
 */
export function refuseSignIn(
  unit: UnitContext,
  { scopeId, account, reason, counters = [] }: RefusedSignIn,
): Extract<SignInStep, { readonly outcome: 'refused' }> {
  const userId = account?.userId;
  recordRefusedSignIn(unit, { scopeId, userId, reason });
  const lock = takeUnreportedLock(unit, counters);
  if (lock === null || account === undefined) return { outcome: 'refused' };
  recordAccountEvent(unit, 'account_locked', {
    scopeId,
    userId: account.userId,
    detail: { factor: lock.factor, until: toTimestamp(lock.untilMs) },
  });
  const isToBeTold = countAttempt(unit, [lockMailCounter(account.userId)]) === null;
  return isToBeTold ? { outcome: 'refused', locked: toAccount(account) } : { outcome: 'refused' };
}
