/** The rows of records: how they are read, shown, checked against others, and found by their words. */
import { PlatformError, toTimestamp } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import { type Field, inputValue } from './fields.ts';
import type { StoredRow } from './list.ts';
import { IMPORTED, isImportShown, liveCondition } from './partitions.ts';
import { openedRow } from './sealed.ts';
import type { RecordShape } from './shape.ts';
import { type RecordTable, uniqueCondition, wordTable } from './tables.ts';
import { wordsOf } from './words.ts';

/** Values by column. */
export type StoredValues = Readonly<Record<string, SqlValue>>;
export type Reader = Pick<OperationContext, 'sql' | 'reach' | 'markedWork'>;
/** A reader who may open what is sealed: for records whose keys are there. */
export type OpeningReader = Reader & Pick<OperationContext, 'unseal'>;

/** @throws PlatformError `not_found` */
export function rowOf(ctx: Reader, shape: RecordShape, id: string): StoredRow {
  const { type, table } = shape;
  const row = ctx.sql.get<StoredRow>(`SELECT * FROM ${table.name} WHERE id = ?`, id);
  if (row && (row.archived !== IMPORTED || isImportShown(ctx, shape))) return row;
  throw new PlatformError('not_found', `There is no such ${type.replaceAll('-', ' ')}.`, {
    reason: `unknown_${type.replaceAll('-', '_')}`,
  });
}

/** Returns a record as its reader sees it. @throws PlatformError `not_found` */
export function presentOne(ctx: OpeningReader, shape: RecordShape, id: string): Record<string, unknown> {
  return presentRows(ctx, shape.table, [rowOf(ctx, shape, id)])[0] as Record<string, unknown>;
}

/** Returns the rows as their reader sees them: related records by name, where the reader may read them. */
export function presentRows(
  ctx: OpeningReader,
  table: RecordTable,
  rows: readonly StoredRow[],
): Record<string, unknown>[] {
  const names = new Map(
    table.fields.flatMap((field) => (field.target ? [[field, titlesOf(ctx, field, rows)] as const] : [])),
  );
  const shown = (field: Field, row: StoredRow): unknown => {
    const value = inputValue(field, row);
    const titles = names.get(field);
    if (!titles || value === null) return value;
    const name = titles.get(value as string);
    return name === undefined ? { id: null, name: null } : { id: value, name };
  };
  return rows
    .map((stored) => openedRow(ctx, table, stored))
    .map((row) => ({
      id: row.id,
      ...Object.fromEntries(table.fields.map((field) => [field.name, shown(field, row)])),
      createdAt: toTimestamp(row.created_at as number),
      updatedAt: toTimestamp(row.updated_at as number),
      archivedAt: row.archived_at === null ? null : toTimestamp(row.archived_at as number),
    }));
}

/** The titles of the records that a field of these rows names, by id, without those that the reader may not read. */
function titlesOf(
  ctx: Reader,
  { column, target }: Field,
  rows: readonly StoredRow[],
): ReadonlyMap<string, string> {
  if (!target) return new Map();
  const ids = new Set(rows.flatMap((row) => (row[column] === null ? [] : [row[column] as string])));
  if (ids.size === 0) return new Map();
  const reach = ctx.reach(target.entity.read, target.type);
  const readable = reach === 'all' ? [...ids] : reach.filter((id) => ids.has(id));
  const { name, title } = target.table;
  const found = ctx.sql.all<{ id: string; title: SqlValue }>(
    `SELECT id, ${title} AS title FROM ${name} WHERE id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(readable),
  );
  return new Map(found.map(({ id, title: text }) => [id, String(text ?? '')]));
}

/**
 * Demands that the named records are there, are not archived, and are ones that the caller may read.
 * @throws PlatformError `validation_failed` at the field; the same for all three.
 */
export function requireRelated(ctx: Reader, { fields }: RecordTable, values: StoredValues): void {
  const errors = fields.flatMap(({ name, column, target }) => {
    const id = values[column] ?? null;
    if (!target || id === null) return [];
    const reach = ctx.reach(target.entity.read, target.type);
    const isThere =
      (reach === 'all' || reach.includes(id as string)) &&
      ctx.sql.get(`SELECT 1 FROM ${target.table.name} WHERE id = ? AND ${liveCondition(ctx, target)}`, id) !==
        undefined;
    return isThere ? [] : [{ path: name, message: `there is no such ${target.type.replaceAll('-', ' ')}` }];
  });
  const [first] = errors;
  if (first)
    throw new PlatformError('validation_failed', `The body is not valid. ${first.path}: ${first.message}.`, {
      errors,
    });
}

/**
 * Demands that no other record has these values in common. It says nothing about the other one but that it exists.
 * @throws PlatformError `conflict`, reason `taken`, at the field.
 */
export function requireUnique(
  sql: SqlDatabase,
  { table, unique }: RecordShape,
  values: StoredValues,
  id: string,
): void {
  for (const fields of unique) {
    const own = fields.map(({ column }) => values[column] ?? null);
    // Null differs from everything.
    if (own.includes(null)) continue;
    const same = fields.map(({ column }) => `${column} = ?`).join(' AND ');
    const other = sql.get(
      `SELECT 1 FROM ${table.name} WHERE ${uniqueCondition(table)} AND ${same} AND id <> ?`,
      ...own,
      id,
    );
    if (!other) continue;
    const path = fields.map(({ name }) => name).join(', ');
    throw new PlatformError('conflict', `Another one has this ${path} already.`, {
      reason: 'taken',
      errors: fields.map(({ name }) => ({ path: name, message: 'is taken already' })),
    });
  }
}

/** Writes the words that a record is found by, in place of the earlier ones. */
export function writeWords(
  sql: SqlDatabase,
  table: Pick<RecordTable, 'name'> & { readonly search: readonly Pick<Field, 'column'>[] },
  id: string,
  values: StoredValues,
  archived: number,
): void {
  if (table.search.length === 0) return;
  const name = wordTable(table);
  sql.run(`DELETE FROM ${name} WHERE id = ?`, id);
  const words = wordsOf(table.search.map(({ column }) => values[column] as string | null));
  sql.run(
    `INSERT INTO ${name} (archived, word, id) SELECT ?, value, ? FROM json_each(?)`,
    archived,
    id,
    JSON.stringify(words),
  );
}
