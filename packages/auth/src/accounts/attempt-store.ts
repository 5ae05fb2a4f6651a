/** The SQL of counted attempts. */
import type { SqlDatabase } from '@freehold/store';

/** The attempts that are counted under one key. */
export interface AttemptRow {
  /** JSON: when the attempts that still count were made, milliseconds, oldest first. */
  readonly times: string;
  /** The number of locks of the key so far. */
  readonly locks: number;
  readonly lockedUntilMs: number;
  /** 1 once the present lock was reported to the tenant's admin. */
  readonly lockTold: number;
  /** When the row expires. */
  readonly expiresAtMs: number;
}

export const ATTEMPTS_SQL = `SELECT times, locks, locked_until AS lockedUntilMs, lock_told AS lockTold,
    expires_at AS expiresAtMs
  FROM account_attempts WHERE key = ?`;
export const FORGET_ATTEMPTS_SQL = `DELETE FROM account_attempts WHERE key IN
  (SELECT key FROM account_attempts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

export function loadAttempts(db: SqlDatabase, key: string): AttemptRow | undefined {
  return db.get<AttemptRow>(ATTEMPTS_SQL, key);
}

export function saveAttempts(db: SqlDatabase, key: string, row: AttemptRow): void {
  db.run(
    `INSERT INTO account_attempts (key, times, locks, locked_until, lock_told, expires_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET times = excluded.times, locks = excluded.locks,
       locked_until = excluded.locked_until, lock_told = excluded.lock_told, expires_at = excluded.expires_at`,
    key,
    row.times,
    row.locks,
    row.lockedUntilMs,
    row.lockTold,
    row.expiresAtMs,
  );
}

export function deleteAttempts(db: SqlDatabase, key: string): void {
  db.run('DELETE FROM account_attempts WHERE key = ?', key);
}

/** Removes expired rows, some at a time. */
export function forgetExpiredAttempts(db: SqlDatabase, options: { nowMs: number; rowsMax: number }): void {
  db.run(FORGET_ATTEMPTS_SQL, options.nowMs, options.rowsMax);
}
