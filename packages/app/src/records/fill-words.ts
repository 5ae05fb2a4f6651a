/** The words of records that were there before they were searched: for the `fill` of a migration. */
import type { SqlDatabase } from '@freehold/store';
import { writeWords } from './rows.ts';

/** Records that are read at a time. */
const PART = 1_000;

/**
 * Returns the `fill` of the migration that makes a table of words: `freehold migrate make` writes it. It writes the words of
 * each record that is there, in the transaction of the migration.
 * @param table the table of the records: `animals`. @param columns those whose words are searched.
 */
export function fillWords(table: string, columns: readonly string[]): (db: SqlDatabase) => void {
  const words = { name: table, search: columns.map((column) => ({ column })) };
  return (db) => {
    let after = '';
    for (;;) {
      const rows = db.all<Record<string, string | null> & { id: string; archived: number }>(
        `SELECT id, archived, ${columns.join(', ')} FROM ${table} WHERE id > ? ORDER BY id LIMIT ${PART}`,
        after,
      );
      for (const row of rows) writeWords(db, words, row.id, row, row.archived);
      if (rows.length < PART) return;
      after = rows.at(-1)?.id ?? after;
    }
  };
}
