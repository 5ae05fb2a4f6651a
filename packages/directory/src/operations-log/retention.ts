/**
 * How much of the operations log is kept. A tenant's rows push out only that tenant's: one whose every connection fails
 * hides nothing of anybody else's.
 */
import type { SqlDatabase } from '@freehold/store';

export interface Retention {
  readonly table: 'ops_failures' | 'sweep_runs';
  /** Rows kept of one tenant, and as many of the platform itself. */
  readonly rowsMax: number;
  readonly ageMaxMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
export const OPS_FAILURES: Retention = { table: 'ops_failures', rowsMax: 1000, ageMaxMs: 90 * DAY_MS };
export const SWEEP_RUNS: Retention = { table: 'sweep_runs', rowsMax: 2000, ageMaxMs: 30 * DAY_MS };

/** Rows that go because of their age with one call: appending stays quick after a long pause, too. */
const AGED_MAX = 500;

export const tenantTrim = ({ table }: Retention): string =>
  `DELETE FROM ${table} WHERE tenant IS ?1 AND sequence <=
     (SELECT sequence FROM ${table} WHERE tenant IS ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)`;

export const ageTrim = ({ table }: Retention): string =>
  `DELETE FROM ${table} WHERE sequence IN
     (SELECT sequence FROM ${table} WHERE at < ? ORDER BY at LIMIT ${AGED_MAX})`;

/** Forgets what is too old, and what these tenants have too much of. */
export function trim(
  db: SqlDatabase,
  retention: Retention,
  { tenants, nowMs }: { readonly tenants: ReadonlySet<string | null>; readonly nowMs: number },
): void {
  db.run(ageTrim(retention), nowMs - retention.ageMaxMs);
  for (const tenant of tenants) db.run(tenantTrim(retention), tenant, retention.rowsMax);
}
