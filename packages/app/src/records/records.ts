/**
 * A type of records, declared: from its fields follow the ordinary operations that list, show, make, change and put them
 * away, each with its route, permission, events, version, tool and client method (design: application, "Records").
 */
import { cutPage, type Page, PlatformError, parseInput } from '@freehold/contracts';
import { type Operation, type OperationContext, operation } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import { z } from 'zod';
import { type RelatedId, type RelatedRecord, unwrap } from './fields.ts';
import { keyOf, listRows, type StoredRow } from './list.ts';
import {
  inputValue,
  presentRows,
  requireRelated,
  requireUnique,
  rowOf,
  type StoredValues,
  writeWords,
} from './rows.ts';
import { listQuery, listSchema, outputSchema, shapeOf } from './shape.ts';
import type { RecordTable } from './tables.ts';

/** A type of records, whatever its fields. */
export interface AnyRecords {
  readonly type: string;
  /** The schema of an id of these records. */
  readonly id: z.ZodString;
  /** The table, for a migration. */
  readonly table: RecordTable;
  /** The entry of `entities` in the manifest. Programs read the records as resources, named by their title. */
  readonly entity: { readonly read: string; readonly resource: { readonly titleField: string } };
  /** For `erasure.personal`: the columns of the fields about a person, by table. */
  readonly personal: Readonly<Record<string, readonly string[]>>;
}

export interface RecordsOptions<F extends z.ZodRawShape> {
  /** The fields: texts, numbers, booleans, one of a list, days and times, `money`, relations. Rules between them by `refine`. */
  readonly fields: z.ZodObject<F>;
  /** The field that stands for a record where another one names it. Default: the first field. */
  readonly title?: keyof F & string;
  /** Several of them: the name of the table and the address. Default: the type with an s. */
  readonly plural?: string;
  /** The prefix of ids, 2 to 16 lower-case letters and digits. Default: the first three letters of the type. */
  readonly prefix?: string;
  /** The text fields whose words are searched. Default: none, and the list takes no `q`. */
  readonly search?: readonly (keyof F & string)[];
  /** The fields, or combinations of fields, that a list can be narrowed by. Default: none. */
  readonly filter?: readonly ((keyof F & string) | readonly (keyof F & string)[])[];
  /** The orders of a list, the first being the usual one; `-name` is the reverse of `name`. Default: `createdAt`. */
  readonly sort?: readonly ((keyof F & string) | 'createdAt')[];
  /** Fields, or combinations, that no two records have in common; archived records do not count. */
  readonly unique?: readonly ((keyof F & string) | readonly (keyof F & string)[])[];
  /** Fields about a person: no event holds their values. For `erasure.personal` there is {@link Records.personal}. */
  readonly personal?: readonly (keyof F & string)[];
  readonly permissions: {
    /** To see a record, for the whole scope or for single records. A list shows those that its caller may see. */
    readonly read: string;
    /** To make, change and archive. */
    readonly write: string;
    /** To open the list, for roles that see single records alone. Default: `read`, for the whole scope. */
    readonly list?: string;
  };
}

type Output<V> = V extends RelatedId ? RelatedRecord : undefined extends V ? Exclude<V, undefined> | null : V;
type Fields<F extends z.ZodRawShape> = z.output<z.ZodObject<F>>;
/** A record as its readers see it. A field that was left out is null. */
export type RecordOf<F extends z.ZodRawShape> = {
  readonly id: string;
} & { readonly [P in keyof Fields<F>]-?: Output<Fields<F>[P]> } & {
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly archivedAt: string | null;
};

type Sent<F extends z.ZodRawShape> = z.input<z.ZodObject<F>>;
type ListInput = {
  readonly limit?: number;
  readonly cursor?: string;
  readonly archived?: boolean;
  readonly [name: string]: string | number | boolean | undefined;
};
type Of<T extends string> = { readonly [P in T]: string };
type Op<I, O> = Operation<z.ZodType<I, I>, z.ZodType<O, O>>;

/** The operations of a type of records, by name. Any of them can be replaced by one's own under the same name. */
export type RecordOperations<T extends string, F extends z.ZodRawShape> = {
  readonly [P in `${T}/list`]: Op<ListInput, Page<RecordOf<F>> & { readonly cut?: boolean }>;
} & { readonly [P in `${T}/${'get' | 'archive' | 'unarchive'}`]: Op<Of<T>, RecordOf<F>> } & {
  readonly [P in `${T}/create`]: Op<Sent<F>, RecordOf<F>>;
} & {
  readonly [P in `${T}/update`]: Op<
    Of<T> & { readonly [Q in keyof Sent<F>]?: Sent<F>[Q] | null },
    RecordOf<F>
  >;
};

