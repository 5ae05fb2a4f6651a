/**
 * The difference between the tables that records declare and those that the migrations make, as steps of SQL for the next
 * migration. It guesses nothing: a column that is gone was dropped or renamed only where its builder says so.
 */
import {
  changeColumn,
  isLackingAllowed,
  isOtherColumn,
  type ValueConsent,
  valueOfNone,
} from './column-change.ts';
import type { Field } from './fields.ts';
import {
  columnDeclaration,
  createIndex,
  createWords,
  type Index,
  lackingIndex,
  type RecordTable,
  searchedColumns,
  statementsOf,
  wordsNote,
  wordTable,
} from './tables.ts';

/** The tables that the migrations make, as SQLite describes them. */
export interface PresentSchema {
  /** Table → its columns. */
  readonly columns: ReadonlyMap<string, readonly PresentColumn[]>;
  /** Table → its statement. */
  readonly statements: ReadonlyMap<string, string>;
  /** Index → its table and its statement. */
  readonly indexes: ReadonlyMap<string, { readonly table: string; readonly sql: string }>;
}

export interface PresentColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  /** The table whose records it names; null for none. */
  readonly references: string | null;
}

/** Reads rows of a database: a statement, and texts for its parameters. */
type ReadRows = (sql: string, ...params: readonly string[]) => readonly unknown[];

