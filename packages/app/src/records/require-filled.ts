/** The demand that every record has a value which became required: for the `fill` of a migration. */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

/**
 * Returns the `fill` of the migration from which a relation is required: `freehold migrate make` writes it. It fails, and
 * with it the migration, where a record lacks the value; archived ones count.
 * @param table the table of the records: `animals`. @param column that of the relation: `keeper`.
 */
export function requireFilled(table: string, column: string): (db: SqlDatabase) => void {
  return (db) => {
    const { n = 0 } =
      db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE ${column} IS NULL`) ?? {};
    if (n === 0) return;
    throw new PlatformError(
      'conflict',
      `${column} is required from this version on, and ${n} of the records in ${table} have none (those that are archived count, too). Give them one with the version before, or let the field be left out.`,
      { reason: 'value_missing' },
    );
  };
}
