/** The SQL of counted attempts. */
import {
  boolean,
  defineTable,
  integer,
  json,
  type RowOf,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';

/** The attempts that are counted under one key. */
const attempts = defineTable('account_attempts', ['key'], {
  key: unread(text()),
  /** When the attempts that may still count were made, milliseconds, oldest first. */
  times: json<readonly number[]>(),
  /** The number of locks of the key so far. */
  locks: integer(),
  lockedUntilMs: time(),
  /** Whether the present lock was reported to the tenant's admin. */
  lockTold: boolean(),
  /** When the row expires. */
  expiresAtMs: time(),
});
export type AttemptRow = RowOf<typeof attempts>;

export const ATTEMPTS_SQL = `${attempts.select} WHERE key = ?`;
export const FORGET_ATTEMPTS_SQL = `DELETE FROM account_attempts WHERE key IN
  (SELECT key FROM account_attempts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

export const loadAttempts = attempts.get;
export const saveAttempts = attempts.saving('times', 'locks', 'lockedUntilMs', 'lockTold', 'expiresAtMs');
export const deleteAttempts = attempts.delete;

/** Removes expired rows, some at a time. */
export function forgetExpiredAttempts(db: SqlDatabase, options: { nowMs: number; rowsMax: number }): void {
  db.run(FORGET_ATTEMPTS_SQL, options.nowMs, options.rowsMax);
}
