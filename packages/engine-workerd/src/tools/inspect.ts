/**
 * Runs one read-only statement. SQLite in a Durable Object has no authorizer of ours and cannot be interrupted. So a
 * statement is judged by its text, its plan and its cost, before any of it runs; and it runs in a transaction that is
 * always rolled back.
 */
import { PlatformError } from '@freehold/contracts';
import {
  assertBindable,
  checkStatement,
  type InspectRequest,
  type InspectResult,
  type SqlValue,
  StatementRefused,
} from '@freehold/store';
import { rolledBack } from '../lib/rolled-back.ts';
import { requireAffordable } from './plan-cost.ts';

/** workerd's SQLite silently cuts such a width to 100,000, where others fail. */
const WIDE_FORMAT = /%[-+ 0#!,]*(?:\d{6,}|\d*\.\d{6,})/;
const READ_ONLY = { protectedPrefix: '_spine_', readOnly: true };

/**
 * Runs one read-only statement.
 * @param now the clock that measures it. On Cloudflare it stands still while a statement runs.
 * @throws PlatformError `validation_failed`, reason `statement_refused`, `statement_invalid` or `time_limit`.
 */
export function inspect(
  storage: DurableObjectStorage,
  request: InspectRequest,
  now: () => number,
): InspectResult {
  requireReading(request);
  const startedMs = now();
  const answered = rolledBack(storage, () => answer(storage.sql, request, startedMs + request.timeMs, now));
  return { ...answered, durationMs: now() - startedMs };
}

function requireReading({ sql, params }: InspectRequest): void {
  try {
    assertBindable(checkStatement(sql, READ_ONLY), params);
  } catch (error) {
    if (error instanceof StatementRefused) throw refused('statement_refused', error);
    if (error instanceof TypeError) throw refused('statement_invalid', error);
    throw error;
  }
  if (WIDE_FORMAT.test(sql)) throw refused('statement_invalid', new Error('a format is too wide'));
}

function answer(
  sql: SqlStorage,
  request: InspectRequest,
  endMs: number,
  now: () => number,
): Omit<InspectResult, 'durationMs'> {
  const invalid = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw error instanceof PlatformError ? error : refused('statement_invalid', error);
    }
  };
  const isExplaining = /^\s*EXPLAIN\b/i.test(request.sql);
  if (!isExplaining) invalid(() => requireAffordable(sql, request));
  const statement = isExplaining ? request.sql : bounded(request.sql, request.rowsMax + 1);
  const { columns, rows, truncated } = invalid(() => read(sql, statement, request, endMs, now));
  const needsExact = !isExplaining && rows.some((row) => row.some(isRounded));
  const exact = needsExact ? invalid(() => readExact(sql, request, columns.length)) : rows;
  return { columns, rows: exact.slice(0, rows.length), truncated };
}

/** The last token of a statement may be a comment, which must not swallow the text after it. */
function bounded(sql: string, rows: number): string {
  return `SELECT * FROM (${sql.replace(/[\s;]+$/, '')}\n) LIMIT ${rows}`;
}

type Row = (SqlValue | bigint)[];

function read(
  sql: SqlStorage,
  statement: string,
  { params, rowsMax, bytesMax }: InspectRequest,
  endMs: number,
  now: () => number,
): { columns: string[]; rows: Row[]; truncated: InspectResult['truncated'] } {
  const cursor = sql.exec(statement, ...params);
  const columns = plainNames(cursor.columnNames);
  const rows: Row[] = [];
  let truncated: InspectResult['truncated'] = null;
  let bytes = 0;
  let isLate = false;
  // The cursor is read to its end, which exists: an open one keeps tables locked.
  for (const raw of cursor.raw()) {
    isLate ||= now() > endMs;
    if (truncated !== null || isLate) continue;
    const row = raw.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value));
    bytes += row.reduce((sum: number, value) => sum + sizeOf(value), 0);
    if (bytes > bytesMax) truncated = 'bytes';
    else if (rows.length === rowsMax) truncated = 'rows';
    else rows.push(row);
  }
  if (isLate) throw refused('time_limit', new Error('the query took too long'));
  return { columns, rows, truncated };
}

/** A subquery numbers the second of two columns with one name: `a`, `a:1`. */
function plainNames(names: readonly string[]): string[] {
  return names.map((name, i) => {
    const base = /^(.*):\d+$/s.exec(name)?.[1];
    return base !== undefined && names.slice(0, i).includes(base) ? base : name;
  });
}

/** Whether workerd may have rounded it: integers and reals come as the same kind of number. */
function isRounded(value: SqlValue | bigint): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Reads the same rows once more, with integers as text. */
function readExact(sql: SqlStorage, { sql: text, params, rowsMax }: InspectRequest, width: number): Row[] {
  const names = Array.from({ length: width }, (_, i) => `c${i}`);
  const shown = names.map(
    (c) => `CASE typeof(${c}) WHEN 'integer' THEN 'i' || ${c} WHEN 'text' THEN 't' || ${c} ELSE ${c} END`,
  );
  const statement = `WITH shown (${names.join(', ')}) AS (${bounded(text, rowsMax)}) SELECT ${shown.join(', ')} FROM shown`;
  return [...sql.exec(statement, ...params).raw()].map((row) => row.map(exactValue));
}

function exactValue(value: SqlStorageValue): SqlValue | bigint {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (typeof value !== 'string') return value;
  if (value.startsWith('t')) return value.slice(1);
  const integer = Number(value.slice(1));
  return Number.isSafeInteger(integer) ? integer : BigInt(value.slice(1));
}

function sizeOf(value: SqlValue): number {
  if (typeof value === 'string') return value.length;
  return value instanceof Uint8Array ? value.length : 8;
}

const REFUSALS = {
  statement_refused: 'This statement is not allowed here',
  statement_invalid: 'This statement cannot be run',
  time_limit: 'This statement was not done in time',
} as const;

/** SQLite's message is about the caller's own statement. */
function refused(reason: keyof typeof REFUSALS, cause: unknown): PlatformError {
  const why = cause instanceof Error ? cause.message.replace(/: SQLITE_\w+$/, '') : '';
  return new PlatformError('validation_failed', `${REFUSALS[reason]}: ${why}.`, { reason, cause });
}
