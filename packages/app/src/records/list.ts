/**
 * The query of a list of records. Each form of it is read from one index: what no index serves is refused when it is
 * declared or asked for, so that a list of a million records answers as fast as one of a thousand.
 */
import { decodeCursor, foreignCursor } from '@freehold/contracts';
import type { SqlDatabase, SqlValue } from '@freehold/store';
import type { Field } from './fields.ts';
import { ARCHIVED, IMPORTED, LIVE } from './partitions.ts';
import { hitsOf, type Reach, type Search } from './search.ts';
import type { RecordTable } from './tables.ts';
import { searchedWords } from './words.ts';

export interface ListQuery {
  readonly archived: boolean;
  /** Whether imported records that have not moved yet are among them. Default false. */
  readonly isImportShown?: boolean;
  /** Field → value. */
  readonly filters: ReadonlyMap<Field, SqlValue>;
  /** The records that the caller may read. */
  readonly reach: Reach;
  readonly q: string | undefined;
  /** Relation → the records by whose names the search may find. Default: none. */
  readonly related?: Search['related'];
  /** Null: by creation. */
  readonly sort: { readonly field: Field | null; readonly isDescending: boolean; readonly name: string };
  readonly limit: number;
  readonly cursor: string | undefined;
}

export type StoredRow = Readonly<Record<string, SqlValue>> & { readonly id: string };

export interface Listed {
  /** One more than the limit where there are more. */
  readonly rows: StoredRow[];
  /** Whether a search had more hits than are looked at. */
  readonly cut: boolean;
}

export function listRows(
  sql: Pick<SqlDatabase, 'get' | 'all'>,
  table: RecordTable,
  query: ListQuery,
): Listed {
  const { q, related = new Map(), isImportShown = false } = query;
  const hits =
    q === undefined ? null : hitsOf(sql, table, { ...query, related, isImportShown }, searchedWords(q));
  const ids = hits?.ids ?? (query.reach === 'all' ? null : query.reach);
  const { text, params } = listStatement(table, query, ids);
  return { rows: sql.all<StoredRow>(text, ...params), cut: hits?.cut ?? false };
}

/** Returns the statement of a list: of all records, or of those with some ids. */
export function listStatement(
  table: RecordTable,
  query: ListQuery,
  ids: readonly string[] | null,
): { readonly text: string; readonly params: SqlValue[] } {
  const { archived, isImportShown = false, sort, limit } = query;
  if (archived || !isImportShown) return partStatement(table, query, archived ? ARCHIVED : LIVE, ids);
  // Each part is read from the index, in its order; of both together, the first ones are chosen.
  const parts = [LIVE, IMPORTED].map((part) => partStatement(table, query, part, ids));
  const both = parts.map(({ text }) => `SELECT * FROM (${text})`).join(' UNION ALL ');
  return {
    text: `SELECT t.* FROM (${both}) t ORDER BY ${orderOf(sort)} LIMIT ?`,
    params: [...parts.flatMap(({ params }) => params), limit + 1],
  };
}

function keyColumns({ field }: ListQuery['sort']): readonly string[] {
  return field === null ? ['t.id'] : [`t.${field.column}`, 't.id'];
}

function orderOf(sort: ListQuery['sort'], collation = collationOf(sort)): string {
  const direction = sort.isDescending ? 'DESC' : 'ASC';
  return keyColumns(sort)
    .map((column) => `${column}${column === 't.id' ? '' : collation} ${direction}`)
    .join(', ');
}

/** The columns of a compound have lost theirs. */
function collationOf({ field }: ListQuery['sort']): string {
  return field?.type === 'TEXT' ? ' COLLATE NOCASE' : '';
}

/** The statement of one part of the table. */
function partStatement(
  { name: table }: RecordTable,
  { filters, sort, limit, cursor }: ListQuery,
  part: number,
  ids: readonly string[] | null,
): { readonly text: string; readonly params: SqlValue[] } {
  const where: string[] = ['t.archived = ?'];
  const params: SqlValue[] = [...(ids === null ? [] : [JSON.stringify(ids)]), part];
  for (const [{ column }, value] of filters) {
    where.push(`t.${column} = ?`);
    params.push(value);
  }
  const key = keyColumns(sort);
  if (cursor !== undefined) {
    where.push(`(${key.join(', ')}) ${sort.isDescending ? '<' : '>'} (${key.map(() => '?').join(', ')})`);
    params.push(...cursorKey(cursor, sort.name, key.length));
  }
  // CROSS JOIN keeps the order: the few ids lead to their records.
  const from = ids !== null ? `json_each(?) h CROSS JOIN ${table} t ON t.id = h.value` : `${table} t`;
  params.push(limit + 1);
  return {
    text: `SELECT t.* FROM ${from} WHERE ${where.join(' AND ')} ORDER BY ${orderOf(sort, '')} LIMIT ?`,
    params,
  };
}

/** Returns the sort key of a row, for the cursor. It names the order: in another one it would be another place. */
export function keyOf({ field, name }: ListQuery['sort'], row: StoredRow): string {
  return JSON.stringify(field === null ? [name, row.id] : [name, row[field.column], row.id]);
}

function cursorKey(cursor: string, sort: string, length: number): SqlValue[] {
  let parts: unknown;
  try {
    parts = JSON.parse(decodeCursor(cursor));
  } catch (error) {
    throw foreignCursor(error);
  }
  const isOurs =
    Array.isArray(parts) &&
    parts.length === length + 1 &&
    parts[0] === sort &&
    parts.every((part) => typeof part === 'string' || typeof part === 'number');
  if (!isOurs) throw foreignCursor();
  return (parts as SqlValue[]).slice(1);
}
