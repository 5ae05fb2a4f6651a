/** The bounds of a scope's logs after retention: a read that may miss rows says so. */
import { type Page, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** Events, invocations and requests to the platform; refused attempts. */
export type PrunedLog = 'history' | 'denials';

/** Stands beside a list from which rows may be missing. */
export interface PrunedBefore {
  /** Older rows were removed by the scope's retention. Absent as long as none was. */
  readonly prunedBefore?: string;
}

/** A page that says which rows of the list are not kept any more. */
export type PrunedPage<T> = Page<T> & PrunedBefore;

export const PRUNED_SQL = { before: 'SELECT before FROM _spine_pruned WHERE log = ?' } as const;

export type Pruned = ReturnType<typeof makePruned>;

export function makePruned(db: SqlDatabase) {
  /** Returns the bound in milliseconds since the epoch; null when every row is there. */
  const beforeMs = (log: PrunedLog): number | null =>
    db.get<{ before: number }>(PRUNED_SQL.before, log)?.before ?? null;

  return {
    beforeMs,
    /** Returns the same bound as it stands beside a list. */
    said: (log: PrunedLog): PrunedBefore => {
      const before = beforeMs(log);
      return before === null ? {} : { prunedBefore: toTimestamp(before) };
    },
    /** Records that rows from before a moment are being removed. The bound never moves back. */
    mark: (log: PrunedLog, ms: number): void =>
      db.run(
        'INSERT INTO _spine_pruned (log, before) VALUES (?, ?) ON CONFLICT (log) DO UPDATE SET before = max(before, excluded.before)',
        log,
        ms,
      ),
  };
}
