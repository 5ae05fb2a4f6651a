/** Whether a session was ended, asked inside the transaction that depends on it. */
import type { UnitContext } from '@freehold/store';
import type { IssuedSubject, SubjectSession } from '../lib/subject.ts';
import { isBelowFloor } from './floor.ts';
import { isSessionEnded, loadSessionFloor } from './store.ts';

/** Whether a session was ended: by itself, or with all others of its person. */
export function sessionStateOf(
  unit: UnitContext,
  subject: Pick<IssuedSubject, 'issuer' | 'sub'>,
  session: SubjectSession,
): 'live' | 'ended' {
  if (isSessionEnded(unit.db, session.sid)) return 'ended';
  const validAfterMs = loadSessionFloor(unit.db, subject.issuer, subject.sub) ?? null;
  return isBelowFloor(session, validAfterMs) ? 'ended' : 'live';
}
