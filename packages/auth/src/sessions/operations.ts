/**
 * Ends sessions. They are signed cookies and would live for their seven days: what is kept here makes the next
 * request with one of them nobody's (design: identity, "Sessions and cookies").
 */
import type { UnitContext } from '@freehold/store';
import { recordEvent } from '../events/operations.ts';
import { requireSubject, savePerson } from '../people/person.ts';
import { loadBinding, loadPerson } from '../people/store.ts';
import type { IssuedSubject, SubjectSession } from '../subject.ts';
import { isBelowFloor } from './floor.ts';
import {
  deleteEndedSessionsBefore,
  isSessionEnded,
  loadSessionFloor,
  raiseSessionFloor,
  saveEndedSession,
} from './store.ts';

/** How long after its expiry an ended session is remembered, for clocks that disagree across machines. */
const CLOCK_MARGIN_MS = 24 * 3_600_000;

/** The sessions feature of the identity directory. */
export function makeSessionOperations(unit: UnitContext) {
  return {
    /** Records a completed sign-in, and brings a known person's record up to date. Binds nobody, claims nothing. */
    recordSignIn(input: { scopeId: string; subject: IssuedSubject; session?: SubjectSession }): null {
      const { scopeId, subject, session } = input;
      requireSubject(subject);
      const person = loadPerson(unit.db, subject.issuer, subject.sub);
      if (person) savePerson(unit, { subject, session }, scopeId);
      const principal = person && loadBinding(unit.db, scopeId, person.id);
      recordEvent(unit, 'signed_in', { scopeId, subject, principal });
      return null;
    },

    /** Whether a session was ended. It says nothing about the signature and the expiry of the cookie. */
    sessionState(input: {
      subject: Pick<IssuedSubject, 'issuer' | 'sub'>;
      session: SubjectSession;
    }): 'live' | 'ended' {
      const { subject, session } = input;
      if (isSessionEnded(unit.db, session.sid)) return 'ended';
      const validAfterMs = loadSessionFloor(unit.db, subject.issuer, subject.sub) ?? null;
      return isBelowFloor(session, validAfterMs) ? 'ended' : 'live';
    },

    /** Ends one session, until it would have expired anyway. Ending it again changes nothing. */
    endSession(input: {
      sid: string;
      expiresAtMs: number;
      subject?: Pick<IssuedSubject, 'issuer' | 'sub'>;
      scopeId?: string;
    }): { ended: boolean } {
      if (isSessionEnded(unit.db, input.sid)) return { ended: false };
      deleteEndedSessionsBefore(unit.db, unit.now() - CLOCK_MARGIN_MS);
      saveEndedSession(unit.db, input);
      recordEvent(unit, 'session_ended', { scopeId: input.scopeId, subject: input.subject });
      return { ended: true };
    },

    /** Ends every session of a person that was issued at or before `nowMs`, in every scope of the tenant. */
    endAllSessions(input: { issuer: string; sub: string; nowMs: number; by?: string }): null {
      raiseSessionFloor(unit.db, { issuer: input.issuer, sub: input.sub, validAfterMs: input.nowMs });
      recordEvent(unit, 'all_sessions_ended', { subject: input, actor: input.by });
      return null;
    },
  };
}
