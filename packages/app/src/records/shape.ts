/** The tables, indexes and schemas that follow from a declaration of records, before any row is there. */
import { idSchema, type JsonValue, PlatformError, pageQuery, timestamp } from '@freehold/contracts';
import type { OperationContext } from '@freehold/kernel';
import type { SqlValue } from '@freehold/store';
import { z } from 'zod';
import { camelCase, type Field, fieldOf, inputValue, snakeCase, unwrap } from './fields.ts';
import type { ListQuery } from './list.ts';
import { isImportShown } from './partitions.ts';
import type { RecordsOptions } from './records.ts';
import type { StoredValues } from './rows.ts';
import { type Index, indexName, isSearched, type RecordTable } from './tables.ts';

const BY_CREATION = 'createdAt';

export interface RecordShape {
  readonly type: string;
  readonly plural: string;
  /** The declared names for people. */
  readonly names: RecordsOptions<z.ZodRawShape>['names'];
  /** The name of an id in addresses and inputs: `workOrder` for the type `work-order`. */
  readonly parameter: string;
  readonly prefix: string;
  readonly id: z.ZodString;
  readonly table: RecordTable;
  readonly byName: ReadonlyMap<string, Field>;
  /** The name of the field that stands for a record. */
  readonly title: string;
  /** Combinations of names. */
  readonly filters: readonly (readonly string[])[];
  readonly sorts: readonly string[];
  readonly unique: readonly (readonly Field[])[];
  readonly personal: readonly Field[];
  /** Returns what an event says of some fields: the values, but of those about a person only that they changed. */
  readonly said: (fields: readonly Field[], values: StoredValues) => Record<string, JsonValue>;
}

/** @throws TypeError that names what cannot be as it is declared. */
export function shapeOf<F extends z.ZodRawShape>(type: string, options: RecordsOptions<F>): RecordShape {
  const fail = (message: string): never => {
    throw new TypeError(`records('${type}'): ${message}`);
  };
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(type)) fail('a type is lower case, with hyphens between words');
  const plural = options.plural ?? `${type}s`;
  const prefix = options.prefix ?? type.replaceAll('-', '').slice(0, 3);
  if (!/^[a-z][a-z0-9]{1,15}$/.test(prefix)) fail('a prefix has 2 to 16 lower-case letters and digits');
  const sealed = new Set<string>(options.sealed);
  const fields = Object.entries(options.fields.shape).map(([name, schema]) =>
    fieldOf(type, name, schema as unknown as z.ZodType, sealed.has(name)),
  );
  if (fields.length === 0) fail('it has no field');
  const byName = new Map(fields.map((field) => [field.name, field]));
  const twin = fields.find(({ column }, at) => fields.findIndex((each) => each.column === column) !== at);
  if (twin) fail(`two fields have the column ${twin.column}`);
  const named = (name: string, list: string): Field => {
    const field = byName.get(name) ?? fail(`${list} names a field that it does not have: ${name}`);
    // No index may hold what an erasure is to take away.
    if (field.isSealed && list !== 'sealed') fail(`${list} names ${name}, which is sealed`);
    return field;
  };
  for (const name of sealed)
    if (named(name, 'sealed').target) fail(`sealed names ${name}, which is a relation`);
  const textOf = (name: string, list: string): Field => {
    const field = named(name, list);
    if (field.type !== 'TEXT' || field.target) fail(`${list} names ${name}, which is no text`);
    return field;
  };
  const sortable = (name: string): Field => {
    const field = named(name, 'sort');
    // The place of a page is after a value: there is none after null.
    if (field.isOptional) fail(`sort names ${name}, which may be left out`);
    if (field.target) fail(`sort names ${name}, which is a relation`);
    return field;
  };
  const combined = (each: string | readonly string[]): string[] =>
    typeof each === 'string' ? [each] : [...each];
  const sorts: readonly string[] = options.sort?.length ? options.sort : [BY_CREATION];
  const filters = (options.filter ?? []).map(combined);
  const unique = (options.unique ?? []).map((each) => combined(each).map((name) => named(name, 'unique')));
  const table = snakeCase(plural);
  const indexes = new Map<string, Index>();
  const addIndex = (columns: readonly string[], isUnique: boolean): void => {
    const name = isUnique ? `${table}_one_${columns.join('_')}` : indexName(table, columns);
    indexes.set(name, { name, columns, isUnique });
  };
  for (const names of [[], ...filters])
    for (const sort of sorts) {
      const narrowing = names.map((name) => named(name, 'filter').column);
      addIndex(['archived', ...narrowing, sort === BY_CREATION ? 'id' : sortable(sort).column], false);
    }
  for (const columns of unique)
    addIndex(
      columns.map(({ column }) => column),
      true,
    );
  const search = (options.search ?? []).map((name) => {
    const field = named(name, 'search');
    const { target } = field;
    if (!target) return textOf(name, 'search');
    if (!target.table.search.some(({ column }) => column === target.table.title))
      fail(
        `search names ${name}, and '${target.type}' does not search its ${target.shape.title}: name it there too`,
      );
    return field;
  });
  const searchRelations = search.filter(({ target }) => target !== undefined);
  for (const { column } of searchRelations)
    if (
      ![...indexes.values()].some(({ columns: [first, second] }) => first === 'archived' && second === column)
    )
      addIndex(['archived', column], false);
  if (options.permissions.import !== undefined)
    for (const { name, target } of fields)
      if (target && !isFoundByTitle(target.table))
        fail(
          `its import finds ${name} by name, and no index has the names: let '${target.type}' be sorted by them`,
        );
  for (const { name, isSealed, isOptional } of fields)
    if (isSealed && !isOptional)
      fail(`sealed names ${name}, which is required: let it be left out, since an erasure leaves none`);
  const title =
    options.title === undefined ? named((fields[0] as Field).name, 'title') : textOf(options.title, 'title');
  const personal = (options.personal ?? []).map((name) => named(name, 'personal'));
  return {
    type,
    plural,
    names: options.names,
    parameter: camelCase(type),
    prefix,
    id: idSchema(prefix) as unknown as z.ZodString,
    table: {
      name: table,
      fields,
      title: title.column,
      indexes: [...indexes.values()],
      hasImports: options.permissions.import !== undefined,
      search: search.filter(({ target }) => target === undefined),
      searchRelations,
    },
    byName,
    title: title.name,
    filters,
    sorts,
    unique,
    personal,
    said: (changed, values) => {
      const said: Record<string, JsonValue> = {};
      const hidden: string[] = [];
      for (const field of changed)
        if (field.isSealed || personal.includes(field)) hidden.push(field.name);
        else said[field.name] = inputValue(field, values);
      return hidden.length === 0 ? said : { ...said, personal: hidden };
    },
  };
}

