/**
 * The intents whose outcome nobody has written down yet, and which of them may still be running.
 *
 * An intent runs on a lease. While it lasts, somebody is waiting for the vertical and will write the outcome. After
 * it, or when it was ended because the answer proved nothing, the intent stays listed as unsettled until a later call
 * that makes its outcome immaterial has succeeded.
 */
import type { Migration, SqlDatabase } from '@freehold/store';
import type { LogTarget } from '../declarations/records.ts';

/** How long an intent may be running: longer than any vertical may take to answer. */
const LEASE_MS = 2 * 60 * 1000;
/** How many older intents one success settles; what is left is settled by the next. */
const SUPERSEDED_PER_CHANGE = 1000;

export const openIntentsMigration: Migration = {
  version: 8,
  name: 'leases of open intents',
  sql: 'ALTER TABLE open_intents ADD COLUMN running_until INTEGER NOT NULL DEFAULT 0;',
};

/**
 * The open intents of one action on one target, before one of them, that nobody is waiting for. Oldest first. A scope is a
 * target by itself; where there is none, everything else that the log says of a target has to be the same.
 */
export const LEFT_BEHIND = `SELECT o.sequence, l.after FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.sequence < ? AND o.running_until <= ? AND l.action = ? AND l.scope IS ?
     AND (l.scope IS NOT NULL OR (l.tenant IS ? AND l.vertical IS ? AND l.other IS ?)) ORDER BY o.sequence LIMIT ?`;

/** An intent that was left behind, with the fields that were logged about what was meant to happen. */
export interface LeftBehind {
  readonly sequence: number;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** Starts the lease of an intent. */
export function startLease(db: SqlDatabase, intent: number, nowMs: number): void {
  db.run('UPDATE open_intents SET running_until = ? WHERE sequence = ?', nowMs + LEASE_MS, intent);
}

/** Whether somebody may still be waiting for what this intent announced. */
export function isRunning(db: SqlDatabase, intent: number, nowMs: number): boolean {
  return (
    db.get('SELECT 1 FROM open_intents WHERE sequence = ? AND running_until > ?', intent, nowMs) !== undefined
  );
}

/** Ends the lease of one intent. It stays open. */
export function endLease(db: SqlDatabase, intent: number): void {
  db.run('UPDATE open_intents SET running_until = 0 WHERE sequence = ?', intent);
}

/** Ends every lease: only for a process that knows that it is the first and only one to work here. */
export function endLeases(db: SqlDatabase): void {
  db.run('UPDATE open_intents SET running_until = 0 WHERE running_until > 0');
}

/** The intents that a success may settle together with its own. */
export function loadLeftBehind(
  db: SqlDatabase,
  {
    intent,
    action,
    target: { tenant, scope, vertical, other },
    nowMs,
  }: {
    readonly intent: number;
    readonly action: string;
    readonly target: LogTarget;
    readonly nowMs: number;
  },
): LeftBehind[] {
  return db
    .all<{ sequence: number; after: string | null }>(
      LEFT_BEHIND,
      intent,
      nowMs,
      action,
      ...[scope, tenant, vertical, other],
      SUPERSEDED_PER_CHANGE,
    )
    .map(({ sequence, after }) => ({ sequence, after: after === null ? null : JSON.parse(after) }));
}
