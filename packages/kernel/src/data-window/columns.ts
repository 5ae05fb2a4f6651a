/** The shape of a scope's tables, and the display of values: bounded, and without loss of their type. */
import type { Cell, ColumnInfo, TableInfo } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';

/** The shown part of a long text, in characters, and of bytes. */
const TEXT_SHOWN = 4_096;
const BYTES_SHOWN = 256;
const SAFE = Number.MAX_SAFE_INTEGER;

/** A table as SQLite describes it. */
export interface TableShape {
  readonly name: string;
  readonly kind: TableInfo['kind'];
  readonly type: TableInfo['type'];
  readonly columns: readonly ColumnInfo[];
  /** The key of its rows: its rowid, its primary key, or (a view) none. */
  readonly key: { readonly rowid: string } | { readonly columns: readonly string[] } | null;
}

/** The engines' own tables. */
const INTERNAL = /^(?:sqlite_|_cf_|_spine_copy_)/i;
const SPINE_PREFIX = '_spine_';

const TABLES = `SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view') ORDER BY name`;
const COLUMNS = `SELECT name, type, "notnull" AS isNotNull, pk FROM pragma_table_info(?) ORDER BY cid`;

/** Returns every table and view, the platform's own included. */
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
  // A column may have one of these names; hardly all three.
  const rowid = ['rowid', '_rowid_', 'oid'].find((name) => !taken.has(name));
  return rowid === undefined ? null : { rowid };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the SQL of one column as JSON text: the type of its value, its shown part, and its length. */
export function shownColumn(name: string): string {
  const c = quoted(name);
  return `CASE typeof(${c})
    WHEN 'null' THEN NULL
    WHEN 'text' THEN json_array('text', substr(${c}, 1, ${TEXT_SHOWN}), length(${c}))
    WHEN 'blob' THEN json_array('blob', hex(substr(${c}, 1, ${BYTES_SHOWN})), length(${c}))
    WHEN 'integer' THEN json_array('integer', CAST(${c} AS TEXT))
    ELSE json_array('real', printf('%!.17g', ${c})) END`;
}

/** Returns the cell of a {@link shownColumn}. */
export function shownCell(shown: SqlValue): Cell {
  if (shown === null) return null;
  const [type, text, length] = JSON.parse(String(shown)) as [string, string, number];
  switch (type) {
    case 'text':
      return length > TEXT_SHOWN ? { $text: text, length } : text;
    case 'blob':
      return { $bytes: Buffer.from(text, 'hex').toString('base64url'), length };
    case 'integer': {
      const number = Number(text);
      return Number.isSafeInteger(number) ? number : { $integer: text };
    }
    default: {
      const number = Number(text);
      return Number.isFinite(number) ? number : text;
    }
  }
}

/** Returns a value of a query's row as a cell. */
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

/** Whether a cell is shortened. */
export function isCut(value: Cell): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if ('$text' in value) return true;
  return '$bytes' in value && value.length > BYTES_SHOWN;
}
