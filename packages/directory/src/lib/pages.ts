/** Keyset pages in SQL: the given filters, then the key, so that one index serves both. */
import { cutPage, decodeCursor, foreignCursor, type Page } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';

/** One statement with its parameters. */
export interface Statement {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface PageShape {
  /** `SELECT … FROM …`, without a WHERE. */
  readonly select: string;
  /** Column → the value that it must equal. An undefined value is no filter. */
  readonly where: Readonly<Record<string, SqlValue | undefined>>;
  /** Further conditions. */
  readonly and?: readonly Statement[];
  /** The unique column that orders the list. */
  readonly key: string;
  /** Whether the key is a number. Default: text. */
  readonly numeric?: boolean;
  readonly order: 'ASC' | 'DESC';
}

/** The statement of one page. It asks for one row more than the limit, for `cutPage`. */
export function pageStatement(shape: PageShape, page: PageRequest): Statement {
  const conditions: string[] = [];
  const params: SqlValue[] = [];
  for (const [column, value] of Object.entries(shape.where)) {
    if (value === undefined) continue;
    conditions.push(`${column} = ?`);
    params.push(value);
  }
  for (const { sql, params: bound } of shape.and ?? []) {
    conditions.push(sql);
    params.push(...bound);
  }
  if (page.cursor !== undefined) {
    conditions.push(`${shape.key} ${shape.order === 'ASC' ? '>' : '<'} ?`);
    params.push(shape.numeric ? numericCursor(page.cursor) : decodeCursor(page.cursor));
  }
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  return {
    // SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`.
    sql: `${shape.select}${where} ORDER BY ${shape.key} ${shape.order} LIMIT ? + 0`,
    params: [...params, page.limit + 1],
  };
}

/** The rows of a list: a table, or {@link rowsOf} a hand-written SELECT. */
export interface RowSource<Row> {
  /** `SELECT … FROM …`, without a WHERE. */
  readonly select: string;
  all(db: SqlDatabase, sql: string, ...params: readonly SqlValue[]): Row[];
}

/** The rows of a hand-written SELECT, as the engine returns them. */
export function rowsOf<Row>(select: string): RowSource<Row> {
  return { select, all: (db, sql, ...params) => db.all<Row>(sql, ...params) };
}

interface PagesShape<Filter extends PageRequest, Row, Extra extends readonly unknown[], Item>
  extends Pick<PageShape, 'key' | 'numeric'> {
  readonly from: RowSource<Row>;
  readonly where?: (filter: Filter) => PageShape['where'];
  readonly and?: (filter: Filter) => readonly Statement[];
  /** Default: ascending. */
  readonly order?: PageShape['order'];
  readonly item: (row: Row, ...extra: Extra) => Item;
}

export interface Pages<Filter extends PageRequest, Extra extends readonly unknown[], Item> {
  statement(filter: Filter): Statement;
  /** One page; `extra` goes to the function that makes an item of a row. */
  list(db: SqlDatabase, filter: Filter, ...extra: Extra): Page<Item>;
}

/** Defines a list in keyset pages: its statement, and its pages of items. */
export function definePages<Filter extends PageRequest, Row, Extra extends readonly unknown[], Item>(
  shape: PagesShape<Filter, Row, Extra, Item>,
): Pages<Filter, Extra, Item> {
  const { from, where, and, order = 'ASC', item, ...keyed } = shape;
  const property = keyed.key.replace(/^.*\./, '') as keyof Row;
  const statement = (filter: Filter): Statement =>
    pageStatement(
      { select: from.select, where: where?.(filter) ?? {}, and: and?.(filter) ?? [], order, ...keyed },
      filter,
    );
  return {
    statement,
    list: (db, filter, ...extra) => {
      const { sql, params } = statement(filter);
      const keyOf = (row: Row): string => String(row[property]);
      return cutPage(from.all(db, sql, ...params), filter.limit, keyOf, (row) => item(row, ...extra));
    },
  };
}

/** A condition: the column begins with the text. A range, because LIKE would not use the index. */
export function beginsWith(column: string, prefix: string): Statement {
  return {
    sql: `${column} >= ? AND ${column} < ?`,
    // The greatest code point: no text with the prefix sorts behind it.
    params: [prefix, `${prefix}\u{10ffff}`],
  };
}

function numericCursor(cursor: string): number {
  const key = Number(decodeCursor(cursor));
  if (Number.isSafeInteger(key) && key >= 0) return key;
  throw foreignCursor();
}
