/**
 * Reports intents without an outcome (design: control-plane, "Audit"): nobody works on them any more, and nobody wrote
 * down how they ended. Each is reported once, and the mark that it was commits together with the report, so that neither a
 * crash nor a restart tells it twice, or never.
 */
import { ID_PREFIXES } from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import { appendOpsFailures, type OpsFailure } from '../operations-log/failures-store.ts';
import { appendSweepRuns, type SweptUnit } from '../operations-log/sweep-runs-store.ts';
import type { DirectoryMethods } from '../unit.ts';

const reconcileMigration: Migration = {
  version: 1,
  name: 'reports of open intents',
  sql: `
    ALTER TABLE open_intents ADD COLUMN reported_at INTEGER;
    CREATE INDEX open_intents_unreported ON open_intents (sequence) WHERE reported_at IS NULL;
    CREATE INDEX operations_intent ON operations (intent) WHERE finished_at IS NULL;
  `,
};

/** The set that the directory applies after that of long work. */
export const reconcileMigrations = { name: 'open-intents', migrations: [reconcileMigration] } as const;

/** Past its lease, and not of long work: that is running, or waits to be taken up, until it has ended. */
const UNSETTLED = `o.running_until <= ?
   AND NOT EXISTS (SELECT 1 FROM operations w WHERE w.intent = o.sequence AND w.finished_at IS NULL)`;

export const COUNT_UNSETTLED = `SELECT count(*) AS count FROM open_intents o WHERE ${UNSETTLED}`;

export const UNREPORTED = `SELECT o.sequence, l.action, l.request, l.tenant, l.scope, l.vertical
   FROM open_intents o CROSS JOIN admin_log l ON l.sequence = o.sequence
   WHERE o.reported_at IS NULL AND ${UNSETTLED} ORDER BY o.sequence LIMIT ?`;

/** How many are reported with one transaction. */
const REPORTED_AT_ONCE = 100;

export interface IntentMaintenance {
  /** Reports every intent that was left without an outcome and was not reported yet, and answers how many those are. */
  reconcile(): Promise<number>;
}

/** How many intents have no outcome, and nobody who would still write one. */
export function countUnsettled(db: SqlDatabase, nowMs: number): number {
  return db.get<{ count: number }>(COUNT_UNSETTLED, nowMs)?.count ?? 0;
}

/** The methods of the unit. */
export const reconcileMethods = (context: UnitContext) => ({
  unsettledIntents: (): number => countUnsettled(context.db, context.now()),

  /** Reports some, and answers how many: less than a hundred when none is left. */
  reportIntents: ({ run }: { readonly run: string }): number => {
    const { db } = context;
    const nowMs = context.now();
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

export function makeIntentMaintenance(
  directory: Pick<UnitStub<DirectoryMethods>, 'reportIntents'>,
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

interface Unreported extends Pick<SweptUnit, 'tenant' | 'scope' | 'vertical'> {
  readonly sequence: number;
  readonly action: string;
  readonly request: string;
}

const REASON = 'outcome_unknown';

function unitOf({ sequence, tenant, scope, vertical }: Unreported): SweptUnit {
  const about = { tenant, scope, vertical };
  return { kind: 'intent', unit: String(sequence), ...about, outcome: 'failed', reason: REASON };
}

function failureOf({ sequence, action, request, tenant, scope, vertical }: Unreported): OpsFailure {
  const where = scope === null ? 'what it was about' : 'the scope';
  return {
    operation: action,
    tenant,
    scope,
    vertical,
    subject: request,
    reason: REASON,
    detail: `Row ${sequence} of the admin log says that this was about to be done, and none says how it ended. Make the same call again, which settles it, or look at ${where}.`,
  };
}
