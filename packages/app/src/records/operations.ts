/** The six operations of a type of records. */
import { cutPage, type EntityRef, PlatformError, parseInput } from '@freehold/contracts';
import { type Operation, type OperationContext, operation } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import { z } from 'zod';
import { inputValue, unwrap } from './fields.ts';
import { keyOf, listRows, type StoredRow } from './list.ts';
import type { RecordsOptions } from './records.ts';
import {
  presentOne,
  presentRows,
  requireRelated,
  requireUnique,
  rowOf,
  type StoredValues,
  writeWords,
} from './rows.ts';
import { listQuery, listSchema, outputSchema, type RecordShape } from './shape.ts';
import type { RecordTable } from './tables.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A declaration with what its operations share. */
interface Declared extends Required<RecordsOptions<z.ZodRawShape>['permissions']> {
  readonly shape: RecordShape;
  /** The fields, without any others. */
  readonly fields: z.ZodObject;
  readonly output: z.ZodType;
  /** The address of all of them, and of one. */
  readonly all: string;
  readonly one: string;
  /** The names of one and of several, for people. */
  readonly singular: string;
  readonly several: string;
}

export function recordOperations<F extends z.ZodRawShape>(
  shape: RecordShape,
  { fields, permissions }: RecordsOptions<F>,
): Readonly<Record<string, Operation>> {
  const all = `/api/${shape.plural}`;
  const declared: Declared = {
    list: permissions.read,
    ...permissions,
    shape,
    fields: fields.strict(),
    output: outputSchema(shape),
    all,
    one: `${all}/:${shape.parameter}`,
    singular: shape.type.replaceAll('-', ' '),
    several: shape.plural.replaceAll('-', ' '),
  };
  return {
    [`${shape.type}/list`]: listOf(declared),
    [`${shape.type}/get`]: getOf(declared),
    [`${shape.type}/create`]: createOf(declared),
    [`${shape.type}/update`]: updateOf(declared),
    [`${shape.type}/archive`]: archiveOf(declared),
    [`${shape.type}/unarchive`]: unarchiveOf(declared),
  };
}

function listOf({ shape, output, list, read, all, several }: Declared): Operation {
  const { table, filters } = shape;
  const isSearched = table.search.length > 0;
  const narrowing = filters.map((names) => names.join(' with ')).join(', or by ');
  return operation({
    summary: `List ${several}`,
    ...(filters.length > 0 && { description: `Can be narrowed by ${narrowing}.` }),
    input: listSchema(shape),
    output: z.object({
      items: z.array(output),
      nextCursor: z.string().nullable(),
      ...(isSearched && {
        cut: z
          .boolean()
          .describe('Whether the search has more hits than are looked at, so that some are missing'),
      }),
    }),
    permission: list,
    http: { method: 'GET', path: all },
    run: (ctx, input) => {
      const query = listQuery(ctx, shape, read, input as Fields);
      if (query === null) return { items: [], nextCursor: null, ...(isSearched && { cut: false }) };
      const { rows, cut } = listRows(ctx.sql, table, query);
      const { items, nextCursor } = cutPage(
        rows,
        query.limit,
        (row) => keyOf(query.sort, row),
        (row) => row,
      );
      return { items: presentRows(ctx, table, items), nextCursor, ...(isSearched && { cut }) };
    },
  });
}

