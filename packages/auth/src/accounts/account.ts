/** An account as the rest of the feature takes it: looked up, shown, signed in, and cut off from what was begun in its name. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { endSessionsOf, nextSessionTime } from '../sessions/end-all.ts';
import { sessionStateOf } from '../sessions/session-state.ts';
import type { Account, Holder, SignedInStep } from './contract.ts';
import { subjectOf } from './events.ts';
import { voidWhatWasBegun } from './pending-flow.ts';
import { type AccountRow, loadAccount } from './store.ts';

export function toAccount(row: AccountRow): Account {
  const { userId, email, name } = row;
  return { userId, email, name, emailVerified: row.emailVerified === 1 };
}

/** @throws PlatformError `not_found`, reason `account_unknown`. */
export function requireAccount(unit: UnitContext, userId: string): AccountRow {
  const row = loadAccount(unit.db, userId);
  if (!row) throw new PlatformError('not_found', 'There is no such account.', { reason: 'account_unknown' });
  return row;
}

/**
 * The account of somebody who is signed in, in the transaction that changes it: the session may have been ended since
 * the caller looked, and what ended it is not to be overtaken.
 * @throws PlatformError `not_found`, reason `account_unknown`; `unauthenticated`, reason `session_ended`.
 */
export function requireHolder(
  unit: UnitContext,
  { userId, session }: Pick<Holder, 'userId' | 'session'>,
): AccountRow {
  const row = requireAccount(unit, userId);
  if (sessionStateOf(unit, subjectOf(unit, userId), session) !== 'live')
    throw new PlatformError('unauthenticated', 'This session was ended. Sign in again.', {
      reason: 'session_ended',
    });
  return row;
}

/** The refusal to make a second account for one address. */
export function accountExists(): PlatformError {
  return new PlatformError('conflict', 'This e-mail address has an account already.', {
    reason: 'account_exists',
  });
}

/** Somebody has proved to be the account's holder. */
export function signIn(unit: UnitContext, row: AccountRow): SignedInStep {
  const sessionAtMs = nextSessionTime(unit, subjectOf(unit, row.userId));
  return { outcome: 'signed_in', account: toAccount(row), sessionAtMs };
}

/**
 * Ends what somebody else may have begun or hold while they had what the holder has now replaced: sessions, links and
 * half-completed sign-ins. Answers when the next session is issued, which is later than every one before.
 */
export function endWhatWasBegun(unit: UnitContext, userId: string): number {
  const subject = subjectOf(unit, userId);
  endSessionsOf(unit, subject);
  voidWhatWasBegun(unit, subject);
  return nextSessionTime(unit, subject);
}
