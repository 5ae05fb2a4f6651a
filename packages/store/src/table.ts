/**
 * A table whose columns are declared once. The row types, the statements by key, the column list of a hand-written
 * SELECT and the record that callers see follow from the declaration; other SQL is written by hand. Each statement is
 * one constant text, so that the engine prepares it once. Migrations keep their own text, because it is hashed.
 */
import { toTimestamp } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from './sql-database.ts';

/**
 * `stored`: written, read, and in the record. `hidden`: not in the record. `unread`: written alone. `computed`: an
 * expression that is read alone.
 */
type Use = 'stored' | 'hidden' | 'unread' | 'computed';
/** The form of a value in a column and in the record: as it is, JSON text, 0 or 1, milliseconds, a revision. */
type Form = 'plain' | 'json' | 'boolean' | 'time' | 'revision';

/** One column; `T` is its type in a row. */
export interface Column<T, U extends Use = 'stored', F extends Form = 'plain'> {
  readonly use: U;
  readonly form: F;
  /** The name of the column, or the expression of a computed one. */
  readonly sql: string | undefined;
  readonly isNullable?: boolean;
  /** Exists for the compiler alone. */
  readonly type?: () => T;
}

export type Columns = Readonly<Record<string, Column<unknown, Use, Form>>>;
type TypeOf<C> = C extends { readonly type?: () => infer T } ? T : never;
type Without<C extends Columns, U extends Use> = {
  [P in keyof C & string as C[P]['use'] extends U ? never : P]: C[P];
};
type Flat<T> = { readonly [P in keyof T]: T[P] };

/** The values that an INSERT takes. */
export type NewRow<C extends Columns> = Flat<{ [P in keyof Without<C, 'computed'>]: TypeOf<C[P]> }>;
/** A row as it is read. */
export type RowOf<T> = T extends Table<infer C, infer _> ? ReadRow<C> : never;
type ReadRow<C extends Columns> = Flat<{ [P in keyof Without<C, 'unread'>]: TypeOf<C[P]> }>;

type RecordName<P extends string, F extends Form> = F extends 'time'
  ? P extends `${infer Name}Ms`
    ? Name
    : P
  : F extends 'revision'
    ? 'etag'
    : P;
/** A row as callers see it: a time as a timestamp under its name without `Ms`, the revision as an entity tag. */
type RecordOf<C extends Columns> = Flat<{
  [P in keyof Without<C, 'unread' | 'hidden'> & string as RecordName<
    P,
    C[P]['form']
  >]: C[P]['form'] extends 'time'
    ? string | Extract<TypeOf<C[P]>, null>
    : C[P]['form'] extends 'revision'
      ? string
      : TypeOf<C[P]>;
}>;
/** No argument when the record of a table is exactly `R`; the properties that do not fit otherwise. */
type Fits<Found, R> = [Found] extends [R]
  ? [Exclude<keyof Found, keyof R>] extends [never]
    ? []
    : [surplus: Exclude<keyof Found, keyof R>]
  : [
      unlike: {
        [P in keyof R]: P extends keyof Found ? ([Found[P]] extends [R[P]] ? never : P) : P;
      }[keyof R],
    ];

/** The value of one column, or an object of several. */
type Key<C extends Columns, P extends readonly (keyof C)[]> = P extends readonly [infer One extends keyof C]
  ? TypeOf<C[One]>
  : { readonly [Q in P[number]]: TypeOf<C[Q]> };
/** As callers have it: an id may come as the plain text that it is. */
type Loose<T> = T extends string ? string : T extends object ? { readonly [P in keyof T]: Loose<T[P]> } : T;

