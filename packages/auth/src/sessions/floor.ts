/** What a session's time says against it: the floor up to which all of a person's were ended, and the future. */
import type { SubjectSession } from '../lib/subject.ts';

/**
 * Whether a session was issued at or before the floor. One of the very millisecond was, and one whose time is no
 * number was too: the comparison is written so that it fails closed.
 */
export function isBelowFloor(session: SubjectSession, validAfterMs: number | null): boolean {
  return validAfterMs !== null && !(session.issuedAtMs > validAfterMs);
}

/** Clocks of several machines disagree by less; one that is off by more is broken. */
const FUTURE_MAX_MS = 24 * 3_600_000;

/** Whether a session begins more than a day from now: under a clock that is so far behind it would outlive its end. */
export function isFromTheFuture(session: Pick<SubjectSession, 'issuedAtMs'>, nowMs: number): boolean {
  return !(session.issuedAtMs <= nowMs + FUTURE_MAX_MS);
}
