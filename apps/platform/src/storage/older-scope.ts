/**
 * Scopes that are laid down from an archive: persons may have been erased since. The mark makes each of them ask the
 * vault before it answers, as after a restore from a copy.
 */
import { randomUUID } from 'node:crypto';
import type { ChangeOlder } from '@freehold/engine-node';
import { markForPendingErasures } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';

export const changeOlderScope: ChangeOlder = (kind) =>
  kind.startsWith('scope-')
    ? (database) => {
        const hasMark = database
          .prepare("SELECT 1 FROM pragma_table_info('_spine_scope') WHERE name = 'latecomers'")
          .get();
        // Earlier versions had no marks.
        if (!hasMark) return;
        const run = (sql: string, ...values: SqlValue[]) => void database.prepare(sql).run(...values);
        markForPendingErasures({ run }, randomUUID());
      }
    : null;
