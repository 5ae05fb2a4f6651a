/**
 * Decides which SQL of a vertical may run, by SQLite's authorizer while a statement is prepared: spine tables are read
 * and never written, and nothing reaches outside the transaction or the file.
 */
import { constants } from 'node:sqlite';
import type { GuardOptions } from '@freehold/store';

/** Actions that write to the table named first. */
const WRITES = new Set<number>([constants.SQLITE_INSERT, constants.SQLITE_UPDATE, constants.SQLITE_DELETE]);

/** Actions that change the schema, with the position of the name of the table or object. */
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

/** Actions whose names need no check: a guarded view exists for reading. */
const READS = new Set<number>([constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_RECURSIVE]);

/** Whether the guard refuses an action. It refuses every action that is not known to be harmless. */
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
  // Adding a column to a STRICT table makes SQLite check that table by itself. A PRAGMA in the text was refused
  // before.
  if (action === constants.SQLITE_PRAGMA && first === 'quick_check')
    return second === null || isProtected(second);
  const positions = SCHEMA.get(action);
  // Transactions, savepoints, pragmas, attached files, temporary objects and virtual tables all end here.
  if (!positions) return true;
  return positions.some((position) => isProtected(position === 'first' ? first : second));
}
