/** Consent rounds that somebody has begun, in SQL. Issuing a URL stores nothing; using it does. */
import type { SqlDatabase } from '@freehold/store';
import type { TicketClaims } from './ticket.ts';

/** One consent between the person's start and the provider's answer. */
export interface RoundRow extends TicketClaims {
  /** SHA-256 of the `state` that the provider is to bring back. */
  readonly stateHash: string;
  /** Null until the provider's answer came, whatever it was. */
  readonly endedAtMs: number | null;
}

/** How long an ended round is remembered, so that what comes back twice is told from what was never begun. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** How many one start clears away, so that no start pays for many. */
const CLEARED_PER_START = 16;

const COLUMNS = `id, state_hash AS stateHash, tenant, scope, vertical, provider, created_by AS createdBy,
  subject_ref AS subjectRef, return_url AS returnUrl, expires_at AS expiresAtMs, ended_at AS endedAtMs`;

export function loadRound(db: SqlDatabase, stateHash: string): RoundRow | undefined {
  return db.get<RoundRow>(`SELECT ${COLUMNS} FROM connect_rounds WHERE state_hash = ?`, stateHash);
}

export function isUsedTicket(db: SqlDatabase, id: string): boolean {
  return db.get('SELECT 1 FROM connect_rounds WHERE id = ?', id) !== undefined;
}

export function insertRound(db: SqlDatabase, row: RoundRow): void {
  db.run(
    `INSERT INTO connect_rounds (id, state_hash, tenant, scope, vertical, provider, created_by, subject_ref, return_url,
       expires_at, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.id, row.stateHash, row.tenant, row.scope, row.vertical, row.provider, row.createdBy],
    ...[row.subjectRef, row.returnUrl, row.expiresAtMs, row.endedAtMs],
  );
}

export function endRound(db: SqlDatabase, id: string, nowMs: number): void {
  db.run('UPDATE connect_rounds SET ended_at = ? WHERE id = ?', nowMs, id);
}

export function clearOldRounds(db: SqlDatabase, nowMs: number): void {
  db.run(
    `DELETE FROM connect_rounds WHERE id IN
       (SELECT id FROM connect_rounds WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
    nowMs - KEPT_MS,
    CLEARED_PER_START,
  );
}
