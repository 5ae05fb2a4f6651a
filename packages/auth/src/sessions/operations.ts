/**
 * Lists sessions and ends them. They are signed cookies and would live for their seven days: what is kept here makes
 * the next request with an ended one nobody's (design: identity, "Sessions and cookies").
 */
import { PlatformError } from '@freehold/contracts';
import { SESSION_TTL_MS } from '@freehold/oidc-rp';
import type { UnitContext } from '@freehold/store';
import { voidWhatWasBegun } from '../accounts/pending-flow.ts';
import { isScopeForgotten } from '../forgotten-scopes/marks.ts';
import { requireSubject, savePerson } from '../people/person.ts';
import { loadPerson } from '../people/store.ts';
import type { IssuedSubject, SubjectSession } from '../lib/subject.ts';
import { endSessionsOf } from './end-all.ts';
import { recordSessionEvent } from './events.ts';
import { isFromTheFuture } from './floor.ts';
import { type EndIssuerSessionsInput, endIssuerSessions } from './issuer-logout.ts';
import { sessionStateOf } from './session-state.ts';
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

/** How long after its expiry a session is remembered, for clocks that disagree across machines. */
const CLOCK_MARGIN_MS = 24 * 3_600_000;
/** More browsers than one person has; a program that signs in over and over does not fill the directory. */
const SESSIONS_MAX = 50;

/** Somebody has signed in. */
export interface SignInInput {
  readonly scopeId: string;
  readonly subject: IssuedSubject;
  /** The session that this began; absent when there is none, as behind an access token. */
  readonly session?: SubjectSession | undefined;
  /** When the session expires. Default: 7 days after it was issued. */
  readonly expiresAtMs?: number | undefined;
  /** The issuer's own session, which its logout tokens name: the `sid` of the ID token. */
  readonly idpSid?: string | undefined;
  /** What the session was begun with, from `clientLabel`. */
  readonly client?: string | null | undefined;
}

/** One of a person's sessions, as that person may see it. */
export interface ListedSession {
  readonly sid: string;
  /** The scope that the session is for. */
  readonly scopeId: string;
  /** Such as "Firefox on Linux"; null when nothing is known. */
  readonly client: string | null;
  readonly startedMs: number;
  readonly expiresMs: number;
}

/** The sessions feature of the identity directory. */
export function makeSessionOperations(unit: UnitContext) {
  return {
    /**
     * Records a completed sign-in and lists its session; a known person's record is brought up to date. Binds
     * nobody, claims nothing. Of one person and scope 50 sessions are kept, and beyond them the oldest is ended.
     *
     * `ended` means that the session must not be given out: it was ended meanwhile, its issuer has said that the
     * session behind it is over, or the scope was forgotten. Nothing is recorded then, and the session stays ended.
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
      if (session) keepSession(unit, { ...input, session });
      return 'live';
    },

    /** The sessions of a person that work now, in every scope of the tenant, newest first. */
    listSessions(input: { issuer: string; sub: string }): { readonly items: readonly ListedSession[] } {
      return { items: loadLiveSessions(unit.db, input, unit.now()).map(toListed) };
    },

    /** Whether a session was ended. It says nothing about the signature and the expiry of the cookie. */
    sessionState(input: {
      subject: Pick<IssuedSubject, 'issuer' | 'sub'>;
      session: SubjectSession;
    }): 'live' | 'ended' {
      return sessionStateOf(unit, input.subject, input.session);
    },

    /**
     * Ends one session, until it would have expired anyway; whether it was listed makes no difference. Ending it
     * again changes nothing. The caller has seen the session itself: see {@link endOwnSession} for a mere id.
     */
    endSession(input: {
      sid: string;
      expiresAtMs: number;
      subject?: Pick<IssuedSubject, 'issuer' | 'sub'>;
      scopeId?: string;
    }): { ended: boolean } {
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
     * Ends one of a person's own sessions by its id, as {@link listSessions} shows it. One that was over already is
     * `ended: false`. With a `scopeId`, a session of another scope is as unknown as none.
     * @throws PlatformError `not_found`, reason `unknown_session`, also for somebody else's.
     */
    endOwnSession(input: { issuer: string; sub: string; sid: string; scopeId?: string }): {
      ended: boolean;
    } {
      const { issuer, sub, sid, scopeId } = input;
      const row = loadSession(unit.db, sid);
      const isTheirs = row?.issuer === issuer && row.sub === sub;
      if (!row || !isTheirs || (scopeId !== undefined && row.scopeId !== scopeId))
        throw new PlatformError('not_found', 'There is no such session of yours.', {
          reason: 'unknown_session',
        });
      const session = { sid, issuedAtMs: row.startedMs };
      if (row.expiresMs <= unit.now() || sessionStateOf(unit, row, session) === 'ended')
        return { ended: false };
      purge(unit);
      saveEndedSession(unit.db, { sid, expiresAtMs: row.expiresMs });
      recordSessionEvent(unit, 'session_ended', { scopeId: row.scopeId, subject: { issuer, sub } });
      return { ended: true };
    },

    /**
     * Ends every session of a person, in every scope of the tenant: those issued up to the directory's own time or
     * to `nowMs`, and every other that is listed. Of an account here, what was begun in its name is void as well.
     */
    endAllSessions(input: { issuer: string; sub: string; nowMs?: number; by?: string }): null {
      const { issuer, sub, nowMs, by } = input;
      purge(unit);
      endSessionsOf(unit, { issuer, sub }, nowMs);
      voidWhatWasBegun(unit, { issuer, sub });
      recordSessionEvent(unit, 'all_sessions_ended', { subject: { issuer, sub }, actor: by });
      return null;
    },

    /**
     * Ends what an issuer says is over (OpenID Connect Back-Channel Logout 1.0, section 2.7), in every scope of the
     * tenant: the sessions that one of the issuer's own gave rise to, or without `idpSid` all of a person's. Sign-ins
     * that are under way from that issuer's session are refused for an hour. The same token again changes nothing.
     * @returns how many listed sessions it ended.
     * @throws PlatformError `validation_failed` when neither `sub` nor `idpSid` is given.
     */
    endIssuerSessions(input: EndIssuerSessionsInput): { ended: number } {
      purge(unit);
      return endIssuerSessions(unit, input);
    },
  };
}

/**
 * A session whose times are no numbers could be neither listed nor ended by them, and one that begins more than a day
 * from now is nobody's.
 */
function isPossible({ session, expiresAtMs }: SignInInput, nowMs: number): boolean {
  if (session && isFromTheFuture(session, nowMs)) return false;
  return [session?.issuedAtMs, expiresAtMs].every((each) => each === undefined || Number.isSafeInteger(each));
}

function expiryOf(session: SubjectSession, expiresAtMs: number | undefined): number {
  return expiresAtMs ?? session.issuedAtMs + SESSION_TTL_MS;
}

/** Lists a session, and ends what one person has too many of in the scope. */
function keepSession(unit: UnitContext, input: SignInInput & { readonly session: SubjectSession }): void {
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

/** Every writing operation takes out what is long over, so that nothing has to be swept. */
function purge(unit: UnitContext): void {
  const nowMs = unit.now();
  deleteSessionsBefore(unit.db, nowMs - CLOCK_MARGIN_MS);
  deleteFloorsBefore(unit.db, nowMs - CLOCK_MARGIN_MS - SESSION_TTL_MS);
  deleteIssuerWordsBefore(unit.db, nowMs);
}

function toListed({ sid, scopeId, client, startedMs, expiresMs }: SessionRow): ListedSession {
  return { sid, scopeId, client, startedMs, expiresMs };
}
