/** What of a scope's logs is no longer there: every read that may miss something says so by this. */
import { type Page, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/** Events, invocations and requests to the platform; refused attempts. */
export type PrunedLog = 'history' | 'denials';

/** Said beside a list from which something may be missing. */
export interface PrunedBefore {
  /** What is older was removed, as the scope's retention says. Absent as long as nothing was. */
  readonly prunedBefore?: string;
}

/** A page that says when something that belongs in the list is not kept any more. */
export type PrunedPage<T> = Page<T> & PrunedBefore;

export const PRUNED_SQL = { before: 'SELECT before FROM _spine_pruned WHERE log = ?' } as const;

export type Pruned = ReturnType<typeof makePruned>;

export function makePruned(db: SqlDatabase) {
  /** Milliseconds since the epoch, or null: everything is there. */
  const beforeMs = (log: PrunedLog): number | null =>
    db.get<{ before: number }>(PRUNED_SQL.before, log)?.before ?? null;

  return {
    beforeMs,
    /** The same, as it is said beside a list. */
    said: (log: PrunedLog): PrunedBefore => {
      const before = beforeMs(log);
      return before === null ? {} : { prunedBefore: toTimestamp(before) };
    },
    /** Rows from before a moment are being removed. It is never taken back: they are gone. */
    mark: (log: PrunedLog, ms: number): void =>
      db.run(
        'INSERT INTO _spine_pruned (log, before) VALUES (?, ?) ON CONFLICT (log) DO UPDATE SET before = max(before, excluded.before)',
        log,
        ms,
      ),
  };
}
