/**
 * The tables of an object's database, each with a plan for reading it, so that inserting its rows in turn makes the
 * same table.
 */
import { engineCannot } from './refusals.ts';

/** One table of a copy. */
export interface TablePlan {
  readonly name: string;
  /** The inserted columns; a rowid that is no column comes first. */
  readonly columns: readonly string[];
  /** Whether each column has REAL affinity, and so converts whole numbers. */
  readonly isReal: readonly boolean[];
  /**
   * Reads rows in order, each value in the form of {@link readColumn}. Where it is paged, the rowid comes first, as text,
   * and its parameters are the rowid to begin after, as text, and the number of rows; otherwise it reads all.
   */
  readonly select: string;
  readonly isPaged: boolean;
}

interface ColumnRow extends Record<string, SqlStorageValue> {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
  readonly hidden: number;
}

/** workerd's limit of columns for a result and for a table. */
const COLUMNS_MAX = 100;

/** Tables of copies in transfer, which no copy contains. */
const COPY_TABLES = '_spine_copy_';
/** The parts of copies. */
export const PARTS_TABLE = `${COPY_TABLES}parts`;
/** The prefix of the tables with the rows of a copy that comes in. */
export const rowsTables = (id: string): string => `${COPY_TABLES}rows ${id} `;
/** The table with the rows of one table of such a copy. */
export const rowsTable = (id: string, index: number): string => `${rowsTables(id)}${index}`;

/** Excludes SQLite's own tables, the object's key-value store, and remains of a failed probe of either. */
const OWN = ['sqlite_', '_cf_', COPY_TABLES]
  .map((prefix) => `substr(name, 1, ${prefix.length}) <> '${prefix}'`)
  .join(' AND ');

/** One object of the schema. */
export interface SchemaRow extends Record<string, SqlStorageValue> {
  readonly type: string;
  readonly name: string;
  readonly tableName: string;
  readonly sql: string;
}

/** Tables, indexes, views and triggers, in the order in which they were made. */
export function schemaOf(sql: SqlStorage): SchemaRow[] {
  return sql
    .exec<SchemaRow>(
      `SELECT type, name, tbl_name AS tableName, sql FROM sqlite_master WHERE sql IS NOT NULL AND ${OWN} ORDER BY rowid`,
    )
    .toArray();
}

/**
 * Returns every table, by name; the counters of AUTOINCREMENT are among them, where there are any.
 * @throws PlatformError `unsupported`, reason `engine_cannot`, when one is virtual: SQLite manages its rows.
 */
export function tablesOf(sql: SqlStorage): TablePlan[] {
  const rows = sql
    .exec<{ name: string; type: string; wr: number }>(
      `SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND type <> 'view' AND ${OWN} ORDER BY name`,
    )
    .toArray();
  const virtual = rows.find(({ type }) => type !== 'table');
  if (virtual)
    throw engineCannot(`The table ${JSON.stringify(virtual.name)} is virtual and cannot be copied.`);
  const plans = rows.map(({ name, wr }) => planOf(sql, name, wr === 1));
  return hasCounters(sql) ? [...plans, COUNTERS].sort((a, b) => (a.name < b.name ? -1 : 1)) : plans;
}

/** The name of the table in which SQLite keeps the counters of AUTOINCREMENT. */
export const COUNTER_TABLE = 'sqlite_sequence';
const COUNTERS: TablePlan = {
  name: COUNTER_TABLE,
  columns: ['name', 'seq'],
  isReal: [false, false],
  select: `SELECT ${readColumn('name')}, ${readColumn('seq')} FROM ${COUNTER_TABLE} ORDER BY rowid`,
  isPaged: false,
};

function hasCounters(sql: SqlStorage): boolean {
  const table = sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', COUNTER_TABLE).toArray();
  return table.length > 0 && sql.exec(`SELECT 1 FROM ${COUNTER_TABLE} LIMIT 1`).toArray().length > 0;
}

/** Returns a name as SQL, with any characters. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Returns one expression for a value and its type. workerd returns integers and reals as one kind of number, and
 * rounds large integers. So integers come as text behind an `i`, and texts behind a `t`; a number is a REAL.
 */
function readColumn(name: string): string {
  const c = quoted(name);
  return `CASE typeof(${c}) WHEN 'integer' THEN 'i' || ${c} WHEN 'text' THEN 't' || ${c} ELSE ${c} END`;
}

function planOf(sql: SqlStorage, table: string, withoutRowid: boolean): TablePlan {
  const stored = sql
    .exec<ColumnRow>('SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)', table)
    .toArray()
    // Generated columns are not stored, and cannot be inserted.
    .filter(({ hidden }) => hidden === 0);
  const names = stored.map(({ name }) => name);
  const rowid = withoutRowid ? undefined : rowidName(names);
  const isKept = rowid !== undefined && names.length < COLUMNS_MAX && !isRowidAColumn(sql, table, stored);
  const columns = isKept ? [rowid, ...names] : names;
  const key = stored.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  const order = withoutRowid ? key.map(({ name }) => quoted(name)).join(', ') : rowid;
  const read = columns.map(readColumn);
  // A result has no room for one column more than a table has.
  const isPaged = rowid !== undefined && columns.length < COLUMNS_MAX;
  const rows = isPaged ? ` WHERE ${rowid} > CAST(? AS NUMERIC) ORDER BY ${rowid} LIMIT ?` : '';
  const all = order ? ` ORDER BY ${order}` : '';
  return {
    name: table,
    columns,
    isReal: columns.map((name) => hasRealAffinity(stored.find((column) => column.name === name)?.type ?? '')),
    select: isPaged
      ? `SELECT CAST(${rowid} AS TEXT), ${read.join(', ')} FROM ${quoted(table)}${rows}`
      : `SELECT ${read.join(', ')} FROM ${quoted(table)}${all}`,
    isPaged,
  };
}

/** SQLite, "ROWIDs and the INTEGER PRIMARY KEY": it is one unless the key has an index of its own. */
function isRowidAColumn(sql: SqlStorage, table: string, columns: readonly ColumnRow[]): boolean {
  const key = columns.filter(({ pk }) => pk > 0);
  if (key.length !== 1 || key[0]?.type.toUpperCase() !== 'INTEGER') return false;
  return sql.exec(`SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'`, table).toArray().length === 0;
}

/** Returns a name of the rowid that no column has. */
function rowidName(columns: readonly string[]): string | undefined {
  const taken = new Set(columns.map((name) => name.toLowerCase()));
  return ['rowid', '_rowid_', 'oid'].find((name) => !taken.has(name));
}

/** SQLite, "Determination Of Column Affinity". */
function hasRealAffinity(type: string): boolean {
  return /REAL|FLOA|DOUB/i.test(type) && !/INT|CHAR|CLOB|TEXT|BLOB/i.test(type);
}
