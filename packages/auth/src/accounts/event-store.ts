/** The SQL that counts events of accounts. */
import type { SqlDatabase } from '@freehold/store';

/** A scope, after one moment and up to another. */
interface Span {
  readonly scopeId: string;
  readonly afterMs: number;
  readonly untilMs: number;
}

export const REFUSED_SIGN_INS_SQL = `SELECT count(*) AS events FROM identity_events
  WHERE scope_id = ? AND at > ? AND at <= ? AND type = 'sign_in_refused'`;

export function countRefusedSignIns(db: SqlDatabase, span: Span): number {
  return countEvents(db, REFUSED_SIGN_INS_SQL, span);
}

/** What happened to accounts whose holder is no member of the scope. */
export const STRANGE_ACCOUNT_EVENTS_SQL = `SELECT count(*) AS events FROM identity_events
  WHERE scope_id = ? AND at > ? AND at <= ?
    AND principal IS NULL AND type IN ('account_created', 'account_renamed', 'account_locked', 'password_changed',
      'password_reset', 'passkey_added', 'passkey_removed', 'totp_enabled', 'totp_disabled', 'recovery_codes_made',
      'recovery_code_used', 'email_changed', 'email_reverted', 'account_deleted')`;

export function countStrangeAccountEvents(db: SqlDatabase, span: Span): number {
  return countEvents(db, STRANGE_ACCOUNT_EVENTS_SQL, span);
}

function countEvents(db: SqlDatabase, sql: string, { scopeId, afterMs, untilMs }: Span): number {
  return db.get<{ events: number }>(sql, scopeId, afterMs, untilMs)?.events ?? 0;
}
