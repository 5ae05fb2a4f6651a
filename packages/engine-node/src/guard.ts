/**
 * What SQL that is not the platform's own may do, decided by SQLite's authorizer while a statement is prepared:
 * spine tables are read and never written, and nothing reaches outside the transaction or the file.
 */
import { constants } from 'node:sqlite';
import type { GuardOptions } from '@freehold/store';

/** Actions that write to the table named first. */
const WRITES = new Set<number>([constants.SQLITE_INSERT, constants.SQLITE_UPDATE, constants.SQLITE_DELETE]);

/** Actions that change the schema, with the position of the table's (or the object's own) name. */
const SCHEMA = new Map<number, readonly ('first' | 'second')[]>([
  [constants.SQLITE_CREATE_TABLE, ['first']],
  [constants.SQLITE_CREATE_VIEW, ['first']],
  [constants.SQLITE_CREATE_INDEX, ['first', 'second']],
  [constants.SQLITE_CREATE_TRIGGER, ['first', 'second']],
  [constants.SQLITE_DROP_TABLE, ['first']],
  [constants.SQLITE_DROP_VIEW, ['first']],
  [constants.SQLITE_DROP_INDEX, ['first', 'second']],
  [constants.SQLITE_DROP_TRIGGER, ['first', 'second']],
  [constants.SQLITE_ALTER_TABLE, ['second']],
  [constants.SQLITE_REINDEX, ['first']],
  [constants.SQLITE_ANALYZE, ['first']],
]);

/** Actions that need no look at their names: reading is what a guarded view is for. */
const READS = new Set<number>([constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_RECURSIVE]);

/** Whether the guard refuses an action. Whatever is not known to be harmless is refused. */
export function isRefused(
  guard: GuardOptions,
  action: number,
  first: string | null,
  second: string | null,
): boolean {
  if (READS.has(action)) return false;
  if (action === constants.SQLITE_FUNCTION) return second?.toLowerCase() === 'load_extension';
  if (guard.readOnly) return true;
  const isProtected = (name: string | null) => name?.toLowerCase().startsWith(guard.protectedPrefix) ?? false;
  if (WRITES.has(action)) return isProtected(first);
  // Adding a column to a STRICT table makes SQLite check that table by itself. A PRAGMA that somebody wrote has been
  // refused before, by its text.
  if (action === constants.SQLITE_PRAGMA && first === 'quick_check')
    return second === null || isProtected(second);
  const positions = SCHEMA.get(action);
  // Transactions, savepoints, pragmas, attached files, temporary objects and virtual tables all end here.
  if (!positions) return true;
  return positions.some((position) => isProtected(position === 'first' ? first : second));
}
