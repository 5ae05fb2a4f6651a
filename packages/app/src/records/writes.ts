/** The writes of records: inserted, changed, archived, and moved from the imported ones to the others, with their events. */
import type { EntityRef } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import { inputValue } from './fields.ts';
import type { StoredRow } from './list.ts';
import { ARCHIVED, IMPORTED, LIVE } from './partitions.ts';
import { addWords, requireRelated, requireUnique, rowOf, type StoredValues, writeWords } from './rows.ts';
import { columnValue } from './sealed.ts';
import type { RecordShape } from './shape.ts';
import { type RecordTable, rowStatementsOf, wordTable } from './tables.ts';

type Fields = Readonly<Record<string, unknown>>;

export function entityOf({ type }: RecordShape, id: string): EntityRef {
  return { type, id };
}

/** Inserts a record into a part of the table, after the checks against other records; returns its row, nothing of it sealed. */
export function insertRecord(
  ctx: OperationContext,
  shape: RecordShape,
  values: StoredValues,
  part: typeof LIVE | typeof IMPORTED,
): StoredRow {
  const { table, prefix } = shape;
  const id = ctx.newId(prefix);
  requireRelated(ctx, table, values);
  requireUnique(ctx.sql, shape, values, id);
  ctx.sql.run(
    rowStatementsOf(table).insert,
    id,
    part,
    ctx.now,
    ctx.now,
    ...table.fields.map((field) =>
      columnValue(ctx, table, field, { id, value: values[field.column] ?? null }),
    ),
  );
  addWords(ctx.sql, table, id, values, part);
  const { now } = ctx;
  return { ...values, id, archived: part, created_at: now, updated_at: now, archived_at: null };
}

export function emitCreated(
  ctx: OperationContext,
  shape: RecordShape,
  id: string,
  values: StoredValues,
): void {
  const payload = shape.said(shape.table.fields, values);
  ctx.emit({ type: `${shape.type}.created`, entity: entityOf(shape, id), payload });
}

/** Returns the row of a record that is about to be written. An imported one is moved first, so that its history begins. */
export function movedRow(ctx: OperationContext, shape: RecordShape, id: string): StoredRow {
  return move(ctx, shape, rowOf(ctx, shape, id));
}

/** Moves an imported record to those that are there, with the event that it was made; leaves others as they are. */
export function move(ctx: OperationContext, shape: RecordShape, row: StoredRow): StoredRow {
  if (row.archived !== IMPORTED) return row;
  const { table } = shape;
  ctx.sql.run(`UPDATE ${table.name} SET archived = ? WHERE id = ?`, LIVE, row.id);
  if (table.search.length > 0)
    ctx.sql.run(`UPDATE ${wordTable(table)} SET archived = ? WHERE id = ?`, LIVE, row.id);
  emitCreated(ctx, shape, row.id, row);
  return { ...row, archived: LIVE };
}

/** The fields of a record with those that are sent in place of its own. A field without a value is left out. */
export function changedFields({ fields }: RecordTable, before: StoredRow, sent: Fields): Fields {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = Object.hasOwn(sent, field.name) ? sent[field.name] : inputValue(field, before);
      return value === null && !field.takesNull ? [] : [[field.name, value]];
    }),
  );
}

/** Writes the fields that differ; does nothing where none does. */
export function change(
  ctx: OperationContext,
  shape: RecordShape,
  before: StoredRow,
  values: StoredValues,
): void {
  const { type, table } = shape;
  const changed = table.fields.filter(({ column }) => values[column] !== before[column]);
  if (changed.length === 0) return;
  const { id } = before;
  const written = changed.map((field) =>
    columnValue(ctx, table, field, { id, value: values[field.column] ?? null }),
  );
  // The other relations were judged when they were chosen.
  requireRelated(ctx, { ...table, fields: changed }, values);
  requireUnique(ctx.sql, shape, values, id);
  ctx.sql.run(
    `UPDATE ${table.name} SET ${changed.map(({ column }) => `${column} = ?`).join(', ')}, updated_at = ? WHERE id = ?`,
    ...written,
    ctx.now,
    id,
  );
  if (changed.some((field) => table.search.includes(field))) writeWords(ctx.sql, table, id, values, 0);
  ctx.emit({ type: `${type}.updated`, entity: entityOf(shape, id), payload: shape.said(changed, values) });
}

export function setArchived(
  ctx: OperationContext,
  shape: RecordShape,
  row: StoredRow,
  archived: typeof LIVE | typeof ARCHIVED,
): void {
  const { type, table } = shape;
  const { id } = row;
  if (row.archived === archived) return;
  if (archived === LIVE) requireUnique(ctx.sql, shape, row, id);
  ctx.sql.run(
    `UPDATE ${table.name} SET archived = ?, archived_at = ?, updated_at = ? WHERE id = ?`,
    archived,
    archived === ARCHIVED ? ctx.now : null,
    ctx.now,
    id,
  );
  writeWords(ctx.sql, table, id, row, archived);
  ctx.emit({
    type: `${type}.${archived === ARCHIVED ? 'archived' : 'unarchived'}`,
    entity: entityOf(shape, id),
  });
}

/** Returns the values of a checked input, by column. */
export function storedValues({ fields }: RecordTable, input: Fields): StoredValues {
  const values: Record<string, SqlValue> = {};
  for (const { name, column, isBoolean } of fields) {
    const value = (input[name] ?? null) as SqlValue | boolean;
    values[column] = isBoolean && value !== null ? Number(value) : (value as SqlValue);
  }
  return values;
}
