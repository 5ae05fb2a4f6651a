/** The rows of records: how they are read, shown, checked against others, and found by their words. */
import { PlatformError, toTimestamp } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import { type Field, inputValue, type RelatedRecord } from './fields.ts';
import type { StoredRow } from './list.ts';
import { IMPORTED, isImportShown, liveCondition } from './partitions.ts';
import { openedRow } from './sealed.ts';
import type { RecordShape } from './shape.ts';
import { type RecordTable, rowStatementsOf, uniqueCondition, wordTable } from './tables.ts';
import { wordsOf } from './words.ts';

/** Values by column. */
export type StoredValues = Readonly<Record<string, SqlValue>>;
export type Reader = Pick<OperationContext, 'sql' | 'reach' | 'markedWork'>;
/** A reader who may open what is sealed: for records whose keys are there. */
export type OpeningReader = Reader & Pick<OperationContext, 'unseal'>;

/** @throws PlatformError `not_found` */
export function rowOf(ctx: Reader, shape: RecordShape, id: string): StoredRow {
  const { type, table } = shape;
  const row = ctx.sql.get<StoredRow>(rowStatementsOf(table).one, id);
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
  return presentOpened(
    ctx,
    table,
    rows.map((row) => openedRow(ctx, table, row)),
  );
}

/** The same of rows whose sealed values are open. */
export function presentOpened(
  ctx: Reader,
  table: RecordTable,
  rows: readonly StoredRow[],
): Record<string, unknown>[] {
  const fields = table.fields.map((field) => ({
    field,
    titles: field.target ? titlesOf(ctx, field, rows) : null,
  }));
  return rows.map((row) => {
    const record: Record<string, unknown> = { id: row.id };
    for (const { field, titles } of fields) {
      const value = inputValue(field, row);
      record[field.name] = titles === null || value === null ? value : relatedOf(titles, value as string);
    }
    record.createdAt = toTimestamp(row.created_at as number);
    record.updatedAt = toTimestamp(row.updated_at as number);
    record.archivedAt = row.archived_at === null ? null : toTimestamp(row.archived_at as number);
    return record;
  });
}

function relatedOf(titles: ReadonlyMap<string, string>, id: string): RelatedRecord {
  const name = titles.get(id);
  return name === undefined ? { id: null, name: null } : { id, name };
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
    if (own.includes(null) || !sql.get(otherStatement(table, fields), ...own, id)) continue;
    const path = fields.map(({ name }) => name).join(', ');
    throw new PlatformError('conflict', `Another one has this ${path} already.`, {
      reason: 'taken',
      errors: fields.map(({ name }) => ({ path: name, message: 'is taken already' })),
    });
  }
}

const otherStatements = new WeakMap<readonly Field[], string>();

/** Returns the statement that finds another record with some values in common. */
function otherStatement(table: RecordTable, fields: readonly Field[]): string {
  let text = otherStatements.get(fields);
  if (text === undefined) {
    const same = fields.map(({ column }) => `${column} = ?`).join(' AND ');
    text = `SELECT 1 FROM ${table.name} WHERE ${uniqueCondition(table)} AND ${same} AND id <> ?`;
    otherStatements.set(fields, text);
  }
  return text;
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
  sql.run(`DELETE FROM ${wordTable(table)} WHERE id = ?`, id);
  addWords(sql, table, id, values, archived);
}

/** Writes the words of a record by its present row, as when that was emptied by an erasure. */
export function rewriteWords(sql: SqlDatabase, table: RecordTable, id: string): void {
  if (table.search.length === 0) return;
  const row = sql.get<StoredRow>(rowStatementsOf(table).one, id);
  if (row) writeWords(sql, table, id, row, row.archived as number);
}

/** Writes the words of a record that has none. */
export function addWords(...[sql, table, id, values, archived]: Parameters<typeof writeWords>): void {
  if (table.search.length === 0) return;
  const name = wordTable(table);
  const words = wordsOf(table.search.map(({ column }) => values[column] as string | null));
  sql.run(
    `INSERT INTO ${name} (archived, word, id) SELECT ?, value, ? FROM json_each(?)`,
    archived,
    id,
    JSON.stringify(words),
  );
}
