/** What happens between a first factor and a completed sign-in, and how a refused one is told about. */
import { toTimestamp } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { mintToken } from '../lib/token.ts';
import { toAccount } from './account.ts';
import { type Counter, takeUntoldLock } from './attempts.ts';
import type { SignInStep } from './contract.ts';
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
  if (account.totpEnabled === 0) return { outcome: 'signed_in', account: toAccount(account) };
  const nowMs = unit.now();
  const { userId } = account;
  const expiresAtMs = nowMs + SECOND_FACTOR_TTL_MS;
  const { token, hash } = mintToken(unit.random);
  forgetSecondFactors(unit.db, { userId, nowMs, rowsMax: FORGOTTEN_AT_ONCE, kept: SECOND_FACTORS_MAX - 1 });
  insertSecondFactor(unit.db, { tokenHash: hash, userId, expiresAtMs });
  return { outcome: 'second_factor', token, expiresAtMs };
}

export interface RefusedSignIn {
  readonly scopeId: string;
  /** Undefined when there is no such account. */
  readonly userId: string | undefined;
  readonly reason:
    | 'wrong_password'
    | 'password_changed'
    | 'wrong_code'
    | 'passkey_counter'
    | 'passkey_unknown';
  /** What the attempt was counted against, if it was. */
  readonly counter?: Counter;
}

/**
 * Records that a sign-in was refused, and that the account is locked if it came to that: once a lock. Of an address
 * without an account the same is written but for the lock, of which there is nobody to tell.
 */
export function refuseSignIn(unit: UnitContext, refused: RefusedSignIn): { readonly outcome: 'refused' } {
  const { scopeId, userId, reason, counter } = refused;
  recordRefusedSignIn(unit, { scopeId, userId, reason });
  const lockedUntilMs = counter ? takeUntoldLock(unit, counter) : null;
  if (lockedUntilMs !== null && counter && userId !== undefined)
    recordAccountEvent(unit, 'account_locked', {
      scopeId,
      userId,
      detail: { factor: counter.kind, until: toTimestamp(lockedUntilMs) },
    });
  return { outcome: 'refused' };
}
