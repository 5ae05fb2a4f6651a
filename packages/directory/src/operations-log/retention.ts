/**
 * The retention of the operations log. Rows of one tenant replace only rows of that tenant, so that a tenant whose every
 * connection fails hides no other's. Likewise one kind of unit hides no other: a minutely schedule no backup.
 */
import type { SqlDatabase } from '@freehold/store';
import type { Statement } from '../lib/pages.ts';

/** A tenant and kind whose rows make room for each other. */
export interface Shelf {
  readonly tenant: string | null;
  /** Undefined where there are no kinds. */
  readonly kind?: string;
}

export interface Retention {
  readonly table: 'ops_failures' | 'sweep_runs';
  /** Rows kept of one shelf. */
  readonly rowsMax: number;
  /** The same for the platform itself. */
  readonly ownRowsMax: number;
  readonly ageMaxMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
export const OPS_FAILURES: Retention = {
  table: 'ops_failures',
  rowsMax: 1000,
  ownRowsMax: 1000,
  ageMaxMs: 90 * DAY_MS,
};
/** The platform's own jobs run up to five times a minute: three days of a busy one. */
export const SWEEP_RUNS: Retention = {
  table: 'sweep_runs',
  rowsMax: 2000,
  ownRowsMax: 20_000,
  ageMaxMs: 30 * DAY_MS,
};

/** The most aged rows that one call deletes, so that appending stays quick after a long pause. */
const AGED_MAX = 500;

/** Deletes the rows beyond the bound of one shelf. */
export function shelfTrim({ table, rowsMax, ownRowsMax }: Retention, { tenant, kind }: Shelf): Statement {
  const where = kind === undefined ? 'tenant IS ?1' : 'tenant IS ?1 AND kind = ?3';
  return {
    sql: `DELETE FROM ${table} WHERE ${where} AND sequence <=
     (SELECT sequence FROM ${table} WHERE ${where} ORDER BY sequence DESC LIMIT 1 OFFSET ?2)`,
    params: [tenant, tenant === null ? ownRowsMax : rowsMax, ...(kind === undefined ? [] : [kind])],
  };
}

export const ageTrim = ({ table }: Retention): string =>
  `DELETE FROM ${table} WHERE sequence IN
     (SELECT sequence FROM ${table} WHERE at < ? ORDER BY at LIMIT ${AGED_MAX})`;

/** Deletes rows that are too old, or beyond the bounds of these shelves. */
export function trim(
  db: SqlDatabase,
  retention: Retention,
  { shelves, nowMs }: { readonly shelves: Iterable<Shelf>; readonly nowMs: number },
): void {
  db.run(ageTrim(retention), nowMs - retention.ageMaxMs);
  const touched = new Map([...shelves].map((shelf) => [`${shelf.kind} ${shelf.tenant}`, shelf]));
  for (const shelf of touched.values()) {
    const { sql, params } = shelfTrim(retention, shelf);
    db.run(sql, ...params);
  }
}