export interface Table<C extends Columns, K extends readonly (keyof C & string)[]> {
  readonly name: string;
  /**
   * Returns the columns of a SELECT from an alias of the table, as in a join: `t.id, t.created_at AS "createdAtMs"`.
   * The expressions of computed columns stay as they are written: they do not get the alias.
   */
  columnsOf(alias: string): string;
  /** `SELECT … FROM …`, without a WHERE. */
  readonly select: string;
  insert(db: SqlDatabase, row: NewRow<C>): void;
  /** The row with this key, or undefined. */
  get(db: SqlDatabase, key: Loose<Key<C, K>>): ReadRow<C> | undefined;
  /** Deletes the row with this key, if there is one. */
  delete(db: SqlDatabase, key: Loose<Key<C, K>>): void;
  /** The first row of a hand-written statement that begins with {@link Table.select}, or selects the same. */
  first(db: SqlDatabase, sql: string, ...params: readonly SqlValue[]): ReadRow<C> | undefined;
  /** Every row of such a statement. */
  all(db: SqlDatabase, sql: string, ...params: readonly SqlValue[]): ReadRow<C>[];

  // Each of these builds its statement once and returns the function that runs it: call them where a module is loaded.

  /** Returns an INSERT that ends with a clause, such as `ON CONFLICT (a, b) DO NOTHING`. */
  inserting(clause: string): (db: SqlDatabase, row: NewRow<C>) => void;
  /** Returns an INSERT that sets these columns when the key exists already; without any it changes nothing then. */
  saving(...properties: readonly (keyof NewRow<C>)[]): (db: SqlDatabase, row: NewRow<C>) => void;
  /** Returns an UPDATE of these columns of the row with the key. */
  updating<P extends keyof NewRow<C>>(
    ...properties: readonly P[]
  ): (db: SqlDatabase, row: Pick<NewRow<C>, P | Extract<K[number], keyof NewRow<C>>>) => void;
  /** Returns a SELECT of the first row in which these columns have these values; null matches nothing. */
  finding<const P extends readonly (keyof C & string)[]>(
    ...properties: P
  ): (db: SqlDatabase, values: Loose<Key<C, P>>) => ReadRow<C> | undefined;
  /** Returns a DELETE of all rows in which these columns have these values; null matches nothing. */
  deleting<const P extends readonly (keyof C & string)[]>(
    ...properties: P
  ): (db: SqlDatabase, values: Loose<Key<C, P>>) => void;
  /**
   * Returns the function from a row to its record `R`. The compiler asks for an argument where a column is missing or
   * is not in `R`: a new column must not reach callers unnoticed.
   */
  recording<R>(...fits: Fits<RecordOf<C>, R>): (row: ReadRow<C>) => R;
}

// `NoInfer`: the type comes from the call alone, and not from the place that the column stands in.

/** Text; an id, a union of words. The column's name is the property in snake case unless it is given; so for all. */
export const text = <T extends string = string>(sql?: string): Column<NoInfer<T>> => column('plain', sql);
/** A whole number that is safe. */
export const integer = <T extends number = number>(sql?: string): Column<NoInfer<T>> => column('plain', sql);
export const real = (sql?: string): Column<number> => column('plain', sql);
export const blob = (sql?: string): Column<Uint8Array> => column('plain', sql);
/** INTEGER, 0 or 1. */
export const boolean = (sql?: string): Column<boolean, 'stored', 'boolean'> => column('boolean', sql);
/** A value as JSON text. Null is stored as NULL where the column is {@link nullable}, else as the text `null`. */
export const json = <T>(sql?: string): Column<T, 'stored', 'json'> => column('json', sql);
/** INTEGER, in milliseconds since the epoch. The property ends with `Ms`, which the column and the record leave out. */
export const time = (sql?: string): Column<number, 'stored', 'time'> => column('time', sql);
/** INTEGER, a record's revision; the record has it as the text `etag`. */
export const revision = (sql?: string): Column<number, 'stored', 'revision'> => column('revision', sql);

/** The same column with NULL as null. */
export function nullable<T, U extends Use, F extends Form>(of: Column<T, U, F>): Column<T | null, U, F> {
  return { ...of, isNullable: true };
}

/** A column that the record leaves out. */
export function hidden<T, F extends Form>(of: Column<T, 'stored', F>): Column<T, 'hidden', F> {
  return { ...of, use: 'hidden' };
}

