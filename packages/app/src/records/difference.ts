/**
 * The difference between the tables that records declare and those that the migrations make, as steps of SQL for the next
 * migration. It guesses nothing: a column that is gone was dropped or renamed only where its builder says so.
 */
import { z } from 'zod';
import type { Field } from './fields.ts';
import {
  columnDeclaration,
  createIndex,
  createWords,
  type Index,
  type RecordTable,
  statementsOf,
  wordTable,
} from './tables.ts';

/** The tables that the migrations make, as SQLite describes them. */
export interface PresentSchema {
  /** Table → its columns. */
  readonly columns: ReadonlyMap<string, readonly PresentColumn[]>;
  /** Index → its table and its statement. */
  readonly indexes: ReadonlyMap<string, { readonly table: string; readonly sql: string }>;
}

export interface PresentColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

/** Reads rows of a database: a statement, and texts for its parameters. */
type ReadRows = (sql: string, ...params: readonly string[]) => readonly unknown[];

/** Returns the tables and indexes of a database. */
export function presentSchema(read: ReadRows): PresentSchema {
  const tables = read(`SELECT name FROM sqlite_master WHERE type = 'table'`) as { name: string }[];
  const indexes = read(
    `SELECT name, tbl_name AS "table", sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
  ) as { name: string; table: string; sql: string }[];
  return {
    columns: new Map(tables.map(({ name }) => [name, columnsOf(read, name)])),
    indexes: new Map(indexes.map((index) => [index.name, index])),
  };
}

function columnsOf(read: ReadRows, table: string): PresentColumn[] {
  const columns = read('SELECT name, type, "notnull" AS filled, pk FROM pragma_table_info(?)', table);
  return (columns as { name: string; type: string; filled: number; pk: number }[]).map(
    ({ name, type, filled, pk }) => ({ name, type, isNullable: filled === 0 && pk === 0 }),
  );
}

/** The builder's word on what cannot be seen: `animals.fee`. */
export interface Consent {
  /** The columns whose values may be lost. */
  readonly drop: ReadonlySet<string>;
  /** Old column → its new name: `animals.fee` → `price`. */
  readonly rename: ReadonlyMap<string, string>;
}

export interface Step {
  readonly sql: string;
  /** Destroys values: the migration says so beside it. */
  readonly isDestructive: boolean;
}

export interface Difference {
  readonly steps: readonly Step[];
  /** The questions that only the builder can answer; with any, no migration is made. */
  readonly questions: readonly string[];
}

export function differenceOf(
  declared: readonly RecordTable[],
  present: PresentSchema,
  consent: Consent,
): Difference {
  const steps: Step[] = [];
  const questions: string[] = [];
  const used = new Set<string>();
  const add = (sql: string, isDestructive = false): void => void steps.push({ sql, isDestructive });
  for (const table of declared) {
    const columns = present.columns.get(table.name);
    if (!columns) {
      for (const sql of statementsOf(table)) add(sql);
      continue;
    }
    const indexes = changedIndexes(table, present);
    // A column that an index names cannot be dropped.
    for (const sql of indexes.drops) add(sql);
    changeColumns(table, columns, { consent, used, questions, add });
    for (const sql of indexes.makes) add(sql);
    const hasWords = present.columns.has(wordTable(table));
    if (table.search.length > 0 && !hasWords) add(createWords(table));
    if (table.search.length === 0 && hasWords) add(`DROP TABLE ${wordTable(table)}`);
  }
  for (const each of [...consent.drop, ...consent.rename.keys()])
    if (!used.has(each))
      questions.push(`${each} is no column that is missing in the declaration: look at its name.`);
  return { steps, questions };
}

interface Changing {
  readonly consent: Consent;
  readonly used: Set<string>;
  readonly questions: string[];
  readonly add: (sql: string, isDestructive?: boolean) => void;
}

/** The columns that every record has. */
const OWN = new Set(['id', 'archived', 'created_at', 'updated_at', 'archived_at']);

function changeColumns(
  { name: table, fields }: RecordTable,
  columns: readonly PresentColumn[],
  { consent, used, questions, add }: Changing,
): void {
  for (const own of OWN)
    if (!columns.some(({ name }) => name === own))
      questions.push(
        `The table ${table} is not one of records: it has no column ${own}. Move its rows into one that is.`,
      );
  const wanted = new Map(fields.map((field) => [field.column, field]));
  const there = new Map(columns.map((column) => [column.name, column]));
  const gone = columns.filter(({ name }) => !OWN.has(name) && !wanted.has(name));
  const renamed = new Set<string>();
  for (const { name } of gone) {
    const at = `${table}.${name}`;
    const to = consent.rename.get(at);
    if (to !== undefined) {
      used.add(at);
      if (!wanted.has(to) || there.has(to))
        questions.push(`${at} cannot be renamed to ${to}: that is no new field of the declaration.`);
      else {
        add(`ALTER TABLE ${table} RENAME COLUMN ${name} TO ${to}`);
        renamed.add(to);
        there.set(to, { ...(there.get(name) as PresentColumn), name: to });
      }
    } else if (consent.drop.has(at)) used.add(at);
    else
      questions.push(
        `${at} is no longer declared. Was it renamed (--rename ${at}=new_name), or may its values be lost (--drop ${at})?`,
      );
  }
  for (const field of fields) {
    const column = there.get(field.column);
    if (column) requireSame(table, field, column, questions);
    else if (!renamed.has(field.column)) addColumn(table, field, questions, add);
  }
  for (const { name } of gone)
    if (consent.drop.has(`${table}.${name}`) && !consent.rename.has(`${table}.${name}`))
      add(`ALTER TABLE ${table} DROP COLUMN ${name}`, true);
}

/** SQLite changes no column in place: its builder copies the table, and decides what becomes of the values. */
function requireSame(table: string, field: Field, column: PresentColumn, questions: string[]): void {
  const at = `${table}.${field.column}`;
  if (column.type !== field.type)
    questions.push(
      `${at} holds ${column.type} and is declared as ${field.type}: declare a new field, and copy the values in a migration of your own.`,
    );
  else if (column.isNullable && !field.isOptional)
    questions.push(
      `${at} may be empty and is declared as required: keep it optional, or fill and copy the table in a migration of your own.`,
    );
  else if (!column.isNullable && field.isOptional)
    questions.push(
      `${at} must be filled and is declared as optional: copy the table in a migration of your own, or keep it required.`,
    );
}

function addColumn(table: string, field: Field, questions: string[], add: Changing['add']): void {
  const value = defaultOf(field.schema);
  if (!field.isOptional && value === null) {
    questions.push(
      `${table}.${field.column} is required, and the records that are there have no value for it: give the field a default, or make it optional.`,
    );
    return;
  }
  const filled = field.isOptional ? '' : ` DEFAULT ${value}`;
  add(`ALTER TABLE ${table} ADD COLUMN ${field.column} ${columnDeclaration(field)}${filled}`);
}

/** The default of a field as SQL, or null where it has none. */
function defaultOf(schema: z.ZodType): string | null {
  if (!(schema instanceof z.ZodDefault)) return null;
  const value: unknown = schema.def.defaultValue;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : null;
}

/** Indexes hold no values: those of records are dropped and made without a question. */
function changedIndexes(
  table: RecordTable,
  { indexes }: PresentSchema,
): { readonly drops: readonly string[]; readonly makes: readonly string[] } {
  const wanted = new Map(table.indexes.map((index: Index) => [index.name, createIndex(table, index)]));
  const ours = new RegExp(`^${table.name}_(?:by|one)_`);
  const stale = [...indexes].filter(
    ([name, index]) => index.table === table.name && ours.test(name) && wanted.get(name) !== index.sql,
  );
  return {
    drops: stale.map(([name]) => `DROP INDEX ${name}`),
    makes: [...wanted].flatMap(([name, sql]) => (indexes.get(name)?.sql === sql ? [] : [sql])),
  };
}

/**
 * Returns the next migration as TypeScript, for the list in `migrations.ts`: to be read, changed and kept.
 * @param version the number after the last migration.
 */
export function migrationText(version: number, name: string, steps: readonly Step[]): string {
  const lines = steps.map(({ sql, isDestructive }) =>
    [...(isDestructive ? ['-- DESTROYS the values of this column, for good.'] : []), `${sql};`].join('\n'),
  );
  const text = lines.join('\n').replaceAll(/[\\`]|\$\{/g, (each) => `\\${each}`);
  return `  {\n    version: ${version},\n    name: '${name.replaceAll(/[\\']/g, (each) => `\\${each}`)}',\n    sql: \`\n${text}\n\`,\n  },\n`;
}
