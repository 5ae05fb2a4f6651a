/** The reads of the operations log, and the unit's methods that write it. */

import { pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { opsFailureRecord, sweepKind, sweepOutcome, sweepRunRecord } from '../declarations/operations-log.ts';
import { defineFeature } from '../lib/feature.ts';
import { read } from '../lib/handlers.ts';
import { appendOpsFailures, isLogged, listOpsFailures, type OpsFailure } from './failures-store.ts';
import { operationsLogMigrations } from './schema.ts';
import { appendSweepRuns, listSweepRuns, type SweptUnit } from './sweep-runs-store.ts';

const tag = 'Operations';

const word = z.string().min(1).max(128);

const filters = {
  tenant: tenantId.optional().describe('Only rows about this tenant; a builder may leave it out'),
  scope: scopeId.optional().describe('Only rows about this scope'),
};

export const opsFailuresList = adminOperation({
  name: 'ops-failures.list',
  summary: 'List what the platform could not do, newest first',
  description:
    'Work that no caller waits for: sweeps, schedules, collections; and calls of unknown outcome. A repeated failure for the same reason is one row an hour. Of each tenant, and of the platform itself, the newest 1000 rows of the last 90 days are kept.',
  tag,
  method: 'GET',
  path: '/ops-failures',
  input: {
    query: z.strictObject({
      ...filters,
      operation: word.optional().describe('Only failures of this work'),
      ...pageQuery,
    }),
  },
  output: pageOf(opsFailureRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const readOpsFailures = /* @__PURE__ */ read(opsFailuresList, ({ db }, { query }) => ({
  value: listOpsFailures(db, query),
}));

export const sweepRunsList = adminOperation({
  name: 'sweep-runs.list',
  summary: 'List the units swept, newest first',
  description:
    'One row for each unit of each sweep, and one for each run of a job of the platform. Only what is skipped is not repeated: for the same reason, a unit is one row a day, and a job without anything to do one row an hour. Kept are the last 30 days, and of each kind the newest 2000 rows of a tenant, and 20000 of the platform itself.',
  tag,
  method: 'GET',
  path: '/sweep-runs',
  input: {
    query: z.strictObject({
      ...filters,
      kind: sweepKind.optional().describe('Only units of this kind'),
      unit: word.optional().describe('Only this unit: platform/maintenance'),
      outcome: sweepOutcome.optional().describe('Only units with this outcome'),
      run: word.optional().describe('Only units of this sweep'),
      ...pageQuery,
    }),
  },
  output: pageOf(sweepRunRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const readSweepRuns = /* @__PURE__ */ read(sweepRunsList, ({ db }, { query }) => ({
  value: listSweepRuns(db, query),
}));

export const operationsLogMethods = (context: UnitContext) => ({
  recordOpsFailures: ({ failures }: { readonly failures: readonly OpsFailure[] }): null => {
    appendOpsFailures(context.db, failures, context.now());
    return null;
  },

  /**
   * Records units of one sweep. Each failed unit is a failed operation too, in the same transaction, unless the same failure
   * was logged within the last hour.
   */
  recordSweep: ({ run, units }: { readonly run: string; readonly units: readonly SweptUnit[] }): null => {
    appendSweepRuns(context.db, run, units, context.now());
    const failures = units.filter(({ outcome }) => outcome === 'failed').map(failureOf);
    const unlogged = failures.filter((failure) => !isLogged(context.db, failure, context.now()));
    appendOpsFailures(context.db, unlogged, context.now());
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

export const operationsLogFeature = /* @__PURE__ */ defineFeature({
  operations: [readOpsFailures, readSweepRuns],
  migrations: [operationsLogMigrations],
  methods: operationsLogMethods,
});
