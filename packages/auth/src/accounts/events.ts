/** Events of accounts. Anybody may guess, and where anybody may sign up, an account costs nothing. */
import type { UnitContext } from '@freehold/store';
import { type EventNote, type IdentityEventType, recordEvent } from '../events/operations.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import { directoryIssuer } from './contract.ts';
import { countRefusedSignIns, countStrangeAccountEvents } from './event-store.ts';

/** So many of either kind are recorded in a scope within an hour: enough to see what is going on. */
const RECORDED_MAX = 100;
const SPAN_MS = 3_600_000;

export type AccountEventType = Extract<
  IdentityEventType,
  | 'account_created'
  | 'account_renamed'
  | 'account_locked'
  | 'password_changed'
  | 'password_reset'
  | 'passkey_added'
  | 'passkey_removed'
  | 'totp_enabled'
  | 'totp_disabled'
  | 'recovery_codes_made'
  | 'recovery_code_used'
  | 'email_changed'
  | 'email_reverted'
  | 'account_deleted'
>;

export interface AccountNote {
  /** Absent: the platform did it, for the whole tenant. */
  readonly scopeId?: string;
  readonly userId: string;
  /** Who did it, when it was not the holder. */
  readonly by?: string;
  readonly detail?: Readonly<Record<string, string>>;
}

/** The subject that an account's sessions name. */
export function subjectOf(unit: UnitContext, userId: string): { issuer: string; sub: string } {
  return { issuer: directoryIssuer(unit.key), sub: userId };
}

/**
 * Records what happened to the account of a member, always. Of anybody else's it is recorded as long as there were
 * fewer than 100 such events in the scope within the hour before, since a stranger could fill the directory
 * otherwise; the last one says `further: not_recorded`.
 */
export function recordAccountEvent(unit: UnitContext, type: AccountEventType, note: AccountNote): void {
  const { scopeId, userId, by, detail } = note;
  const subject = subjectOf(unit, userId);
  const person = loadPerson(unit.db, subject.issuer, subject.sub);
  const principal = person && scopeId !== undefined ? loadBinding(unit.db, scopeId, person.id) : undefined;
  const told = { scopeId, subject, principal, actor: by, ...(detail ? { detail } : {}) };
  if (scopeId === undefined || principal !== undefined) recordEvent(unit, type, told);
  else recordWithin(unit, type, { ...told, scopeId }, countStrangeAccountEvents);
}

/**
 * Records that a sign-in was refused, as long as fewer than 100 were recorded in the scope within the hour before;
 * the last one says `further: not_recorded`. Of one account there is no bound but its lock: whether something is
 * written must not depend on whether there is an account. Nothing else is counted with these, so that guessing
 * passwords hides nothing else.
 * @param refused `userId` is undefined when there is no such account.
 */
export function recordRefusedSignIn(
  unit: UnitContext,
  refused: { readonly scopeId: string; readonly userId: string | undefined; readonly reason: string },
): void {
  const { scopeId, userId, reason } = refused;
  const subject = userId === undefined ? undefined : subjectOf(unit, userId);
  recordWithin(unit, 'sign_in_refused', { scopeId, subject, detail: { reason } }, countRefusedSignIns);
}

function recordWithin(
  unit: UnitContext,
  type: IdentityEventType,
  note: EventNote & { readonly scopeId: string },
  countRecent: typeof countRefusedSignIns,
): void {
  const untilMs = unit.now();
  const count = countRecent(unit.db, { scopeId: note.scopeId, afterMs: untilMs - SPAN_MS, untilMs });
  if (count >= RECORDED_MAX) return;
  const isLast = count + 1 === RECORDED_MAX;
  recordEvent(unit, type, isLast ? { ...note, detail: { ...note.detail, further: 'not_recorded' } } : note);
}
