/** An account as the rest of the feature takes it: looked up, shown, and cut off from what was begun in its name. */
import { PlatformError } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { raiseSessionFloor } from '../sessions/store.ts';
import type { Account } from './contract.ts';
import { subjectOf } from './events.ts';
import { voidLinks } from './link-store.ts';
import { voidSecondFactors } from './pending-store.ts';
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

/** The refusal to make a second account for one address. */
export function accountExists(): PlatformError {
  return new PlatformError('conflict', 'This e-mail address has an account already.', {
    reason: 'account_exists',
  });
}

/**
 * Ends what somebody else may have begun or hold while the old password was known to them: sessions, links that are
 * on their way (one that changes the address included), and sign-ins that wait for a second factor.
 */
export function endWhatWasBegun(unit: UnitContext, userId: string): void {
  raiseSessionFloor(unit.db, { ...subjectOf(unit, userId), validAfterMs: unit.now() });
  voidLinks(unit.db, userId);
  voidSecondFactors(unit.db, userId);
}
