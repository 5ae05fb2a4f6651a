/** The SQL of ended sessions. */
import type { SqlDatabase } from '@freehold/store';

export function isSessionEnded(db: SqlDatabase, sid: string): boolean {
  return db.get('SELECT 1 FROM ended_sessions WHERE sid = ?', sid) !== undefined;
}

export function saveEndedSession(db: SqlDatabase, session: { sid: string; expiresAtMs: number }): void {
  db.run('INSERT INTO ended_sessions (sid, expires_at) VALUES (?, ?)', session.sid, session.expiresAtMs);
}

export function deleteEndedSessionsBefore(db: SqlDatabase, expiresAtMs: number): void {
  db.run('DELETE FROM ended_sessions WHERE expires_at < ?', expiresAtMs);
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
