/** The shape of a scope's tables, and values made fit to be shown: bounded, and without loss of what they were. */
import type { Cell, ColumnInfo, TableInfo } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';

/** What is shown of a long text, in characters, and of bytes. */
const TEXT_SHOWN = 4_096;
const BYTES_SHOWN = 256;
const SAFE = Number.MAX_SAFE_INTEGER;

/** A table as SQLite describes it. */
export interface TableShape {
  readonly name: string;
  readonly kind: TableInfo['kind'];
  readonly type: TableInfo['type'];
  readonly columns: readonly ColumnInfo[];
  /** What its rows are ordered and found by: its rowid, its primary key, or (a view) nothing. */
  readonly key: { readonly rowid: string } | { readonly columns: readonly string[] } | null;
}

/** Tables of the engines' own, which are nobody's data. */
const INTERNAL = /^(?:sqlite_|_cf_)/i;
const SPINE_PREFIX = '_spine_';

const TABLES = `SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view') ORDER BY name`;
const COLUMNS = `SELECT name, type, "notnull" AS isNotNull, pk FROM pragma_table_info(?) ORDER BY cid`;

/** Every table and view, the platform's own included. */
export function tableShapes(db: SqlDatabase): TableShape[] {
  return db
    .all<{ name: string; type: 'table' | 'view'; wr: number }>(TABLES)
    .filter(({ name }) => !INTERNAL.test(name))
    .map(({ name, type, wr }) => {
      const columns = db
        .all<{ name: string; type: string; isNotNull: number; pk: number }>(COLUMNS, name)
        .map((row) => ({ name: row.name, type: row.type, notNull: row.isNotNull === 1, primaryKey: row.pk }));
      const kind = name.startsWith(SPINE_PREFIX) ? 'spine' : 'vertical';
      return { name, kind, type, columns, key: type === 'view' ? null : keyOf(columns, wr === 1) };
    });
}

function keyOf(columns: readonly ColumnInfo[], withoutRowid: boolean): TableShape['key'] {
  if (withoutRowid) {
    const key = columns
      .filter(({ primaryKey }) => primaryKey > 0)
      .sort((a, b) => a.primaryKey - b.primaryKey);
    return { columns: key.map(({ name }) => name) };
  }
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  // A column may bear one of the names; hardly all three.
  const rowid = ['rowid', '_rowid_', 'oid'].find((name) => !taken.has(name));
  return rowid === undefined ? null : { rowid };
}

/** A name as SQL, whatever is in it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Three columns for one: what type the value has, the value as far as it is shown, and how long it is. */
export function shownColumn(name: string): string {
  const c = quoted(name);
  return `typeof(${c}), CASE typeof(${c})
    WHEN 'text' THEN substr(${c}, 1, ${TEXT_SHOWN})
    WHEN 'blob' THEN substr(${c}, 1, ${BYTES_SHOWN})
    WHEN 'integer' THEN CASE WHEN ${c} BETWEEN -${SAFE} AND ${SAFE} THEN ${c} ELSE CAST(${c} AS TEXT) END
    ELSE ${c} END, CASE WHEN typeof(${c}) IN ('text', 'blob') THEN length(${c}) END`;
}

/** The cell of three columns of {@link shownColumn}. */
export function shownCell(type: SqlValue, value: SqlValue, length: SqlValue): Cell {
  if (value === null || type === 'null') return null;
  if (value instanceof Uint8Array)
    return { $bytes: Buffer.from(value).toString('base64url'), length: Number(length) };
  if (type === 'integer' && typeof value === 'string') return { $integer: value };
  if (typeof value === 'string' && Number(length) > value.length && [...value].length < Number(length))
    return { $text: value, length: Number(length) };
  return value;
}

/** Any value of a query's row as a cell. */
export function cellOf(value: SqlValue | bigint): Cell {
  if (typeof value === 'bigint')
    return value >= -SAFE && value <= SAFE ? Number(value) : { $integer: value.toString() };
  if (value instanceof Uint8Array)
    return {
      $bytes: Buffer.from(value.subarray(0, BYTES_SHOWN)).toString('base64url'),
      length: value.length,
    };
  if (typeof value === 'string' && value.length > TEXT_SHOWN)
    return { $text: value.slice(0, TEXT_SHOWN), length: value.length };
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return value;
}

/** Whether a cell shows less than there is. */
export function isCut(value: Cell): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if ('$text' in value) return true;
  return '$bytes' in value && value.length > BYTES_SHOWN;
}
