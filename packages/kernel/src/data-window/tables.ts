/** The data window: a scope's tables, and their rows page by page (design: kernel, "Looking inside"). */
import {
  type ColumnInfo,
  decodeCursor,
  encodeCursor,
  PlatformError,
  type TableFilter,
  type TableInfo,
  type TablePage,
  type TableQuery,
} from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import { z } from 'zod';
import { isCut, quoted, shownCell, shownColumn, type TableShape, tableShapes } from './columns.ts';

/** The largest row count. */
const COUNT_MAX = 100_000;
/** The number of shown columns of a table: an engine returns a hundred at most, those of the key included. */
const COLUMNS_MAX = 80;
/** The longest pattern on every engine. */
const LIKE_LENGTH_MAX = 50;

/** The position of a row: for each column of the key its type and its value, bytes in hexadecimal. */
const place = z.array(z.tuple([z.enum(['integer', 'real', 'text', 'blob']), z.string()])).max(64);
type Place = z.infer<typeof place>;

interface Bound {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

/** Returns every table with its columns, and with its row count where that is quick. */
export function listTables(db: SqlDatabase): TableInfo[] {
  return tableShapes(db).map(({ name, kind, type, columns }) => ({
    name,
    kind,
    type,
    columns: [...columns],
    rows: type === 'view' ? null : countRows(db, name),
  }));
}

function countRows(db: SqlDatabase, table: string): number | null {
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${quoted(table)} LIMIT ${COUNT_MAX + 1})`;
  const count = db.get<{ n: number }>(sql)?.n ?? 0;
  return count > COUNT_MAX ? null : count;
}

/**
 * Returns rows of one table in the order of its key, after the page before.
 * @throws PlatformError `not_found`, reason `unknown_table`; `validation_failed`, reason `unknown_column`,
 * `filter_value` or `cursor_malformed`.
 */
export function readTable(db: SqlDatabase, query: Omit<TableQuery, 'tenantId' | 'scopeId'>): TablePage {
  const shape = tableShapes(db).find(({ name }) => name === query.table);
  if (!shape)
    throw new PlatformError('not_found', 'There is no such table in this scope.', {
      reason: 'unknown_table',
    });
  const columns = shape.columns.slice(0, COLUMNS_MAX);
  const { limit, order } = query;
  const keys = keyColumns(shape);
  const conditions = query.filters.map((filter) => conditionOf(shape.columns, filter));
  if (query.cursor !== undefined && keys.length > 0)
    conditions.push(after(keys, order, parsePlace(shape, query.cursor, keys)));
  const offset = keys.length === 0 && query.cursor !== undefined ? parseOffset(shape, query.cursor) : 0;

  const selected = [...keys.flatMap(placed), ...columns.map(({ name }) => shownColumn(name))];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
  const by = keys.length === 0 ? '' : `ORDER BY ${keys.map((key) => `${key} ${order}`).join(', ')}`;
  // Our own names: those of the columns are arbitrary.
  const names = selected.map((_, i) => `c${i}`);
  const rows = db.all<Record<string, SqlValue>>(
    `WITH shown (${names.join(', ')}) AS (
       SELECT ${selected.join(', ')} FROM ${quoted(shape.name)} ${where} ${by} LIMIT ? OFFSET ?
     ) SELECT * FROM shown`,
    ...conditions.flatMap(({ params }) => params),
    limit + 1,
    offset,
  );
  const shown = rows.slice(0, limit).map((row) => {
    const at = (i: number): SqlValue => row[`c${i}`] as SqlValue;
    return {
      cells: columns.map((_, i) => shownCell(at(keys.length * 2 + i))),
      place: keys.map((_, i): Place[number] => [at(i * 2) as Place[number][0], String(at(i * 2 + 1))]),
    };
  });
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return {
    table: shape.name,
    columns: [...columns],
    rows: shown.map(({ cells }) => cells),
    nextCursor:
      last === undefined
        ? null
        : encodeCursor(JSON.stringify([shape.name, keys.length === 0 ? offset + limit : last.place])),
    truncated: columns.length < shape.columns.length || shown.some(({ cells }) => cells.some(isCut)),
  };
}

/** Returns the expressions that a table is ordered by. */
function keyColumns({ key }: TableShape): string[] {
  if (key === null) return [];
  return 'rowid' in key ? [key.rowid] : key.columns.map(quoted);
}

/** Returns a column of the key as its type and a text for {@link bind}. */
function placed(key: string): string[] {
  return [
    `typeof(${key})`,
    `CASE typeof(${key}) WHEN 'blob' THEN hex(${key}) WHEN 'real' THEN printf('%!.17g', ${key}) ELSE CAST(${key} AS TEXT) END`,
  ];
}

function bind([type, text]: Place[number]): Bound {
  switch (type) {
    case 'integer':
      return { sql: 'CAST(? AS INTEGER)', params: [text] };
    case 'real':
      return { sql: 'CAST(? AS REAL)', params: [text] };
    case 'blob':
      return { sql: 'unhex(?)', params: [text] };
    default:
      return { sql: '?', params: [text] };
  }
}

function after(keys: readonly string[], order: 'asc' | 'desc', at: Place): Bound {
  const bounds = at.map(bind);
  return {
    sql: `(${keys.join(', ')}) ${order === 'asc' ? '>' : '<'} (${bounds.map(({ sql }) => sql).join(', ')})`,
    params: bounds.flatMap(({ params }) => params),
  };
}

function conditionOf(columns: readonly ColumnInfo[], { column, op, value }: TableFilter): Bound {
  if (!columns.some(({ name }) => name === column))
    throw refused('unknown_column', `This table has no column ${JSON.stringify(column)}.`);
  const takesNone = op === 'is null' || op === 'is not null';
  if (takesNone !== (value === undefined))
    throw refused('filter_value', takesNone ? `"${op}" takes no value.` : `"${op}" takes a value.`);
  if (op === 'like' && String(value).length > LIKE_LENGTH_MAX)
    throw refused('filter_value', `A pattern has at most ${LIKE_LENGTH_MAX} characters.`);
  return value === undefined
    ? { sql: `${quoted(column)} ${op.toUpperCase()}`, params: [] }
    : { sql: `${quoted(column)} ${op} ?`, params: [value] };
}

function parsePlace(shape: TableShape, cursor: string, keys: readonly string[]): Place {
  const parsed = place.safeParse(positionIn(shape, cursor));
  if (parsed.success && parsed.data.length === keys.length) return parsed.data;
  throw malformedCursor();
}

function parseOffset(shape: TableShape, cursor: string): number {
  const parsed = z.int().min(0).safeParse(positionIn(shape, cursor));
  if (parsed.success) return parsed.data;
  throw malformedCursor();
}

/** The position in a cursor of this table. A place in another table can look alike. */
function positionIn({ name }: TableShape, cursor: string): unknown {
  const parsed = z.tuple([z.literal(name), z.unknown()]).safeParse(parseJson(decodeCursor(cursor)));
  return parsed.success ? parsed.data[1] : undefined;
}

function malformedCursor(): PlatformError {
  return refused('cursor_malformed', 'The cursor is not one of this table.');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refused(reason: string, detail: string): PlatformError {
  return new PlatformError('validation_failed', detail, { reason });
}
