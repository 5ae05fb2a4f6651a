/**
 * Lists sessions and ends them. They are signed cookies that live for seven days: the rows written here end them with
 * the next request (design: identity, "Sessions and cookies").
 */

import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { isScopeForgotten } from '../events/store.ts';
import { refusal } from '../lib/refusals.ts';
import {
  type IssuedSubject,
  isFromTheFuture,
  requireSubject,
  type SubjectKey,
  type SubjectSession,
} from '../lib/subject.ts';
import { savePerson } from '../people/person.ts';
import { loadPerson } from '../people/store.ts';
import { type EndIssuerSessionsInput, endIssuerSessions } from './issuer-logout.ts';
import { endSessionsOf, recordSessionEvent, sessionStateOf } from './session-state.ts';
import {
  deleteFloorsBefore,
  deleteIssuerWordsBefore,
  deleteSession,
  deleteSessionsBefore,
  insertSession,
  isIdpSessionEnded,
  isSessionEnded,
  loadLiveSessions,
  loadSession,
  loadSurplusSessions,
  type SessionRow,
  saveEndedSession,
} from './store.ts';

/** A session is remembered for this long after its expiry, for clocks that disagree across machines. */
const CLOCK_MARGIN_MS = 24 * 3_600_000;
/** More browsers than one person has; a program that signs in over and over does not fill the directory. */
const SESSIONS_MAX = 50;

export interface SignInInput {
  readonly scopeId: string;
  readonly subject: IssuedSubject;
  /** The session that began; absent when there is none, as behind an access token. */
  readonly session?: SubjectSession | undefined;
  /** When the session expires. Default: 7 days after it was issued. */
  readonly expiresAtMs?: number | undefined;
  /** The issuer's own session, which its logout tokens name: the `sid` of the ID token. */
  readonly idpSid?: string | undefined;
  /** The browser and system, from `clientLabel`. */
  readonly client?: string | null | undefined;
}

/** One of a person's sessions, as that person may see it. */
export interface ListedSession {
  readonly sid: string;
  readonly scopeId: string;
  /** Such as "Firefox on Linux"; null when unknown. */
  readonly client: string | null;
  readonly startedMs: number;
  readonly expiresMs: number;
}

/**
 * The sessions feature of the identity directory.
 * @param onAllEnded voids the links and pending sign-ins of a person whose sessions all end.
 */
