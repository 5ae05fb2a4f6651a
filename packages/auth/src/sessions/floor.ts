/** The floor of a person's sessions: the time up to which all of them were ended. */
import type { SubjectSession } from '../subject.ts';

/**
 * Whether a session was issued at or before the floor. One of the very millisecond was, and one whose time is no
 * number was too: the comparison is written so that it fails closed.
 */
export function isBelowFloor(session: SubjectSession, validAfterMs: number | null): boolean {
  return validAfterMs !== null && !(session.issuedAtMs > validAfterMs);
}
