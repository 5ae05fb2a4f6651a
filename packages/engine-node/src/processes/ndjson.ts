/** The text form of a copy, which any engine reads (see `UnitTools.export`), and its tables. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';

export interface NdjsonTable {
  readonly name: string;
  /** The inserted columns; `rowid` comes first where the table has one that is not a column. */
  readonly columns: readonly string[];
  readonly rows: number;
  /** SHA-256 over the lines of its rows, each with its line end, hexadecimal. */
  readonly sha256: string;
}

export interface NdjsonHeader {
  readonly freehold: 1;
  readonly kind: string;
  readonly key: string;
  /** Of tables, indexes, views and triggers, in the order in which they were made. */
  readonly schema: readonly string[];
  readonly tables: readonly NdjsonTable[];
}

export interface NdjsonTrailer {
  readonly end: true;
  /** SHA-256 over everything before this line, hexadecimal. */
  readonly sha256: string;
}

/** The plan by which the rows of a table are read, so that inserting them in turn makes the same table. */
export interface TablePlan {
  readonly name: string;
  readonly columns: readonly string[];
  /** Whether each column has REAL affinity. */
  readonly isReal: readonly boolean[];
  readonly select: string;
}

interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly pk: bigint;
  readonly hidden: bigint;
}

/** Returns the statements of the schema, without SQLite's own tables and those of virtual ones. */
export function schemaOf(database: DatabaseSync): string[] {
  const rows = database
    .prepare(
      `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
       AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow') ORDER BY rowid`,
    )
    .all();
  return rows.map(({ sql }) => sql as string);
}

/** Returns every table with rows of its own, by name; the counters of AUTOINCREMENT are among them. */
export function tablesOf(database: DatabaseSync): TablePlan[] {
  const rows = database
    .prepare(
      `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow')
       AND (name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR name = 'sqlite_sequence') ORDER BY name`,
    )
    .all() as { name: string; wr: number | bigint }[];
  return rows.map(({ name, wr }) => planOf(database, name, Number(wr) === 1));
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function planOf(database: DatabaseSync, table: string, withoutRowid: boolean): TablePlan {
  const info = database.prepare('SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)');
  info.setReadBigInts(true);
  // Generated columns are not stored, and cannot be inserted.
  const stored = (info.all(table) as unknown as ColumnRow[]).filter(({ hidden }) => hidden === 0n);
  const names = stored.map(({ name }) => name);
  const hasNone = withoutRowid || table === 'sqlite_sequence' || isRowidAColumn(database, table, stored);
  const rowid = hasNone ? undefined : rowidName(names);
  const columns = rowid === undefined ? names : [rowid, ...names];
  const key = stored.filter(({ pk }) => pk > 0n).sort((a, b) => Number(a.pk - b.pk));
  const order = withoutRowid ? key.map(({ name }) => quoted(name)).join(', ') : (rowidName(names) ?? '');
  return {
    name: table,
    columns,
    isReal: columns.map((name) => hasRealAffinity(stored.find((column) => column.name === name)?.type ?? '')),
    select: `SELECT ${columns.map(quoted).join(', ')} FROM ${quoted(table)}${order === '' ? '' : ` ORDER BY ${order}`}`,
  };
}

/** SQLite, "ROWIDs and the INTEGER PRIMARY KEY": it is one unless the key has an index of its own. */
function isRowidAColumn(database: DatabaseSync, table: string, columns: readonly ColumnRow[]): boolean {
  const key = columns.filter(({ pk }) => pk > 0n);
  if (key.length !== 1 || key[0]?.type.toUpperCase() !== 'INTEGER') return false;
  return !database.prepare("SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'").get(table);
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

/** Returns the JSON of one value. Integers are read as bigint, so that a number is always a REAL. */
export function encodeValue(value: SQLOutputValue, isReal: boolean): unknown {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : { $integer: value.toString() };
  }
  if (typeof value === 'number') {
    // A whole number in JSON is read as an INTEGER; only in a REAL column does SQLite convert it to a REAL.
    const isPlain =
      Number.isFinite(value) && !Object.is(value, -0) && (isReal || !Number.isSafeInteger(value));
    return isPlain ? value : { $real: Object.is(value, -0) ? '-0' : String(value) };
  }
  return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
}

/** Returns the value of {@link encodeValue}, to be bound. @throws TypeError on anything else. */
export function decodeValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  const [name, text, ...more] = Object.entries(value as object).flat();
  if (typeof text === 'string' && more.length === 0) {
    if (name === '$integer' && /^-?\d{1,19}$/.test(text)) return BigInt(text);
    if (name === '$real' && /^(-?Infinity|-?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(text)) return Number(text);
    if (name === '$bytes' && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  }
  throw new TypeError('not a value of a row');
}
