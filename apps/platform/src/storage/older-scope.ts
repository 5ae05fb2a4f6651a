/**
 * Scopes that are laid down from an archive: persons may have been erased since. The mark makes each of them ask the
 * vault before it answers, as after a restore from a copy. Its long work does not go on by itself.
 */
import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { ChangeOlder } from '@freehold/engine-node';
import { haltWorks, markForPendingErasures } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';

export const changeOlderScope: ChangeOlder = (kind) => (kind.startsWith('scope-') ? markOlder : null);

/** Does nothing to a database that is no scope's. */
export function markOlder(database: DatabaseSync): void {
  const hasMark = database
    .prepare("SELECT 1 FROM pragma_table_info('_spine_scope') WHERE name = 'latecomers'")
    .get();
  // Earlier versions had no marks.
  if (!hasMark) return;
  const run = (sql: string, ...values: SqlValue[]) => void database.prepare(sql).run(...values);
  markForPendingErasures({ run }, randomUUID());
  haltWorks({ run, get: (sql, ...values) => database.prepare(sql).get(...values) as never });
}
