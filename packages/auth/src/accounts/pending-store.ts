/** The SQL of pending sign-ins: used challenges, and tokens that wait for a second factor. */
import { defineTable, integer, type SqlDatabase, text, time, unread } from '@freehold/store';

/** A right first factor that waits for the second. */
const secondFactors = defineTable('account_second_factors', ['tokenHash'], {
  tokenHash: unread(text()),
  userId: text(),
  /** Wrong codes so far. */
  tries: integer(),
  expiresAtMs: time(),
});

export const USE_CHALLENGE_SQL = `INSERT INTO account_used_challenges (id, expires_at) VALUES (?, ?)
  ON CONFLICT (id) DO NOTHING RETURNING id`;
export const FORGET_CHALLENGES_SQL = `DELETE FROM account_used_challenges WHERE id IN
  (SELECT id FROM account_used_challenges WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
export const SECOND_FACTOR_SQL = `${secondFactors.select} WHERE token_hash = ?`;
export const VOID_SECOND_FACTORS_SQL = 'DELETE FROM account_second_factors WHERE user_id = ?';
export const TRIM_SECOND_FACTORS_SQL = `DELETE FROM account_second_factors WHERE user_id = ?1 AND token_hash NOT IN
  (SELECT token_hash FROM account_second_factors WHERE user_id = ?1 ORDER BY expires_at DESC LIMIT ?2)`;
export const FORGET_SECOND_FACTORS_SQL = `DELETE FROM account_second_factors WHERE token_hash IN
  (SELECT token_hash FROM account_second_factors WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

/** Uses a challenge up; false when it was used before. */
export function useChallenge(db: SqlDatabase, challenge: { id: string; expiresAtMs: number }): boolean {
  return db.get(USE_CHALLENGE_SQL, challenge.id, challenge.expiresAtMs) !== undefined;
}

/** Forgets used challenges that are too old to be used again, some at a time. */
export function forgetChallenges(db: SqlDatabase, options: { nowMs: number; rowsMax: number }): void {
  db.run(FORGET_CHALLENGES_SQL, options.nowMs, options.rowsMax);
}

export const loadSecondFactor = secondFactors.get;
export const insertSecondFactor = secondFactors.insert;
export const saveSecondFactorTries = secondFactors.updating('tries');
export const deleteSecondFactor = secondFactors.delete;

/** Removes every token of an account. */
export function voidSecondFactors(db: SqlDatabase, userId: string): void {
  db.run(VOID_SECOND_FACTORS_SQL, userId);
}

/** Removes expired tokens, some at a time, and all but the newest `newestMax` of an account. */
export function forgetSecondFactors(
  db: SqlDatabase,
  options: { userId: string; nowMs: number; rowsMax: number; newestMax: number },
): void {
  db.run(FORGET_SECOND_FACTORS_SQL, options.nowMs, options.rowsMax);
  db.run(TRIM_SECOND_FACTORS_SQL, options.userId, options.newestMax);
}
