/**
 * Ends every session of a person at once. A session says when it was issued, so that what ends them is a floor under
 * that time; the time of the next session is decided beside it, by the same clock.
 */
import type { UnitContext } from '@freehold/store';
import type { IssuedSubject } from '../lib/subject.ts';
import { isFromTheFuture } from './floor.ts';
import { loadLiveSessions, loadSessionFloor, raiseSessionFloor, saveEndedSession } from './store.ts';

type Person = Pick<IssuedSubject, 'issuer' | 'sub'>;

/**
 * Raises the floor to whatever was issued: up to now, by a machine whose clock is ahead, and by
 * {@link nextSessionTime} above an earlier floor.
 * @param upToMs a time that it shall reach at least.
 */
export function endSessionsOf(unit: UnitContext, { issuer, sub }: Person, upToMs = 0): void {
  const nowMs = unit.now();
  const formerMs = loadSessionFloor(unit.db, issuer, sub) ?? 0;
  let validAfterMs = Math.max(nowMs, upToMs, formerMs + 1);
  for (const { sid, startedMs, expiresMs } of loadLiveSessions(unit.db, { issuer, sub }, nowMs)) {
    // A floor as far ahead as that would keep their holder out until then.
    if (isFromTheFuture({ issuedAtMs: startedMs }, nowMs))
      saveEndedSession(unit.db, { sid, expiresAtMs: expiresMs });
    else validAfterMs = Math.max(validAfterMs, startedMs);
  }
  raiseSessionFloor(unit.db, { issuer, sub, validAfterMs });
}

/**
 * When a session is issued that this transaction gives rise to: above the floor that stands, and never above one that
 * is raised later. So whatever ends all sessions from now on ends this one too, whether or not it was recorded.
 */
export function nextSessionTime(unit: UnitContext, { issuer, sub }: Person): number {
  return Math.max(unit.now(), (loadSessionFloor(unit.db, issuer, sub) ?? 0) + 1);
}