/** A column that is written and never read, such as a search key or a secret's hash. */
export function unread<T, F extends Form>(of: Column<T, 'stored', F>): Column<T, 'unread', F> {
  return { ...of, use: 'unread' };
}

/** An expression that is read in the place of a column; `of` is its type. */
export function computed<T, F extends Form>(sql: string, of: Column<T, Use, F>): Column<T, 'computed', F> {
  return { ...of, use: 'computed', sql };
}

function column<T, F extends Form>(form: F, sql: string | undefined): Column<T, 'stored', F> {
  return { use: 'stored', form, sql };
}

type Values = Readonly<Record<string, unknown>>;
type Convert = (value: never) => unknown;

const TO_SQL: { readonly [F in Form]?: Convert } = {
  json: (value: unknown) => JSON.stringify(value),
  // Any other value stays as it is, so that the engine refuses undefined as it does in other columns.
  boolean: (value: unknown) => (typeof value === 'boolean' ? Number(value) : value),
};
const TO_ROW: { readonly [F in Form]?: Convert } = {
  json: (value: string) => JSON.parse(value),
  boolean: (value: number) => value === 1,
};
const TO_RECORD: { readonly [F in Form]?: Convert } = { time: toTimestamp, revision: String };

/**
 * Declares a table.
 * @param key the columns of its primary key.
 * @param declared property → column, in the order of the record.
 */
export function defineTable<C extends Columns, const K extends readonly (keyof C & string)[]>(
  name: string,
  key: K,
  declared: C,
): Table<C, K> {
  const { named, matching, stored, columns } = namesOf(declared);
  const select = `SELECT ${columns('')} FROM ${name}`;
  const decode = decoder(declared);

  const inserting = (clause: string) => {
    const places = stored.map(() => '?').join(', ');
    const sql = `INSERT INTO ${name} (${stored.map(named).join(', ')}) VALUES (${places}) ${clause}`;
    const bind = bindAll(stored, declared);
    return (db: SqlDatabase, row: unknown): void => db.run(sql, ...bind(row as Values));
  };
  const finding = (...properties: readonly string[]) => {
    const sql = `${select}${matching(properties)}`;
    // The look-up of most calls: one value, and a row that needs no conversion.
    if (!decode && properties.length === 1 && !isConverted(properties, declared))
      return (db: SqlDatabase, value: unknown): unknown => db.get(sql, value as SqlValue);
    const bind = bindKey(properties, declared);
    return (db: SqlDatabase, values: unknown): unknown => {
      const row = db.get<Values>(sql, ...bind(values));
      return row && decode ? decode(row) : row;
    };
  };
  const deleting = (...properties: readonly string[]) => {
    const sql = `DELETE FROM ${name}${matching(properties)}`;
    const bind = bindKey(properties, declared);
    return (db: SqlDatabase, values: unknown): void => db.run(sql, ...bind(values));
  };

  const table = {
    name,
    columnsOf: (alias: string) => columns(`${alias}.`),
    select,
    insert: inserting(''),
    get: finding(...key),
    delete: deleting(...key),
    first: (db: SqlDatabase, sql: string, ...params: readonly SqlValue[]) => {
      const row = db.get<Values>(sql, ...params);
      return row && decode ? decode(row) : row;
    },
    all: (db: SqlDatabase, sql: string, ...params: readonly SqlValue[]) => {
      const rows = db.all<Values>(sql, ...params);
      if (decode) for (const row of rows) decode(row);
      return rows;
    },
    inserting,
    saving: (...properties: readonly string[]) => {
      const sets = properties.map((property) => `${named(property)} = excluded.${named(property)}`);
      const change = sets.length === 0 ? 'NOTHING' : `UPDATE SET ${sets.join(', ')}`;
      return inserting(`ON CONFLICT (${key.map(named).join(', ')}) DO ${change}`);
    },
    updating: (...properties: readonly string[]) => {
      const sets = properties.map((property) => `${named(property)} = ?`);
      const sql = `UPDATE ${name} SET ${sets.join(', ')}${matching(key)}`;
      const bind = bindAll([...properties, ...key], declared);
      return (db: SqlDatabase, row: unknown): void => db.run(sql, ...bind(row as Values));
    },
    finding,
    deleting,
    recording: () => recorder(declared),
  };
  return table as unknown as Table<C, K>;
}

