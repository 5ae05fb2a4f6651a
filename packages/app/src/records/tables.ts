/** The tables of a type of records: what a migration must make, and what each query of `list.ts` is read from. */
import type { Field } from './fields.ts';

/** An index, with the columns in its order. */
export interface Index {
  readonly name: string;
  readonly columns: readonly string[];
  /** Only records that are not archived must differ. */
  readonly isUnique: boolean;
}

export interface RecordTable {
  readonly name: string;
  readonly fields: readonly Field[];
  /** The column of the field that stands for a record where another one names it. */
  readonly title: string;
  readonly indexes: readonly Index[];
  /** Whether records are imported: those that are hidden as yet are unique too. */
  readonly hasImports: boolean;
  /** The texts whose words are searched; none: there is no table of words. */
  readonly search: readonly Field[];
  /** The relations that are searched: a record is found by the words of those that it names. */
  readonly searchRelations: readonly Field[];
}

/** The table of the words of a type's records. */
export function wordTable({ name }: Pick<RecordTable, 'name'>): string {
  return `${name}_words`;
}

/** Whether a list of these records takes words. */
export function isSearched({ search, searchRelations }: RecordTable): boolean {
  return search.length > 0 || searchRelations.length > 0;
}

/** The name of an index, from its columns. */
export function indexName(table: string, columns: readonly string[]): string {
  return `${table}_by_${columns.join('_')}`;
}

/** The columns that every table of records has, with their declarations. */
const OWN_COLUMNS: readonly (readonly [name: string, declaration: string])[] = [
  ['id', 'TEXT PRIMARY KEY'],
  ['archived', 'INTEGER NOT NULL DEFAULT 0'],
  ['created_at', 'INTEGER NOT NULL'],
  ['updated_at', 'INTEGER NOT NULL'],
  ['archived_at', 'INTEGER'],
];

/** The statements about single records. They are made once for each table: their texts are what the database knows them by. */
export interface RowStatements {
  readonly one: string;
  readonly insert: string;
}

const rowStatements = new WeakMap<readonly Field[], RowStatements>();

export function rowStatementsOf({ name, fields }: RecordTable): RowStatements {
  const known = rowStatements.get(fields);
  if (known) return known;
  const own = fields.map(({ column }) => column);
  const read = [...OWN_COLUMNS.map(([column]) => column), ...own].join(', ');
  const written = ['id', 'archived', 'created_at', 'updated_at', ...own];
  const made: RowStatements = {
    one: `SELECT ${read} FROM ${name} WHERE id = ?`,
    insert: `INSERT INTO ${name} (${written.join(', ')}) VALUES (${written.map(() => '?').join(', ')})`,
  };
  rowStatements.set(fields, made);
  return made;
}

/** Texts are sorted and compared without regard to the case of ASCII letters. */
export function columnDeclaration({ type, isOptional, isSealed, target }: Field): string {
  const collation = type === 'TEXT' && !target && !isSealed ? ' COLLATE NOCASE' : '';
  const reference = target ? ` REFERENCES ${target.table.name} (id)` : '';
  return `${type}${isOptional ? '' : ' NOT NULL'}${collation}${reference}`;
}

/** Returns the statements that make a table with its indexes, for a migration. */
export function statementsOf(table: RecordTable): string[] {
  const columns = [
    ...OWN_COLUMNS.map(([name, declaration]) => `${name} ${declaration}`),
    ...table.fields.map((field) => `${field.column} ${columnDeclaration(field)}`),
  ];
  return [
    `CREATE TABLE ${table.name} (\n  ${columns.join(',\n  ')}\n) STRICT, WITHOUT ROWID`,
    ...table.indexes.map((index) => createIndex(table, index)),
    ...(table.search.length === 0 ? [] : [createWords(table)]),
  ];
}

/** The condition of the records that must differ, as a query says it to be read from the index. */
export function uniqueCondition({ hasImports }: RecordTable): string {
  return hasImports ? 'archived <> 1' : 'archived = 0';
}

/**
 * Returns the index of the records that lack a relation which became required, and so of none: SQLite adds no relation that
 * must be filled, and the index says that all records were found to have one.
 */
export function lackingIndex(
  { name }: Pick<RecordTable, 'name'>,
  { column }: Field,
): { readonly name: string; readonly sql: string } {
  const index = `${name}_without_${column}`;
  return { name: index, sql: `CREATE INDEX ${index} ON ${name} (id) WHERE ${column} IS NULL` };
}

export function createIndex(table: RecordTable, { name, columns, isUnique }: Index): string {
  return isUnique
    ? `CREATE UNIQUE INDEX ${name} ON ${table.name} (${columns.join(', ')}) WHERE ${uniqueCondition(table)}`
    : `CREATE INDEX ${name} ON ${table.name} (${columns.join(', ')})`;
}

/** The note within the table of words that says which columns they are of: by it a migration learns of a change. */
const WORDS_OF = /-- Of (.*)\./;

/** Returns the columns that a present table of words is of, as its statement says; null for one without the note. */
export function wordsNote(statement: string): string | null {
  return WORDS_OF.exec(statement)?.[1] ?? null;
}

export function searchedColumns({ search }: Pick<RecordTable, 'search'>): string {
  return search
    .map(({ column }) => column)
    .toSorted()
    .join(', ');
}

export function createWords(table: RecordTable): string {
  return `CREATE TABLE ${wordTable(table)} (
  archived INTEGER NOT NULL,
  -- Of ${searchedColumns(table)}.
  word TEXT NOT NULL,
  id TEXT NOT NULL REFERENCES ${table.name} (id),
  PRIMARY KEY (archived, word, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ${wordTable(table)}_by_id ON ${wordTable(table)} (id)`;
}