function isFoundByTitle({ indexes, title }: RecordTable): boolean {
  return indexes.some(({ columns: [first, second] }) => first === 'archived' && second === title);
}

/** The schema of a record as its readers see it: `Item` for the type `item`. */
export function outputSchema({ type, id, table }: RecordShape): z.ZodType {
  const related = z.object({ id: z.string().nullable(), name: z.string().nullable() });
  const fields = table.fields.map(({ name, schema, isOptional, target }) => {
    const shown = target ? related : unwrap(schema).inner;
    return [name, isOptional ? shown.nullable() : shown];
  });
  return z
    .object({
      id,
      ...Object.fromEntries(fields),
      createdAt: timestamp,
      updatedAt: timestamp,
      archivedAt: timestamp.nullable().describe('Null while it is not archived'),
    })
    .meta({ id: camelCase(`-${type}`) });
}

/** The input of a list: a page, an order, and what it can be narrowed by. */
export function listSchema({ table, filters, sorts, byName }: RecordShape): z.ZodObject {
  const orders = sorts.flatMap((name) => [name, `-${name}`]);
  const narrowing = [...new Set(filters.flat())].map((name) => {
    const { schema } = byName.get(name) as Field;
    return [name, unwrap(schema).inner.optional()];
  });
  return z.strictObject({
    ...pageQuery,
    archived: z.boolean().default(false).describe('True lists what is archived, and nothing else'),
    sort: z
      .enum(orders)
      .default(orders[0] as string)
      .describe('A name after a minus: from the last to the first'),
    ...(isSearched(table) && {
      q: z.string().min(1).max(100).optional().describe('Words, or their beginnings, that all must be there'),
    }),
    ...Object.fromEntries(narrowing),
  });
}

/**
 * Returns the query of a list; null where nothing can be on it: a caller learns nothing about a record that they may not
 * read by asking what names it.
 * @throws PlatformError `validation_failed` for a combination of filters that is not declared.
 */
export function listQuery(
  ctx: Pick<OperationContext, 'reach' | 'markedWork'>,
  shape: RecordShape,
  read: string,
  input: Readonly<Record<string, unknown>>,
): ListQuery | null {
  const { type, byName, filters, table } = shape;
  const asked = [...new Set(filters.flat())].filter((name) => input[name] !== undefined);
  const isDeclared = filters.some(
    (names) => names.length === asked.length && names.every((name) => asked.includes(name)),
  );
  if (asked.length > 0 && !isDeclared) {
    const message = `cannot be narrowed by ${asked.join(' with ')}: by ${filters.map((names) => names.join(' with ')).join(', or by ')}`;
    throw new PlatformError('validation_failed', `The query is not valid. The list ${message}.`, {
      errors: asked.map((path) => ({ path, message })),
    });
  }
  const narrowing = asked.map((name): [Field, SqlValue] => {
    const field = byName.get(name) as Field;
    const value = input[name] as SqlValue | boolean;
    return [field, typeof value === 'boolean' ? Number(value) : value];
  });
  for (const [{ target }, id] of narrowing) {
    const reach = target ? ctx.reach(target.entity.read, target.type) : 'all';
    if (reach !== 'all' && !reach.includes(id as string)) return null;
  }
  const sort = input.sort as string;
  const isDescending = sort.startsWith('-');
  return {
    archived: input.archived as boolean,
    isImportShown: isImportShown(ctx, shape),
    filters: new Map(narrowing),
    reach: ctx.reach(read, type),
    q: isSearched(table) ? (input.q as string | undefined) : undefined,
    related: new Map(
      table.searchRelations.flatMap((field) => {
        const { target } = field;
        if (!target || input.q === undefined) return [];
        const reach = ctx.reach(target.entity.read, target.type);
        return [[field, { reach, isImportShown: isImportShown(ctx, target) }] as const];
      }),
    ),
    sort: { name: sort, isDescending, field: byName.get(isDescending ? sort.slice(1) : sort) ?? null },
    limit: input.limit as number,
    cursor: input.cursor as string | undefined,
  };
}
