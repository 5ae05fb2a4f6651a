/** Whether sessions are live, and the end of all sessions of a person, inside the transaction that depends on it. */
import type { UnitContext } from '@freehold/store';
import {
  type EventNote,
  type IdentityEventType,
  recordEvent,
  recordWithinHour,
} from '../events/operations.ts';
import { isBelowFloor, isFromTheFuture, type SubjectKey, type SubjectSession } from '../lib/subject.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import { endGrantsOfSubject } from '../programs/grants.ts';
import {
  countStrangeEvents,
  isSessionEnded,
  loadLiveSessions,
  loadSessionFloor,
  raiseSessionFloor,
  saveEndedSession,
} from './store.ts';

/** Events of people without a membership that are recorded in a scope within an hour. */
const NON_MEMBER_EVENTS_MAX = 100;

/** Whether a session was ended: by itself, or with all others of its person. */
export function sessionStateOf(
  unit: UnitContext,
  { issuer, sub }: SubjectKey,
  session: SubjectSession,
): 'live' | 'ended' {
  if (isSessionEnded(unit.db, session.sid)) return 'ended';
  const validAfterMs = loadSessionFloor(unit.db, issuer, sub) ?? null;
  return isBelowFloor(session, validAfterMs) ? 'ended' : 'live';
}

/**
 * Ends every session of a person, and every program that they let in: raises the floor over all issue times, also those of a machine whose clock is ahead
 * and those of {@link nextSessionTime}.
 * @param upToMs a time that the floor must reach at least.
 */
export function endSessionsOf(unit: UnitContext, { issuer, sub }: SubjectKey, upToMs = 0): void {
  endGrantsOfSubject(unit, { issuer, sub });
  const nowMs = unit.now();
  const formerMs = loadSessionFloor(unit.db, issuer, sub) ?? 0;
  let validAfterMs = Math.max(nowMs, upToMs, formerMs + 1);
  for (const { sid, startedMs, expiresMs } of loadLiveSessions(unit.db, { issuer, sub }, nowMs)) {
    // A floor that far ahead would lock the person out until then.
    if (isFromTheFuture({ issuedAtMs: startedMs }, nowMs))
      saveEndedSession(unit.db, { sid, expiresAtMs: expiresMs });
    else validAfterMs = Math.max(validAfterMs, startedMs);
  }
  raiseSessionFloor(unit.db, { issuer, sub, validAfterMs });
}

/**
 * Returns the issue time of a session that this transaction begins: above the present floor, and never above a later
 * one. A later end of all sessions therefore ends it too, whether or not it was recorded.
 */
export function nextSessionTime(unit: UnitContext, { issuer, sub }: SubjectKey): number {
  return Math.max(unit.now(), (loadSessionFloor(unit.db, issuer, sub) ?? 0) + 1);
}

/**
 * Records an event of a session: of members always, of other people at most 100 an hour and scope. An event of the
 * whole tenant counts as a scope of its own, in which every former and present member is known.
 */
export function recordSessionEvent(
  unit: UnitContext,
  type: Extract<IdentityEventType, 'signed_in' | 'session_ended' | 'all_sessions_ended'>,
  note: EventNote,
): void {
  const { scopeId, subject } = note;
  const person = subject && loadPerson(unit.db, subject.issuer, subject.sub);
  const principal = person && scopeId !== undefined ? loadBinding(unit.db, scopeId, person.id) : undefined;
  const isKnown = scopeId === undefined ? person !== undefined : principal !== undefined;
  if (isKnown) recordEvent(unit, type, { ...note, principal });
  else
    recordWithinHour(
      unit,
      type,
      note,
      (hour) => NON_MEMBER_EVENTS_MAX - countStrangeEvents(unit.db, { scopeId: scopeId ?? null, ...hour }),
    );
}
