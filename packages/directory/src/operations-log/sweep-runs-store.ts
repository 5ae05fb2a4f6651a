/** The units of sweeps in SQL (spec 6.4). */
import { cutPage, type Page, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { SweepRunRecord } from '../declarations/operations-log.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { SWEEP_RUNS, trim } from './retention.ts';

/** One unit and its outcome. */
export interface SweptUnit {
  readonly kind: SweepRunRecord['kind'];
  /** The connection, schedule, feed or intent. */
  readonly unit: string;
  readonly tenant: TenantId | null;
  readonly scope: ScopeId | null;
  readonly vertical: string | null;
  readonly outcome: SweepRunRecord['outcome'];
  readonly reason: string | null;
}

type SweepRunRow = SweptUnit & { readonly sequence: number; readonly run: string; readonly at: number };

export function appendSweepRuns(
  db: SqlDatabase,
  run: string,
  units: readonly SweptUnit[],
  nowMs: number,
): void {
  for (const { kind, unit, tenant, scope, vertical, outcome, reason } of units) {
    db.run(
      `INSERT INTO sweep_runs (run, at, kind, unit, tenant, scope, vertical, outcome, reason)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[run, nowMs, kind, unit, tenant, scope, vertical, outcome, reason],
    );
  }
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

export function sweepRunsPage(filter: SweepRunFilter): Statement {
  const { tenant, scope, kind, unit, outcome, run } = filter;
  return pageStatement(
    {
      select:
        'SELECT sequence, run, at, kind, unit, tenant, scope, vertical, outcome, reason FROM sweep_runs',
      where: { tenant, scope, kind, unit, outcome, run },
      key: 'sequence',
      numeric: true,
      order: 'DESC',
    },
    filter,
  );
}

export function listSweepRuns(db: SqlDatabase, filter: SweepRunFilter): Page<SweepRunRecord> {
  const { sql, params } = sweepRunsPage(filter);
  return cutPage(
    db.all<SweepRunRow>(sql, ...params),
    filter.limit,
    (row) => String(row.sequence),
    ({ at, ...row }) => ({ ...row, at: toTimestamp(at) }),
  );
}