function namesOf(declared: Columns) {
  const all = Object.entries(declared).map(([property, of]) => ({
    ...{ property, use: of.use, sql: sqlOf(property, of) },
  }));
  const sqlByProperty = new Map(all.map(({ property, sql }) => [property, sql]));
  const named = (property: string): string => sqlByProperty.get(property) as string;
  return {
    named,
    /** The WHERE that compares these columns. */
    matching: (properties: readonly string[]): string =>
      ` WHERE ${properties.map((property) => `${named(property)} = ?`).join(' AND ')}`,
    /** The properties that an INSERT takes. */
    stored: all.filter(({ use }) => use !== 'computed').map(({ property }) => property),
    /** The columns of a SELECT, each behind `alias`. */
    columns: (alias: string): string =>
      all
        .filter(({ use }) => use !== 'unread')
        .map(({ property, use, sql }) => {
          const value = use === 'computed' ? sql : alias + sql;
          return sql === property ? value : `${value} AS "${property}"`;
        })
        .join(', '),
  };
}

/** The name of a property's column, or the expression of a computed one. */
function sqlOf(property: string, { form, sql }: Columns[string]): string {
  if (sql !== undefined) return sql;
  const name = form === 'time' ? property.replace(/Ms$/, '') : property;
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the function from an object to the values of these properties, as they are bound. */
function bindAll(properties: readonly string[], columns: Columns): (row: Values) => SqlValue[] {
  const converts = isConverted(properties, columns)
    ? properties.map((property) => TO_SQL[columns[property]?.form ?? 'plain'])
    : null;
  const nullText = properties.map(
    (property) => columns[property]?.form === 'json' && !columns[property].isNullable,
  );
  const count = properties.length;
  return (row) => {
    const values = new Array<SqlValue>(count);
    for (let i = 0; i < count; i++) {
      const value = row[properties[i] as string];
      const convert = value === null && !nullText[i] ? undefined : converts?.[i];
      values[i] = (convert ? convert(value as never) : value) as SqlValue;
    }
    return values;
  };
}

/** The same for one property, of which the value comes by itself. */
function bindKey(properties: readonly string[], columns: Columns): (values: unknown) => SqlValue[] {
  const bind = bindAll(properties, columns);
  const [only] = properties as [string];
  return (values) => bind((properties.length > 1 ? values : { [only]: values }) as Values);
}

function isConverted(properties: readonly string[], columns: Columns): boolean {
  return properties.some((property) => TO_SQL[columns[property]?.form ?? 'plain'] !== undefined);
}

/**
 * Returns the function that gives a row its types, in place, because the row is new; undefined where every value has
 * its type already.
 */
function decoder(columns: Columns): ((row: Values) => Values) | undefined {
  const changes = Object.entries(columns).flatMap(([property, { use, form }]) => {
    const convert = use === 'unread' ? undefined : TO_ROW[form];
    return convert ? [{ property, convert }] : [];
  });
  if (changes.length === 0) return undefined;
  return (row) => {
    for (const { property, convert } of changes) {
      const value = row[property];
      if (value !== null) (row as Record<string, unknown>)[property] = convert(value as never);
    }
    return row;
  };
}

function recorder(columns: Columns): (row: Values) => Values {
  const steps = Object.entries(columns)
    .filter(([, { use }]) => use !== 'unread' && use !== 'hidden')
    .map(([property, { form }]) => {
      const shown = form === 'time' ? property.replace(/Ms$/, '') : property;
      return { property, name: form === 'revision' ? 'etag' : shown, convert: TO_RECORD[form] };
    });
  return (row) => {
    const record: Record<string, unknown> = {};
    for (const { property, name, convert } of steps) {
      const value = row[property];
      record[name] = convert && value !== null ? convert(value as never) : value;
    }
    return record;
  };
}
