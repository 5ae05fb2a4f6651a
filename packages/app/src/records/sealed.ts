/**
 * The sealed fields of records: each value is sealed for its own record, so that the erasure of that person leaves it
 * unreadable in every copy. No index has it, and no list is narrowed or sorted by it.
 */
import type { JsonValue } from '@freehold/contracts';
import type { Operation, OperationContext, Vertical } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import type { Field } from './fields.ts';
import { listRows, type StoredRow } from './list.ts';
import { listQuery, type RecordShape } from './shape.ts';
import type { RecordTable } from './tables.ts';

/** Rows of a table are sealed anew in parts. */
const PART = 1_000;

const place = (table: string, { column }: Field, id: string): string => `${table}.${column}/${id}`;

export function sealedFields({ fields }: RecordTable): readonly Field[] {
  return fields.filter(({ isSealed }) => isSealed);
}

/** Returns a value as its column has it. */
export function columnValue(
  ctx: Pick<OperationContext, 'seal'>,
  { name }: RecordTable,
  field: Field,
  { id, value }: { readonly id: string; readonly value: SqlValue },
): SqlValue {
  if (!field.isSealed || value === null) return value;
  return ctx.seal(id, place(name, field, id), value as JsonValue);
}

/** Returns a row with its sealed values opened; they are null once the person was erased. */
export function openedRow(
  ctx: Pick<OperationContext, 'unseal'>,
  table: RecordTable,
  row: StoredRow,
): StoredRow {
  const sealed = sealedFields(table);
  if (sealed.length === 0) return row;
  return Object.assign(
    { ...row },
    ...sealed.map((field) => {
      const text = row[field.column] ?? null;
      return {
        [field.column]:
          text === null ? null : ctx.unseal(row.id, place(table.name, field, row.id), text as string),
      };
    }),
  );
}

/** Returns the ids of the rows that hold something sealed: their keys are needed. */
function sealedSubjects(table: RecordTable, rows: readonly StoredRow[]): string[] {
  const sealed = sealedFields(table);
  const hasSealed = (row: StoredRow): boolean => sealed.some(({ column }) => (row[column] ?? null) !== null);
  return rows.filter(hasSealed).map(({ id }) => id);
}

/** Returns a shape without its sealed fields: an import stages lines in clear, and so takes none of them. */
export function withoutSealed(shape: RecordShape): RecordShape {
  const fields = shape.table.fields.filter(({ isSealed }) => !isSealed);
  if (fields.length === shape.table.fields.length) return shape;
  return {
    ...shape,
    table: { ...shape.table, fields },
    byName: new Map(fields.map((field) => [field.name, field])),
  };
}

/** Seals the values of a table anew, in a copy of another scope. */
export function resealTable(
  { sql, reseal }: Parameters<NonNullable<Vertical['reseal']>>[0],
  table: RecordTable,
): void {
  const sealed = sealedFields(table);
  if (sealed.length === 0) return;
  const columns = sealed.map(({ column }) => column);
  for (let after = ''; ; ) {
    const rows = sql.all<StoredRow>(
      `SELECT id, ${columns.join(', ')} FROM ${table.name} WHERE id > ? ORDER BY id LIMIT ${PART}`,
      after,
    );
    for (const { id, ...row } of rows)
      for (const field of sealed) {
        const text = row[field.column] ?? null;
        if (text === null) continue;
        const anew = reseal(id, place(table.name, field, id), text as string);
        sql.run(`UPDATE ${table.name} SET ${field.column} = ? WHERE id = ?`, anew ?? null, id);
      }
    if (rows.length < PART) return;
    after = rows.at(-1)?.id ?? after;
  }
}

/** The persons of a list: the kernel asks for them, because their keys must be there before it is made. */
export function listSubjects(shape: RecordShape, read: string, limit?: number): Pick<Operation, 'subjects'> {
  const { table } = shape;
  if (sealedFields(table).length === 0) return {};
  return {
    subjects: (input, sql, by) => {
      const query = listQuery(by, shape, read, {
        ...(input as object),
        ...(limit === undefined ? {} : { limit }),
      });
      return query === null ? [] : sealedSubjects(table, listRows(sql, table, query).rows);
    },
  };
}
