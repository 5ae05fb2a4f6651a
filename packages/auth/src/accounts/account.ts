/** The steps that all operations of accounts share: finding an account, and completing or refusing a sign-in. */

import { type PlatformError, toTimestamp } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { refusal } from '../lib/refusals.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { mintToken } from '../lib/token.ts';
import { endSessionsOf, nextSessionTime, sessionStateOf } from '../sessions/session-state.ts';
import { type Counter, countAttempt, lockMailCounter, takeUnreportedLock } from './attempts.ts';
import {
  type Account,
  directoryIssuer,
  type Holder,
  type SignedInStep,
  type SignInStep,
} from './contract.ts';
import { recordAccountEvent, recordRefusedSignIn, subjectOf } from './events.ts';
import { voidLinks } from './link-store.ts';
import { forgetSecondFactors, insertSecondFactor, voidSecondFactors } from './pending-store.ts';
import { type AccountRow, loadAccount } from './store.ts';

/** Long enough to fetch a phone. */
const SECOND_FACTOR_TTL_MS = 5 * 60_000;
/** Sign-ins of one account that may wait for a second factor at once. A new one replaces the oldest. */
const SECOND_FACTORS_MAX = 5;
const FORGOTTEN_AT_ONCE = 20;

export function toAccount(row: AccountRow): Account {
  const { userId, email, name } = row;
  return { userId, email, name, emailVerified: row.emailVerified };
}

/** @throws PlatformError `not_found`, reason `account_unknown`. */
export function requireAccount(unit: UnitContext, userId: string): AccountRow {
  const row = loadAccount(unit.db, userId);
  if (!row) throw refusal('not_found', 'account_unknown', 'There is no such account.');
  return row;
}

/**
 * Returns the account of a signed-in holder, in the transaction that changes it: the session may have ended since the
 * caller looked.
 * @throws PlatformError `not_found`, reason `account_unknown`; `unauthenticated`, reason `session_ended`.
 */
export function requireHolder(
  unit: UnitContext,
  { userId, session }: Pick<Holder, 'userId' | 'session'>,
): AccountRow {
  const row = requireAccount(unit, userId);
  if (sessionStateOf(unit, subjectOf(unit, userId), session) !== 'live')
    throw refusal('unauthenticated', 'session_ended', 'This session was ended. Sign in again.');
  return row;
}

export function accountExists(): PlatformError {
  return refusal('conflict', 'account_exists', 'This e-mail address has an account already.');
}

export function signIn(unit: UnitContext, row: AccountRow): SignedInStep {
  const sessionAtMs = nextSessionTime(unit, subjectOf(unit, row.userId));
  return { outcome: 'signed_in', account: toAccount(row), sessionAtMs };
}

/** Completes a sign-in after its first factor, or asks for the second. */
export function passFirstFactor(unit: UnitContext, account: AccountRow): SignInStep {
  if (!account.totpEnabled) return signIn(unit, account);
  const nowMs = unit.now();
  const { userId } = account;
  const expiresAtMs = nowMs + SECOND_FACTOR_TTL_MS;
  const { token, hash } = mintToken(unit.random);
  forgetSecondFactors(unit.db, {
    userId,
    nowMs,
    rowsMax: FORGOTTEN_AT_ONCE,
    newestMax: SECOND_FACTORS_MAX - 1,
  });
  insertSecondFactor(unit.db, { tokenHash: hash, userId, tries: 0, expiresAtMs });
  return { outcome: 'second_factor', token, expiresAtMs };
}

/**
 * Records a refused sign-in, and once a lock that the account is locked. An address without an account leaves the same
 * rows but for the lock, which has no holder to notify.
 */
export function refuseSignIn(
  unit: UnitContext,
  refusal: {
    readonly scopeId: string;
    /** Undefined when there is no such account. */
    readonly account: AccountRow | undefined;
    readonly reason:
      | 'wrong_password'
      | 'password_changed'
      | 'wrong_code'
      | 'passkey_counter'
      | 'passkey_unknown';
    /** The counters of the attempt, if it was counted. */
    readonly counters?: readonly Counter[];
  },
): Extract<SignInStep, { readonly outcome: 'refused' }> {
  const { scopeId, account, reason, counters = [] } = refusal;
  recordRefusedSignIn(unit, { scopeId, userId: account?.userId, reason });
  const lock = takeUnreportedLock(unit, counters);
  if (lock === null || account === undefined) return { outcome: 'refused' };
  recordAccountEvent(unit, 'account_locked', {
    scopeId,
    userId: account.userId,
    detail: { factor: lock.factor, until: toTimestamp(lock.untilMs) },
  });
  const isNotified = countAttempt(unit, [lockMailCounter(account.userId)]) === null;
  return isNotified ? { outcome: 'refused', locked: toAccount(account) } : { outcome: 'refused' };
}

/**
 * Voids the links and waiting sign-ins of an account, which an attacker may have begun. A link that reverts a change of
 * address stays: a thief of the account would void it first. A person of another issuer has neither.
 */
export function voidPendingFlows(unit: UnitContext, { issuer, sub }: SubjectKey): void {
  if (issuer !== directoryIssuer(unit.key)) return;
  voidLinks(unit.db, sub);
  voidSecondFactors(unit.db, sub);
}

/**
 * Ends all sessions, links and waiting sign-ins of an account whose credential or address its holder has replaced.
 * Returns when the next session is issued, which is later than every one before.
 */
export function endAllOf(unit: UnitContext, userId: string): number {
  const subject = subjectOf(unit, userId);
  endSessionsOf(unit, subject);
  voidPendingFlows(unit, subject);
  return nextSessionTime(unit, subject);
}
