/** Events of sessions. Whoever has an account at the issuer can bring them about, over and over. */
import type { UnitContext } from '@freehold/store';
import { type EventNote, type IdentityEventType, recordEvent } from '../events/operations.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import { countStrangeEvents } from './store.ts';

/** Of people who are no members, so many in a scope within an hour are recorded: enough to see that they come. */
const STRANGE_EVENTS_MAX = 100;
const STRANGE_EVENTS_SPAN_MS = 3_600_000;

export type SessionEventType = Extract<
  IdentityEventType,
  'signed_in' | 'session_ended' | 'all_sessions_ended'
>;

/**
 * Records what happened to a member's session, always. Of anybody else it is recorded as long as there were fewer
 * than 100 such events in the scope within the hour before, since a stranger could fill the directory otherwise; the
 * last one says `further: not_recorded`. What concerns the whole tenant counts as a scope of its own, and everybody
 * who was ever a member somewhere as known there.
 */
export function recordSessionEvent(unit: UnitContext, type: SessionEventType, note: EventNote): void {
  const { scopeId, subject } = note;
  const person = subject && loadPerson(unit.db, subject.issuer, subject.sub);
  const principal = person && scopeId !== undefined ? loadBinding(unit.db, scopeId, person.id) : undefined;
  const isKnown = scopeId === undefined ? person !== undefined : principal !== undefined;
  if (isKnown) {
    recordEvent(unit, type, { ...note, principal });
    return;
  }
  const untilMs = unit.now();
  const afterMs = untilMs - STRANGE_EVENTS_SPAN_MS;
  const count = countStrangeEvents(unit.db, { scopeId: scopeId ?? null, afterMs, untilMs });
  if (count >= STRANGE_EVENTS_MAX) return;
  const isLast = count + 1 === STRANGE_EVENTS_MAX;
  recordEvent(unit, type, isLast ? { ...note, detail: { ...note.detail, further: 'not_recorded' } } : note);
}
