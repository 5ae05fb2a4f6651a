/**
 * The intents without an outcome, and the report of those that will get none (design: control-plane, "Audit").
 *
 * An intent runs on a lease: while it lasts, a call waits for the vertical and will write the outcome. After that, or when
 * the lease was ended because the answer proved nothing, the intent stays listed as unsettled until a later call that
 * makes its outcome immaterial has succeeded.
 */
import { ID_PREFIXES } from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import type { LogTarget } from '../declarations/records.ts';
import { appendOpsFailures, type OpsFailure } from '../operations-log/failures-store.ts';
import { appendSweepRuns, type SweptUnit } from '../operations-log/sweep-runs-store.ts';

/** The lease of an intent: longer than any vertical may take to answer. */
const LEASE_MS = 2 * 60 * 1000;
/** The most older intents that one success settles; the next success settles the others. */
const SUPERSEDED_PER_CHANGE = 1000;
/** The most that one transaction reports. */
const REPORTED_AT_ONCE = 100;

export const openIntentsMigration: Migration = {
  version: 8,
  name: 'leases of open intents',
  sql: 'ALTER TABLE open_intents ADD COLUMN running_until INTEGER NOT NULL DEFAULT 0;',
};

const reconcileMigration: Migration = {
  version: 1,
  name: 'reports of open intents',
  sql: `
    ALTER TABLE open_intents ADD COLUMN reported_at INTEGER;
    CREATE INDEX open_intents_unreported ON open_intents (sequence) WHERE reported_at IS NULL;
    CREATE INDEX operations_intent ON operations (intent) WHERE finished_at IS NULL;
  `,
};

/** Applied after the set of long work. */
export const reconcileMigrations = { name: 'open-intents', migrations: [reconcileMigration] } as const;

/**
 * The open intents of one action on one target, older than one of them, whose lease is over. Oldest first. A scope is a
 * target by itself; where there is none, everything else that the log says of a target has to be the same.
 */
export const LEFT_BEHIND = `SELECT o.sequence, l.after FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.sequence < ? AND o.running_until <= ? AND l.action = ? AND l.scope IS ?
     AND (l.scope IS NOT NULL OR (l.tenant IS ? AND l.vertical IS ? AND l.other IS ?)) ORDER BY o.sequence LIMIT ?`;

/** An intent that was left behind, with the `after` of its row. */
interface LeftBehind {
  readonly sequence: number;
  readonly after: Readonly<Record<string, unknown>> | null;
}

export function startLease(db: SqlDatabase, intent: number, nowMs: number): void {
  db.run('UPDATE open_intents SET running_until = ? WHERE sequence = ?', nowMs + LEASE_MS, intent);
}

/** Whether the lease of an intent lasts. */
export function isRunning(db: SqlDatabase, intent: number, nowMs: number): boolean {
  return (
    db.get('SELECT 1 FROM open_intents WHERE sequence = ? AND running_until > ?', intent, nowMs) !== undefined
  );
}

/** Ends the lease of one intent. It stays open. */
export function endLease(db: SqlDatabase, intent: number): void {
  db.run('UPDATE open_intents SET running_until = 0 WHERE sequence = ?', intent);
}

/** Ends every lease: only for the one process that works here, before its first effect. */
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
      ...[intent, nowMs, action, scope, tenant, vertical, other, SUPERSEDED_PER_CHANGE],
    )
    .map(({ sequence, after }) => ({ sequence, after: after === null ? null : JSON.parse(after) }));
}

/** Past the lease, and not an intent of long work that has not ended: that is running, or waits to be resumed. */
const UNSETTLED = `o.running_until <= ?
   AND NOT EXISTS (SELECT 1 FROM operations w WHERE w.intent = o.sequence AND w.finished_at IS NULL)`;

export const COUNT_UNSETTLED = `SELECT count(*) AS count FROM open_intents o WHERE ${UNSETTLED}`;

export const UNREPORTED = `SELECT o.sequence, l.action, l.request, l.tenant, l.scope, l.vertical
   FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.reported_at IS NULL AND ${UNSETTLED} ORDER BY o.sequence LIMIT ?`;

interface Unreported extends Pick<SweptUnit, 'tenant' | 'scope' | 'vertical'> {
  readonly sequence: number;
  readonly action: string;
  readonly request: string;
}

export const reconcileMethods = ({ db, now }: UnitContext) => ({
  /** Counts the intents without an outcome for which no call or work will write one. */
  unsettledIntents: (): number => db.get<{ count: number }>(COUNT_UNSETTLED, now())?.count ?? 0,

  /**
   * Reports some, and returns how many: fewer than a hundred when none is left. The mark commits together with the
   * report, so that neither a crash nor a restart loses one or repeats it.
   */
  reportIntents: ({ run }: { readonly run: string }): number => {
    const nowMs = now();
    const left = db.all<Unreported & Record<string, string | number | null>>(
      UNREPORTED,
      nowMs,
      REPORTED_AT_ONCE,
    );
    if (left.length === 0) return 0;
    appendSweepRuns(db, run, left.map(unitOf), nowMs);
    appendOpsFailures(db, left.map(failureOf), nowMs);
    for (const { sequence } of left)
      db.run('UPDATE open_intents SET reported_at = ? WHERE sequence = ?', nowMs, sequence);
    return left.length;
  },
});

export interface IntentMaintenance {
  /** Reports every unsettled intent once, and returns how many were new. */
  reconcile(): Promise<number>;
}

export function makeIntentMaintenance(
  directory: Pick<UnitStub<ReturnType<typeof reconcileMethods>>, 'reportIntents'>,
  newId: (prefix: string) => string,
): IntentMaintenance {
  return {
    reconcile: async () => {
      const run = newId(ID_PREFIXES.request);
      for (let reported = 0; ; ) {
        const some = await directory.reportIntents({ run });
        reported += some;
        if (some < REPORTED_AT_ONCE) return reported;
      }
    },
  };
}

const REASON = 'outcome_unknown';

function unitOf({ sequence, tenant, scope, vertical }: Unreported): SweptUnit {
  const about = { tenant, scope, vertical };
  return { kind: 'intent', unit: String(sequence), ...about, outcome: 'failed', reason: REASON };
}

function failureOf({ sequence, action, request, tenant, scope, vertical }: Unreported): OpsFailure {
  const where = scope === null ? 'its target' : 'the scope';
  return {
    operation: action,
    tenant,
    scope,
    vertical,
    subject: request,
    reason: REASON,
    detail: `Row ${sequence} of the admin log announces this, and no row says how it ended. Make the same call again, which settles it, or look at ${where}.`,
  };
}
