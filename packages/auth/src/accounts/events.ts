/** Events of accounts. Where sign-up is open, an account costs nothing, so most of them are bounded. */
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { type IdentityEventType, recordEvent, recordWithinHour } from '../events/operations.ts';
import type { SubjectKey } from '../lib/subject.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import { directoryIssuer } from './contract.ts';

/** So many of either kind are recorded in a scope within an hour: enough to see what is going on. */
const RECORDED_MAX = 100;

export interface AccountNote {
  readonly scopeId?: string;
  readonly userId: string;
  readonly by?: string;
  readonly detail?: Readonly<Record<string, string>>;
}

export function subjectOf(unit: UnitContext, userId: string): SubjectKey {
  return { issuer: directoryIssuer(unit.key), sub: userId };
}

/** Records an event of an account: of members always, of other people at most 100 an hour and scope. */
export function recordAccountEvent(unit: UnitContext, type: IdentityEventType, note: AccountNote): void {
  const { scopeId, userId, by, detail } = note;
  const subject = subjectOf(unit, userId);
  const person = loadPerson(unit.db, subject.issuer, subject.sub);
  const principal = person && scopeId !== undefined ? loadBinding(unit.db, scopeId, person.id) : undefined;
  const event = { scopeId, subject, principal, actor: by, ...(detail && { detail }) };
  if (scopeId === undefined || principal !== undefined) recordEvent(unit, type, event);
  else
    recordWithinHour(
      unit,
      type,
      event,
      (hour) => RECORDED_MAX - countEvents(unit.db, STRANGE_ACCOUNT_EVENTS_SQL, { scopeId, ...hour }),
    );
}

/**
 * Records a refused sign-in: at most 100 an hour and scope. One account has no bound but its lock: whether a row is
 * written must not depend on whether there is an account. They are counted alone, so that guesses hide nothing else.
 * @param refused `userId` is undefined when there is no such account.
 */
export function recordRefusedSignIn(
  unit: UnitContext,
  refused: { readonly scopeId: string; readonly userId: string | undefined; readonly reason: string },
): void {
  const { scopeId, userId, reason } = refused;
  const subject = userId === undefined ? undefined : subjectOf(unit, userId);
  recordWithinHour(
    unit,
    'sign_in_refused',
    { scopeId, subject, detail: { reason } },
    (hour) => RECORDED_MAX - countEvents(unit.db, REFUSED_SIGN_INS_SQL, { scopeId, ...hour }),
  );
}

export const REFUSED_SIGN_INS_SQL = `SELECT count(*) AS events FROM identity_events
  WHERE scope_id = ? AND at > ? AND at <= ? AND type = 'sign_in_refused'`;

/** Counts events of accounts whose holder is no member of the scope. */
export const STRANGE_ACCOUNT_EVENTS_SQL = `SELECT count(*) AS events FROM identity_events
  WHERE scope_id = ? AND at > ? AND at <= ?
    AND principal IS NULL AND type IN ('account_created', 'account_renamed', 'account_locked', 'password_changed',
      'password_reset', 'passkey_added', 'passkey_removed', 'totp_enabled', 'totp_disabled', 'recovery_codes_made',
      'recovery_code_used', 'email_changed', 'email_reverted', 'account_deleted')`;

function countEvents(
  db: SqlDatabase,
  sql: string,
  hour: { readonly scopeId: string; readonly afterMs: number; readonly untilMs: number },
): number {
  return db.get<{ events: number }>(sql, hour.scopeId, hour.afterMs, hour.untilMs)?.events ?? 0;
}
