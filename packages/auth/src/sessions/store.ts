/** The SQL of ended sessions, and of the list of those that are not. */
import { defineTable, nullable, type RowOf, type SqlDatabase, text, time, unread } from '@freehold/store';

/** Sessions, as their sign-ins recorded them. */
const sessions = defineTable('sessions', ['sid'], {
  sid: text(),
  issuer: text(),
  sub: text(),
  scopeId: text(),
  idpSid: unread(nullable(text())),
  client: nullable(text()),
  startedMs: time('started_at'),
  expiresMs: time('expires_at'),
});
export type SessionRow = RowOf<typeof sessions>;

const insert = sessions.saving();
export const loadSession = sessions.get;
export const deleteSession = sessions.delete;

interface PersonKey {
  readonly issuer: string;
  readonly sub: string;
}

const COLUMNS = sessions.columnsOf('s');

/** Neither ended nor at or below its person's floor; perhaps expired. */
const STANDS = `NOT EXISTS (SELECT 1 FROM ended_sessions e WHERE e.sid = s.sid)
  AND NOT EXISTS (SELECT 1 FROM session_floors f
    WHERE f.issuer = s.issuer AND f.sub = s.sub AND f.valid_after >= s.started_at)`;

export function isSessionEnded(db: SqlDatabase, sid: string): boolean {
  return db.get('SELECT 1 FROM ended_sessions WHERE sid = ?', sid) !== undefined;
}

export function saveEndedSession(db: SqlDatabase, session: { sid: string; expiresAtMs: number }): void {
  db.run('INSERT INTO ended_sessions (sid, expires_at) VALUES (?, ?)', session.sid, session.expiresAtMs);
}

/** Forgets every session, ended or not, that expired before a moment. */
export function deleteSessionsBefore(db: SqlDatabase, expiresAtMs: number): void {
  db.run('DELETE FROM ended_sessions WHERE expires_at < ?', expiresAtMs);
  db.run('DELETE FROM sessions WHERE expires_at < ?', expiresAtMs);
}

/** Moves the floor of a person's sessions up, never down. */
export function raiseSessionFloor(
  db: SqlDatabase,
  floor: { issuer: string; sub: string; validAfterMs: number },
): void {
  db.run(
    `INSERT INTO session_floors (issuer, sub, valid_after) VALUES (?, ?, ?)
     ON CONFLICT (issuer, sub) DO UPDATE SET valid_after = max(valid_after, excluded.valid_after)`,
    floor.issuer,
    floor.sub,
    floor.validAfterMs,
  );
}

/** Sessions of a person issued at or before this are over; undefined when there is no such floor. */
export function loadSessionFloor(db: SqlDatabase, issuer: string, sub: string): number | undefined {
  return db.get<{ validAfterMs: number }>(
    'SELECT valid_after AS validAfterMs FROM session_floors WHERE issuer = ? AND sub = ?',
    issuer,
    sub,
  )?.validAfterMs;
}

/** Lists a session; one that is listed already stays its person's. */
export function insertSession(db: SqlDatabase, row: SessionRow, idpSid: string | null): void {
  insert(db, { ...row, idpSid });
}

/** The live sessions of a person at a moment, newest first. */
export const LIVE_SESSIONS_SQL = `SELECT ${COLUMNS} FROM sessions s
  WHERE s.issuer = ?1 AND s.sub = ?2 AND s.expires_at > ?3 AND ${STANDS}
  ORDER BY s.started_at DESC, s.sid DESC`;

export function loadLiveSessions(db: SqlDatabase, { issuer, sub }: PersonKey, nowMs: number): SessionRow[] {
  return db.all<SessionRow>(LIVE_SESSIONS_SQL, issuer, sub, nowMs);
}

/**
 * A person's sessions in a scope beyond so many: first ended and expired ones, then the oldest. The newest, `sid`, is
 * never among them although the clock may have stepped back.
 */
export function loadSurplusSessions(
  db: SqlDatabase,
  { issuer, sub, scopeId, sid }: SessionRow,
  keep: number,
  nowMs: number,
): (SessionRow & { readonly live: number })[] {
  return db.all(
    `SELECT ${COLUMNS}, (s.expires_at > ?5 AND ${STANDS}) AS live FROM sessions s
     WHERE s.issuer = ?1 AND s.sub = ?2 AND s.scope_id = ?3
     ORDER BY s.sid = ?4 DESC, live DESC, s.started_at DESC, s.sid DESC LIMIT -1 OFFSET ?6`,
    issuer,
    sub,
    scopeId,
    sid,
    nowMs,
    keep,
  );
}

