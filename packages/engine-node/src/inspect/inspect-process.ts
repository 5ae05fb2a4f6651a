/**
 * The process in which read-only statements of callers run. It opens the database for reading, and is killed at its
 * time limit. It trusts neither the statement nor the file.
 */
import { constants, DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { isRefused } from '../lib/guard.ts';
import { answerRequests } from '../processes/answer-requests.ts';
import type { InspectAnswer, InspectTask } from './inspect-unit.ts';

/** The largest value that a statement may make or read: its memory is a small multiple. */
const VALUE_BYTES_MAX = 64 * 1024 * 1024;
const STATEMENT_BYTES_MAX = 1024 * 1024;

const READ_ONLY = { protectedPrefix: '_spine_', readOnly: true };
/** SQLite, "Result and Error Codes". */
const AUTH = 23;

answerRequests({ inspect });

function inspect(task: InspectTask): InspectAnswer {
  const startedMs = performance.now();
  const database = new DatabaseSync(task.database, {
    readOnly: true,
    timeout: 1_000,
    limits: { length: VALUE_BYTES_MAX, sqlLength: STATEMENT_BYTES_MAX, attach: 0 },
  });
  try {
    // Sorting spills into files, which have a limit, rather than into memory.
    database.exec('PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = FILE');
    database.enableDefensive(true);
    database.setAuthorizer((action, first, second) =>
      isRefused(READ_ONLY, action, first, second) ? constants.SQLITE_DENY : constants.SQLITE_OK,
    );
    return { ...read(database.prepare(task.sql), task), durationMs: performance.now() - startedMs };
  } catch (error) {
    return problemOf(error);
  } finally {
    database.close();
  }
}

function read(
  statement: StatementSync,
  { params, rowsMax, bytesMax }: InspectTask,
): Omit<Extract<InspectAnswer, { columns: unknown }>, 'durationMs'> {
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  const columns = statement.columns().map(({ name }) => name);
  const rows: (SQLOutputValue | bigint)[][] = [];
  let bytes = 0;
  for (const row of statement.iterate(...params) as Iterable<unknown> as Iterable<SQLOutputValue[]>) {
    if (rows.length === rowsMax) return { columns, rows, truncated: 'rows' };
    for (const value of row) bytes += bytesOf(value);
    if (bytes > bytesMax) return { columns, rows, truncated: 'bytes' };
    rows.push(row.map(safe));
  }
  return { columns, rows, truncated: null };
}

function safe(value: SQLOutputValue): SQLOutputValue {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function bytesOf(value: SQLOutputValue): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return value instanceof Uint8Array ? value.byteLength : 8;
}

function problemOf(error: unknown): InspectAnswer {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  if (typeof code !== 'number') throw error;
  // SQLite's message names only what the statement names.
  const message = error instanceof Error ? error.message : 'it failed';
  return { problem: (code & 0xff) === AUTH ? 'refused' : 'invalid', message };
}