/** Returns the tables and indexes of a database. */
export function presentSchema(read: ReadRows): PresentSchema {
  const tables = read(`SELECT name, sql FROM sqlite_master WHERE type = 'table'`) as {
    name: string;
    sql: string;
  }[];
  const indexes = read(
    `SELECT name, tbl_name AS "table", sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
  ) as { name: string; table: string; sql: string }[];
  return {
    columns: new Map(tables.map(({ name }) => [name, columnsOf(read, name)])),
    statements: new Map(tables.map(({ name, sql }) => [name, sql])),
    indexes: new Map(indexes.map((index) => [index.name, index])),
  };
}

function columnsOf(read: ReadRows, table: string): PresentColumn[] {
  const columns = read(
    `SELECT c.name, c.type, c."notnull" AS filled, c.pk, f."table" AS "references"
     FROM pragma_table_info(?) c LEFT JOIN pragma_foreign_key_list(?) f ON f."from" = c.name`,
    table,
    table,
  ) as { name: string; type: string; filled: number; pk: number; references: string | null }[];
  return columns.map(({ name, type, filled, pk, references }) => ({
    name,
    type,
    isNullable: filled === 0 && pk === 0,
    references,
  }));
}

/** The builder's word on what cannot be seen: `animals.fee`. */
export interface Consent extends ValueConsent {
  /** The columns whose values may be lost. */
  readonly drop: ReadonlySet<string>;
  /** Old column → its new name: `animals.fee` → `price`. */
  readonly rename: ReadonlyMap<string, string>;
}

export interface Step {
  readonly sql: string;
  /** Destroys values: the migration says so beside it. */
  readonly isDestructive: boolean;
  /** TypeScript of the `fill` of the migration: what SQL alone cannot write. */
  readonly fill?: string;
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
    const others = new Map(
      columns.map((column) => [consent.rename.get(`${table.name}.${column.name}`) ?? column.name, column]),
    );
    const remade = table.fields.flatMap((field) => {
      const column = others.get(field.column);
      return column && isOtherColumn(field, column) ? [field.column] : [];
    });
    const lacking = table.fields.flatMap((field) => {
      const column = others.get(field.column);
      return column && isLackingAllowed(field, column) ? [field] : [];
    });
    const indexes = changedIndexes(table, present, { remade, lacking });
    // A column that an index names cannot be dropped.
    for (const sql of indexes.drops) add(sql);
    changeColumns(table, columns, { consent, used, questions, add });
    for (const sql of indexes.makes) add(sql);
    for (const field of lacking) {
      const { name, sql } = lackingIndex(table, field);
      if (!present.indexes.has(name))
        steps.push({ sql, isDestructive: false, fill: `requireFilled('${table.name}', '${field.column}')` });
    }
    steps.push(...changedWords(table, present));
  }
  const { drop, rename, convert, fill } = consent;
  for (const [option, names] of Object.entries({ drop, rename: rename.keys(), convert, fill: fill.keys() }))
    for (const each of names)
      if (!used.has(`${option} ${each}`))
        questions.push(`--${option} ${each} answers no question here: look at the name of the column.`);
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
      used.add(`rename ${at}`);
      if (wanted.get(to)?.isSealed)
        questions.push(
          `${at} cannot be renamed to ${to}: that one is sealed, and the values would stand there in clear. Take them over in a migration of your own, and drop the column.`,
        );
      else if (!wanted.has(to) || there.has(to))
        questions.push(`${at} cannot be renamed to ${to}: that is no new field of the declaration.`);
      else {
        add(`ALTER TABLE ${table} RENAME COLUMN ${name} TO ${to}`);
        renamed.add(to);
        there.set(to, { ...(there.get(name) as PresentColumn), name: to });
      }
    } else if (consent.drop.has(at)) used.add(`drop ${at}`);
    else
      questions.push(
        `${at} is no longer declared. Was it renamed (--rename ${at}=new_name), or may its values be lost (--drop ${at})?`,
      );
  }
  for (const field of fields) {
    const column = there.get(field.column);
    if (column && isOtherColumn(field, column)) {
      const change = changeColumn(table, field, column, consent);
      for (const { sql, isDestructive } of change.steps) add(sql, isDestructive);
      for (const word of change.used) used.add(word);
      if (change.question !== null) questions.push(change.question);
    }
    if (!column && !renamed.has(field.column)) addColumn(table, field, { consent, used, questions, add });
  }
  for (const { name } of gone)
    if (consent.drop.has(`${table}.${name}`) && !consent.rename.has(`${table}.${name}`))
      add(`ALTER TABLE ${table} DROP COLUMN ${name}`, true);
}

function addColumn(table: string, field: Field, { consent, used, questions, add }: Changing): void {
  const at = `${table}.${field.column}`;
  const given = field.isOptional ? undefined : consent.fill.get(at);
  if (given !== undefined) used.add(`fill ${at}`);
  const value = valueOfNone(field, given);
  const isOnlyOptional = field.target !== undefined;
  if (!field.isOptional && (value === null || isOnlyOptional)) {
    const ways = isOnlyOptional
      ? 'make it optional, and required once all of them have one'
      : `give the field a default, say which one they get (--fill ${at}=value), or make it optional`;
    questions.push(
      given === undefined || isOnlyOptional
        ? `${at} is required, and the records that are there have no value for it: ${ways}.`
        : `${at} does not take the value ${given}: give one that fits the field.`,
    );
    return;
  }
  const filled = field.isOptional ? '' : ` DEFAULT ${value}`;
  add(`ALTER TABLE ${table} ADD COLUMN ${field.column} ${columnDeclaration(field)}${filled}`);
}

/** The words follow from the records: where other fields are searched, all of them are written anew. */
function changedWords(table: RecordTable, { statements }: PresentSchema): readonly Step[] {
  const statement = statements.get(wordTable(table));
  const note = statement === undefined ? null : wordsNote(statement);
  const isOther = note !== null && note !== searchedColumns(table);
  const isSearched = table.search.length > 0;
  const isDropped = statement !== undefined && (isOther || !isSearched);
  const isMade = isSearched && (statement === undefined || isOther);
  return [
    ...(isDropped ? [{ sql: `DROP TABLE ${wordTable(table)}`, isDestructive: false }] : []),
    ...(isMade ? [{ sql: createWords(table), isDestructive: false, fill: fillText(table) }] : []),
  ];
}

/** Indexes hold no values: those of records are dropped and made without a question. */
function changedIndexes(
  table: RecordTable,
  { indexes }: PresentSchema,
  { remade, lacking }: { readonly remade: readonly string[]; readonly lacking: readonly Field[] },
): { readonly drops: readonly string[]; readonly makes: readonly string[] } {
  const wanted = new Map(table.indexes.map((index: Index) => [index.name, createIndex(table, index)]));
  const ours = new RegExp(`^${table.name}_(?:by|one|without)_`);
  const notes = new Set(lacking.map((field) => lackingIndex(table, field).name));
  const ofRemade = new Set(
    table.indexes.flatMap(({ name, columns }) =>
      columns.some((each) => remade.includes(each)) ? [name] : [],
    ),
  );
  const stale = [...indexes].filter(
    ([name, index]) =>
      index.table === table.name &&
      ours.test(name) &&
      !notes.has(name) &&
      (wanted.get(name) !== index.sql || ofRemade.has(name)),
  );
  return {
    drops: stale.map(([name]) => `DROP INDEX ${name}`),
    makes: [...wanted].flatMap(([name, sql]) =>
      indexes.get(name)?.sql === sql && !ofRemade.has(name) ? [] : [sql],
    ),
  };
}

/** The call that writes the words of the records that are there. */
function fillText({ name, search }: RecordTable): string {
  const columns = search.map(({ column }) => `'${column}'`).join(', ');
  return `fillWords('${name}', [${columns}])`;
}

/**
 * Returns the next migration as TypeScript, for the list in `migrations.ts`: to be read, changed and kept.
 * @param version the number after the last migration.
 */
export function migrationText(version: number, name: string, steps: readonly Step[]): string {
  const lines = steps.map(({ sql, isDestructive }) =>
    [...(isDestructive ? ['-- DESTROYS values of this column, for good.'] : []), `${sql};`].join('\n'),
  );
  const fills = steps.flatMap(({ fill }) => fill ?? []);
  const [only] = fills;
  const fill =
    only === undefined
      ? ''
      : `    fill: ${fills.length === 1 ? only : `(db) => [${fills.join(', ')}].forEach((each) => each(db))`},\n`;
  const text = lines.join('\n').replaceAll(/[\\`]|\$\{/g, (each) => `\\${each}`);
  return `  {\n    version: ${version},\n    name: '${name.replaceAll(/[\\']/g, (each) => `\\${each}`)}',\n    sql: \`\n${text}\n\`,\n${fill}  },\n`;
}