/** Live sessions that began from one of the issuer's own; of one person when `sub` is given. */
export function loadSessionsOfIdpSid(
  db: SqlDatabase,
  { issuer, idpSid, sub }: { issuer: string; idpSid: string; sub: string | null },
): SessionRow[] {
  return db.all<SessionRow>(
    `SELECT ${COLUMNS} FROM sessions s
     WHERE s.issuer = ?1 AND s.idp_sid = ?2 AND (?3 IS NULL OR s.sub = ?3) AND ${STANDS} ORDER BY s.sid`,
    issuer,
    idpSid,
    sub,
  );
}

/** A person's live sessions that began up to a moment, without a known session of the issuer. */
export function loadSessionsWithoutIdpSid(
  db: SqlDatabase,
  { issuer, sub }: PersonKey,
  startedUpToMs: number,
): SessionRow[] {
  return db.all<SessionRow>(
    `SELECT ${COLUMNS} FROM sessions s
     WHERE s.issuer = ? AND s.sub = ? AND s.idp_sid IS NULL AND s.started_at <= ? AND ${STANDS} ORDER BY s.sid`,
    issuer,
    sub,
    startedUpToMs,
  );
}

/** Remembers that one of the issuer's own sessions is over; an empty `sub` stands for every person. */
export function saveEndedIdpSession(
  db: SqlDatabase,
  ended: { issuer: string; idpSid: string; sub: string; forgetAtMs: number },
): void {
  db.run(
    `INSERT INTO ended_idp_sessions (issuer, idp_sid, sub, forget_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (issuer, idp_sid, sub) DO UPDATE SET forget_at = max(forget_at, excluded.forget_at)`,
    ended.issuer,
    ended.idpSid,
    ended.sub,
    ended.forgetAtMs,
  );
}

export function isIdpSessionEnded(
  db: SqlDatabase,
  { issuer, sub, idpSid, nowMs }: PersonKey & { readonly idpSid: string; readonly nowMs: number },
): boolean {
  const row = db.get(
    `SELECT 1 FROM ended_idp_sessions WHERE issuer = ? AND idp_sid = ? AND sub IN ('', ?) AND forget_at > ?`,
    issuer,
    idpSid,
    sub,
    nowMs,
  );
  return row !== undefined;
}

export function isLogoutTokenKnown(db: SqlDatabase, issuer: string, jti: string): boolean {
  return db.get('SELECT 1 FROM logout_tokens WHERE issuer = ? AND jti = ?', issuer, jti) !== undefined;
}

export function saveLogoutToken(
  db: SqlDatabase,
  token: { issuer: string; jti: string; forgetAtMs: number },
): void {
  db.run(
    'INSERT INTO logout_tokens (issuer, jti, forget_at) VALUES (?, ?, ?)',
    token.issuer,
    token.jti,
    token.forgetAtMs,
  );
}

/** Forgets floors below which every session has expired. */
export function deleteFloorsBefore(db: SqlDatabase, validAfterMs: number): void {
  db.run('DELETE FROM session_floors WHERE valid_after < ?', validAfterMs);
}

/** Forgets expired logouts of issuers. */
export function deleteIssuerWordsBefore(db: SqlDatabase, nowMs: number): void {
  db.run('DELETE FROM ended_idp_sessions WHERE forget_at <= ?', nowMs);
  db.run('DELETE FROM logout_tokens WHERE forget_at <= ?', nowMs);
}

/** Counts events of sessions of non-members, in a scope or in none: after one moment, up to another. */
export const STRANGE_EVENTS_SQL = `SELECT count(*) AS events FROM identity_events
  WHERE scope_id IS ? AND at > ? AND at <= ?
    AND principal IS NULL AND type IN ('signed_in', 'session_ended', 'all_sessions_ended')`;

export function countStrangeEvents(
  db: SqlDatabase,
  span: { scopeId: string | null; afterMs: number; untilMs: number },
): number {
  return (
    db.get<{ events: number }>(STRANGE_EVENTS_SQL, span.scopeId, span.afterMs, span.untilMs)?.events ?? 0
  );
}
