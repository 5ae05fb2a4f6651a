/** The reads of the operations log, and the unit's methods that write it. */
import type { UnitContext } from '@freehold/store';
import { opsFailuresList, sweepRunsList } from '../declarations/operations-log.ts';
import { read } from '../lib/handlers.ts';
import { appendOpsFailures, isTold, listOpsFailures, type OpsFailure } from './failures-store.ts';
import { appendSweepRuns, listSweepRuns, type SweptUnit } from './sweep-runs-store.ts';

export const readOpsFailures = read(opsFailuresList, ({ db }, { query }) => ({
  value: listOpsFailures(db, query),
}));

export const readSweepRuns = read(sweepRunsList, ({ db }, { query }) => ({
  value: listSweepRuns(db, query),
}));

export const operationsLogMethods = (context: UnitContext) => ({
  recordOpsFailures: ({ failures }: { readonly failures: readonly OpsFailure[] }): null => {
    appendOpsFailures(context.db, failures, context.now());
    return null;
  },

  /**
   * Units of one sweep. Each that failed is a failure of operation as well, in the same transaction, unless the same one
   * is of the last hour.
   */
  recordSweep: ({ run, units }: { readonly run: string; readonly units: readonly SweptUnit[] }): null => {
    appendSweepRuns(context.db, run, units, context.now());
    const failures = units.filter(({ outcome }) => outcome === 'failed').map(failureOf);
    const news = failures.filter((failure) => !isTold(context.db, failure, context.now()));
    appendOpsFailures(context.db, news, context.now());
    return null;
  },
});

function failureOf({ kind, unit, tenant, scope, vertical, reason }: SweptUnit): OpsFailure {
  return {
    operation: `sweep.${kind}`,
    tenant,
    scope,
    vertical,
    subject: unit,
    reason: reason ?? 'unknown',
    detail: `A sweep could not finish with this ${kind}.`,
  };
}