export function makeSessionOperations(unit: UnitContext, onAllEnded: (subject: SubjectKey) => void) {
  return {
    /**
     * Records a completed sign-in and lists its session; a known person's record is brought up to date. Binds no
     * person, claims no seat. Of one person and scope 50 sessions are listed, and the oldest beyond them is ended.
     *
     * `ended`: the session must not be given out, because it was ended meanwhile, its issuer has ended the session
     * behind it, or the scope was forgotten. No event is recorded then, and the session stays ended.
     * @throws PlatformError `unauthenticated` for a subject without issuer or `sub`.
     */
    recordSignIn(input: SignInInput): 'live' | 'ended' {
      const { scopeId, subject, session, idpSid } = input;
      requireSubject(subject);
      purge(unit);
      if (isScopeForgotten(unit.db, scopeId)) return 'ended';
      const nowMs = unit.now();
      if (session && !isPossible(input, nowMs)) return 'ended';
      if (session && sessionStateOf(unit, subject, session) === 'ended') return 'ended';
      if (idpSid !== undefined && isIdpSessionEnded(unit.db, { ...subject, idpSid, nowMs })) {
        if (session)
          saveEndedSession(unit.db, { sid: session.sid, expiresAtMs: expiryOf(session, input.expiresAtMs) });
        return 'ended';
      }
      const person = loadPerson(unit.db, subject.issuer, subject.sub);
      if (person) savePerson(unit, { subject, session }, scopeId);
      recordSessionEvent(unit, 'signed_in', { scopeId, subject });
      if (session) listSession(unit, { ...input, session });
      return 'live';
    },

    /** Returns the live sessions of a person, in every scope of the tenant, newest first. */
    listSessions(input: { issuer: string; sub: string }): { readonly items: readonly ListedSession[] } {
      return { items: loadLiveSessions(unit.db, input, unit.now()).map(toListed) };
    },

    /** Whether a session was ended. It says nothing about the signature and the expiry of the cookie. */
    sessionState(input: { subject: SubjectKey; session: SubjectSession }): 'live' | 'ended' {
      return sessionStateOf(unit, input.subject, input.session);
    },

    /**
     * Ends one session until its expiry, listed or not. Ending it again changes nothing. The caller has verified the
     * session itself; for a mere id there is {@link endOwnSession}.
     */
    endSession(input: { sid: string; expiresAtMs: number; subject?: SubjectKey; scopeId?: string }): {
      ended: boolean;
    } {
      const { sid, expiresAtMs } = input;
      if (isSessionEnded(unit.db, sid)) return { ended: false };
      purge(unit);
      const row = loadSession(unit.db, sid);
      const subject = input.subject ?? row;
      saveEndedSession(unit.db, { sid, expiresAtMs });
      recordSessionEvent(unit, 'session_ended', {
        scopeId: input.scopeId ?? row?.scopeId,
        ...(subject ? { subject: { issuer: subject.issuer, sub: subject.sub } } : {}),
      });
      return { ended: true };
    },

    /**
     * Ends one of a person's own sessions by its id, as {@link listSessions} shows it. `ended: false` for one that was
     * over already. With a `scopeId`, a session of another scope is as unknown as none.
     * @throws PlatformError `not_found`, reason `unknown_session`, also for another person's.
     */
    endOwnSession(input: { issuer: string; sub: string; sid: string; scopeId?: string }): {
      ended: boolean;
    } {
      const { issuer, sub, sid, scopeId } = input;
      const row = loadSession(unit.db, sid);
      const isTheirs = row?.issuer === issuer && row.sub === sub;
      if (!row || !isTheirs || (scopeId !== undefined && row.scopeId !== scopeId))
        throw refusal('not_found', 'unknown_session', 'There is no such session of yours.');
      const session = { sid, issuedAtMs: row.startedMs };
      if (row.expiresMs <= unit.now() || sessionStateOf(unit, row, session) === 'ended')
        return { ended: false };
      purge(unit);
      saveEndedSession(unit.db, { sid, expiresAtMs: row.expiresMs });
      recordSessionEvent(unit, 'session_ended', { scopeId: row.scopeId, subject: { issuer, sub } });
      return { ended: true };
    },

    /**
     * Ends every session of a person, in every scope of the tenant: those issued up to the directory's own time or to
     * `nowMs`, and every other listed one. It also voids an account's pending sign-ins and links.
     */
    endAllSessions(input: { issuer: string; sub: string; nowMs?: number; by?: string }): null {
      const { issuer, sub, nowMs, by } = input;
      const subject = { issuer, sub };
      purge(unit);
      endSessionsOf(unit, subject, nowMs);
      onAllEnded(subject);
      recordSessionEvent(unit, 'all_sessions_ended', { subject, actor: by });
      return null;
    },

    /**
     * Ends the sessions that an issuer reports as over (OpenID Connect Back-Channel Logout 1.0, section 2.7), in every
     * scope of the tenant: those that began from `idpSid`, or without it all of a person's. Running sign-ins from that
     * issuer's session are refused for an hour. The same token again changes nothing.
     * @returns how many listed sessions it ended.
     * @throws PlatformError `validation_failed` when neither `sub` nor `idpSid` is given.
     */
    endIssuerSessions(input: EndIssuerSessionsInput): { ended: number } {
      purge(unit);
      return endIssuerSessions(unit, input);
    },
  };
}

/** A session whose times are no numbers could be neither listed nor ended by them. */
function isPossible({ session, expiresAtMs }: SignInInput, nowMs: number): boolean {
  if (session && isFromTheFuture(session, nowMs)) return false;
  return [session?.issuedAtMs, expiresAtMs].every((each) => each === undefined || Number.isSafeInteger(each));
}

function expiryOf(session: SubjectSession, expiresAtMs: number | undefined): number {
  return expiresAtMs ?? session.issuedAtMs + SESSION_TTL_MS;
}

/** Lists a session, and ends those beyond the most that one person has in the scope. */
function listSession(unit: UnitContext, input: SignInInput & { readonly session: SubjectSession }): void {
  const { session, scopeId } = input;
  const { issuer, sub } = input.subject;
  const row: SessionRow = {
    sid: session.sid,
    issuer,
    sub,
    scopeId,
    client: input.client ?? null,
    startedMs: session.issuedAtMs,
    expiresMs: expiryOf(session, input.expiresAtMs),
  };
  insertSession(unit.db, row, input.idpSid ?? null);
  for (const surplus of loadSurplusSessions(unit.db, row, SESSIONS_MAX, unit.now())) {
    deleteSession(unit.db, surplus.sid);
    if (surplus.live !== 1) continue;
    saveEndedSession(unit.db, { sid: surplus.sid, expiresAtMs: surplus.expiresMs });
    const subject = { issuer, sub };
    recordSessionEvent(unit, 'session_ended', { scopeId, subject, detail: { by: 'limit' } });
  }
}

/** Every writing operation removes expired rows, so that no job has to. */
function purge(unit: UnitContext): void {
  const nowMs = unit.now();
  deleteSessionsBefore(unit.db, nowMs - CLOCK_MARGIN_MS);
  deleteFloorsBefore(unit.db, nowMs - CLOCK_MARGIN_MS - SESSION_TTL_MS);
  deleteIssuerWordsBefore(unit.db, nowMs);
}

function toListed({ sid, scopeId, client, startedMs, expiresMs }: SessionRow): ListedSession {
  return { sid, scopeId, client, startedMs, expiresMs };
}