function getOf(declared: Declared): Operation {
  const { shape, read, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Show one ${singular}`,
    permission: read,
    http: { method: 'GET', path: one },
    run: (ctx, input) => presentOne(ctx, shape, idOf(shape, input)),
  });
}

function createOf({ shape, fields, output, write, all, singular }: Declared): Operation {
  const { type, table, prefix } = shape;
  const columns = ['id', 'created_at', 'updated_at', ...table.fields.map(({ column }) => column)];
  const insert = `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  return operation({
    summary: `Add one ${singular}`,
    input: fields,
    output,
    permission: write,
    http: { method: 'POST', path: all },
    created: (made) => entityOf(shape, (made as { id: string }).id),
    run: (ctx, input) => {
      const id = ctx.newId(prefix);
      const values = storedValues(table, input as Fields);
      requireRelated(ctx, table, values);
      requireUnique(ctx.sql, shape, values, id);
      ctx.sql.run(insert, id, ctx.now, ctx.now, ...table.fields.map(({ column }) => values[column] ?? null));
      writeWords(ctx.sql, table, id, values, 0);
      const payload = shape.said(table.fields, values);
      ctx.emit({ type: `${type}.created`, entity: entityOf(shape, id), payload });
      return presentOne(ctx, shape, id);
    },
  });
}

function updateOf(declared: Declared): Operation {
  const { shape, fields, write, one, singular } = declared;
  const changes = shape.table.fields.map(({ name, schema }) => [name, changeOf(schema)]);
  return operation({
    ...aboutOne(declared),
    summary: `Change one ${singular}`,
    description: 'Fields that are left out stay as they are; null clears one that may be left out.',
    input: z.strictObject({ [shape.parameter]: shape.id, ...Object.fromEntries(changes) }),
    permission: write,
    http: { method: 'PATCH', path: one },
    run: (ctx, input) => {
      const id = idOf(shape, input);
      const before = rowOf(ctx.sql, shape, id);
      if (before.archived === 1)
        throw new PlatformError('invalid_transition', `This ${singular} is archived. Take it back first.`, {
          reason: 'archived',
        });
      // A rule can be about several fields, so that the record is judged as it would be.
      const whole = parseInput('The body', fields, changedFields(shape.table, before, input as Fields));
      change(ctx, shape, before, storedValues(shape.table, whole));
      return presentOne(ctx, shape, id);
    },
  });
}

function archiveOf(declared: Declared): Operation {
  const { shape, write, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Archive one ${singular}`,
    description: 'It is no longer in lists, and can be taken back.',
    permission: write,
    http: { method: 'POST', path: `${one}/archive` },
    run: (ctx, input) => setArchived(ctx, shape, idOf(shape, input), 1),
  });
}

function unarchiveOf(declared: Declared): Operation {
  const { shape, write, one, singular } = declared;
  return operation({
    ...aboutOne(declared),
    summary: `Take one ${singular} back out of the archive`,
    permission: write,
    http: { method: 'POST', path: `${one}/unarchive` },
    run: (ctx, input) => setArchived(ctx, shape, idOf(shape, input), 0),
  });
}

/** The members that each operation about one record has. */
function aboutOne({ shape, output }: Declared) {
  return {
    input: z.strictObject({ [shape.parameter]: shape.id }) as z.ZodType,
    output,
    entity: (input: unknown) => entityOf(shape, idOf(shape, input)),
  };
}

function entityOf({ type }: RecordShape, id: string): EntityRef {
  return { type, id };
}

function idOf({ parameter }: RecordShape, input: unknown): string {
  return (input as Record<string, string>)[parameter] as string;
}

/** A change of a field: what the field takes, or null where it may be left out. */
function changeOf(schema: z.ZodType): z.ZodType {
  const { inner, isOptional } = unwrap(schema);
  return isOptional ? inner.nullable().optional() : inner.optional();
}

/** The fields of a record with those that are sent in place of its own. A field without a value is left out. */
function changedFields({ fields }: RecordTable, before: StoredRow, sent: Fields): Fields {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = Object.hasOwn(sent, field.name) ? sent[field.name] : inputValue(field, before);
      return value === null && !field.takesNull ? [] : [[field.name, value]];
    }),
  );
}

/** Writes the fields that differ; does nothing where none does. */
function change(ctx: OperationContext, shape: RecordShape, before: StoredRow, values: StoredValues): void {
  const { type, table } = shape;
  const changed = table.fields.filter(({ column }) => values[column] !== before[column]);
  if (changed.length === 0) return;
  const { id } = before;
  const written = changed.map(({ column }) => values[column] ?? null);
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

function setArchived(ctx: OperationContext, shape: RecordShape, id: string, archived: 0 | 1) {
  const { type, table } = shape;
  const row = rowOf(ctx.sql, shape, id);
  if (row.archived !== archived) {
    if (archived === 0) requireUnique(ctx.sql, shape, row, id);
    ctx.sql.run(
      `UPDATE ${table.name} SET archived = ?, archived_at = ?, updated_at = ? WHERE id = ?`,
      archived,
      archived === 1 ? ctx.now : null,
      ctx.now,
      id,
    );
    writeWords(ctx.sql, table, id, row, archived);
    ctx.emit({ type: `${type}.${archived === 1 ? 'archived' : 'unarchived'}`, entity: entityOf(shape, id) });
  }
  return presentOne(ctx, shape, id);
}

/** Returns the values of a checked input, by column. */
function storedValues({ fields }: RecordTable, input: Fields): StoredValues {
  return Object.fromEntries(
    fields.map(({ name, column, isBoolean }) => {
      const value = input[name] ?? null;
      return [column, (isBoolean && value !== null ? Number(value) : value) as SqlValue];
    }),
  );
}