export interface Records<T extends string, F extends z.ZodRawShape> extends AnyRecords {
  readonly type: T;
  readonly operations: RecordOperations<T, F>;
  /** Returns a record for an operation of one's own. @throws PlatformError `not_found` */
  load(ctx: Pick<OperationContext, 'sql' | 'reach'>, id: string): RecordOf<F>;
}

/** The records of an operation that {@link records} made. */
const madeBy = new WeakMap<object, AnyRecords>();

/** Returns the types of records whose operations an application uses, in the order of their declaration. */
export function recordTypesOf(operations: Readonly<Record<string, object>>): readonly AnyRecords[] {
  return [...new Set(Object.values(operations).flatMap((each) => madeBy.get(each) ?? []))];
}

/**
 * Declares a type of records.
 * @throws TypeError that names the field which cannot be stored, searched, sorted or filtered.
 */
export function records<const T extends string, F extends z.ZodRawShape>(
  type: T,
  options: RecordsOptions<F>,
): Records<T, F> {
  const shape = shapeOf(type, options);
  const { table } = shape;
  const schema = outputSchema(type, shape);
  const checked = options.fields.strict();
  const { read, write, list = read } = options.permissions;
  const address = `/api/${shape.plural}`;
  const one = `${address}/:${type}`;
  const words = type.replaceAll('-', ' ');
  const many = shape.plural.replaceAll('-', ' ');
  const ofOne = z.strictObject({ [type]: shape.id });
  const idOf = (input: object): string => (input as Record<string, string>)[type] as string;
  const entity = (id: string) => ({ type, id });
  const narrowed = (input: object) => entity(idOf(input));
  const present = (ctx: Pick<OperationContext, 'sql' | 'reach'>, rows: readonly StoredRow[]) =>
    presentRows(ctx, table, rows) as RecordOf<F>[];
  const presentOne = (ctx: Pick<OperationContext, 'sql' | 'reach'>, id: string): RecordOf<F> =>
    present(ctx, [rowOf(ctx.sql, shape, id)])[0] as RecordOf<F>;

  const operations = {
    [`${type}/list`]: operation({
      summary: `List ${many}`,
      ...(shape.filters.length > 0 && {
        description: `Can be narrowed by ${shape.filters.map((names) => names.join(' with ')).join(', or by ')}.`,
      }),
      input: listSchema(shape),
      output: z.object({
        items: z.array(schema),
        nextCursor: z.string().nullable(),
        ...(table.search.length > 0 && {
          cut: z
            .boolean()
            .describe('Whether the search has more hits than are looked at, so that some are missing'),
        }),
      }),
      permission: list,
      http: { method: 'GET', path: address },
      run: (ctx, input) => {
        const query = listQuery(ctx, shape, read, input as Record<string, unknown>);
        if (query === null)
          return { items: [], nextCursor: null, ...(table.search.length > 0 && { cut: false }) };
        const { rows, cut } = listRows(ctx.sql, table, query);
        const page = cutPage(
          rows,
          query.limit,
          (row) => keyOf(query.sort, row),
          (row) => row,
        );
        return {
          items: present(ctx, page.items),
          nextCursor: page.nextCursor,
          ...(table.search.length > 0 && { cut }),
        };
      },
    }),

    [`${type}/get`]: operation({
      summary: `Show one ${words}`,
      input: ofOne,
      output: schema,
      permission: read,
      entity: narrowed,
      http: { method: 'GET', path: one },
      run: (ctx, input) => presentOne(ctx, idOf(input)),
    }),

    [`${type}/create`]: operation({
      summary: `Add one ${words}`,
      input: checked,
      output: schema,
      permission: write,
      http: { method: 'POST', path: address },
      created: (output) => entity((output as { id: string }).id),
      run: (ctx, input) => {
        const id = ctx.newId(shape.prefix);
        const values = storedValues(table, input as Record<string, unknown>);
        requireRelated(ctx, table, values);
        requireUnique(ctx.sql, shape, values, id);
        const names = ['id', 'created_at', 'updated_at', ...table.fields.map(({ column }) => column)];
        ctx.sql.run(
          `INSERT INTO ${table.name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
          id,
          ctx.now,
          ctx.now,
          ...table.fields.map(({ column }) => values[column] ?? null),
        );
        writeWords(ctx.sql, table, id, values, 0);
        ctx.emit({ type: `${type}.created`, entity: entity(id), payload: shape.said(table.fields, values) });
        return presentOne(ctx, id);
      },
    }),

    [`${type}/update`]: operation({
      summary: `Change one ${words}`,
      description: 'Fields that are left out stay as they are; null clears one that may be left out.',
      input: z.strictObject({
        [type]: shape.id,
        ...Object.fromEntries(table.fields.map(({ name, schema: each }) => [name, changeOf(each)])),
      }),
      output: schema,
      permission: write,
      entity: narrowed,
      http: { method: 'PATCH', path: one },
      run: (ctx, input) => {
        const id = idOf(input);
        const before = rowOf(ctx.sql, shape, id);
        if (before.archived === 1)
          throw new PlatformError('invalid_transition', `This ${words} is archived. Take it back first.`, {
            reason: 'archived',
          });
        const sent = input as Record<string, unknown>;
        const present = Object.fromEntries(
          table.fields.flatMap((field) => {
            const value = Object.hasOwn(sent, field.name) ? sent[field.name] : inputValue(field, before);
            return value === null || value === undefined ? [] : [[field.name, value]];
          }),
        );
        const values = storedValues(
          table,
          parseInput('The body', checked, present) as Record<string, unknown>,
        );
        const changed = table.fields.filter(({ column }) => values[column] !== before[column]);
        if (changed.length > 0) {
          requireRelated(
            ctx,
            table,
            Object.fromEntries(changed.map(({ column }) => [column, values[column] ?? null])),
          );
          requireUnique(ctx.sql, shape, values, id);
          ctx.sql.run(
            `UPDATE ${table.name} SET ${changed.map(({ column }) => `${column} = ?`).join(', ')}, updated_at = ? WHERE id = ?`,
            ...changed.map(({ column }) => values[column] ?? null),
            ctx.now,
            id,
          );
          if (changed.some((field) => table.search.includes(field)))
            writeWords(ctx.sql, table, id, values, 0);
          ctx.emit({ type: `${type}.updated`, entity: entity(id), payload: shape.said(changed, values) });
        }
        return presentOne(ctx, id);
      },
    }),

    [`${type}/archive`]: operation({
      summary: `Archive one ${words}`,
      description: 'It is no longer in lists, and can be taken back.',
      input: ofOne,
      output: schema,
      permission: write,
      entity: narrowed,
      http: { method: 'POST', path: `${one}/archive` },
      run: (ctx, input) => setArchived(ctx, idOf(input), true),
    }),

    [`${type}/unarchive`]: operation({
      summary: `Take one ${words} back out of the archive`,
      input: ofOne,
      output: schema,
      permission: write,
      entity: narrowed,
      http: { method: 'POST', path: `${one}/unarchive` },
      run: (ctx, input) => setArchived(ctx, idOf(input), false),
    }),
  };

  function setArchived(ctx: OperationContext, id: string, archived: boolean): RecordOf<F> {
    const row = rowOf(ctx.sql, shape, id);
    const flag = archived ? 1 : 0;
    if (row.archived !== flag) {
      if (!archived) requireUnique(ctx.sql, shape, row, id);
      ctx.sql.run(
        `UPDATE ${table.name} SET archived = ?, archived_at = ?, updated_at = ? WHERE id = ?`,
        flag,
        archived ? ctx.now : null,
        ctx.now,
        id,
      );
      writeWords(ctx.sql, table, id, row, flag);
      ctx.emit({ type: `${type}.${archived ? 'archived' : 'unarchived'}`, entity: entity(id) });
    }
    return presentOne(ctx, id);
  }

  const made: Records<T, F> = {
    type,
    id: shape.id,
    operations: operations as never,
    table,
    entity: { read, resource: { titleField: shape.title } },
    personal: shape.personal.length === 0 ? {} : { [table.name]: shape.personal.map(({ column }) => column) },
    load: presentOne,
  };
  for (const each of Object.values(operations)) madeBy.set(each, made);
  return made;
}

/** A change of a field: what the field takes, or null where it may be left out. */
function changeOf(schema: z.ZodType): z.ZodType {
  const { inner, isOptional } = unwrap(schema);
  return isOptional ? inner.nullable().optional() : inner.optional();
}

/** Returns the values of a checked input, by column. */
function storedValues({ fields }: RecordTable, input: Record<string, unknown>): StoredValues {
  return Object.fromEntries(
    fields.map(({ name, column, isBoolean }) => {
      const value = input[name] ?? null;
      return [column, (isBoolean && value !== null ? Number(value) : value) as SqlValue];
    }),
  );
}
