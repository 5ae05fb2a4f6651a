/** The units of sweeps in SQL (spec 6.4). */
import type { ScopeId, TenantId } from '@freehold/contracts';
import {
  computed,
  defineTable,
  integer,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { SweepRunRecord } from '../declarations/operations-log.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { SWEEP_RUNS, trim } from './retention.ts';

const runs = defineTable('sweep_runs', ['sequence'], {
  sequence: computed('sequence', integer()),
  run: text(),
  kind: text<SweepRunRecord['kind']>(),
  /** The connection, schedule, feed or intent. */
  unit: text(),
  tenant: nullable(text<TenantId>()),
  scope: nullable(text<ScopeId>()),
  vertical: nullable(text()),
  outcome: text<SweepRunRecord['outcome']>(),
  reason: nullable(text()),
  atMs: time(),
});
/** One unit and its outcome. */
export type SweptUnit = Omit<RowOf<typeof runs>, 'sequence' | 'run' | 'atMs'>;

export function appendSweepRuns(
  db: SqlDatabase,
  run: string,
  units: readonly SweptUnit[],
  nowMs: number,
): void {
  for (const unit of units) runs.insert(db, { ...unit, run, atMs: nowMs });
  trim(db, SWEEP_RUNS, { shelves: units.map(({ tenant, kind }) => ({ tenant, kind })), nowMs });
}

export interface SweepRunFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly kind?: string | undefined;
  readonly unit?: string | undefined;
  readonly outcome?: string | undefined;
  readonly run?: string | undefined;
}

export const { statement: sweepRunsPage, list: listSweepRuns } = definePages({
  from: runs,
  where: ({ tenant, scope, kind, unit, outcome, run }: SweepRunFilter) => ({
    ...{ tenant, scope, kind, unit, outcome, run },
  }),
  key: 'sequence',
  numeric: true,
  order: 'DESC',
  item: runs.recording<SweepRunRecord>(),
});
