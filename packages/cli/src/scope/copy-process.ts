/**
 * Reads one copy in a process of its own, because only a signal can stop a statement. Takes a `CopyRequest` as JSON at
 * standard input, and writes a `CopyAnswer` to standard output.
 */
import { constants, DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import type { Cell } from '@freehold/contracts';
import type { CopyAnswer, CopyRequest } from './copy.ts';

/** The limits of the platform's data window. */
const TEXT_CHARS_MAX = 4_096;
const BYTES_MAX = 256;

const READS: ReadonlySet<number> = new Set([
  constants.SQLITE_SELECT,
  constants.SQLITE_READ,
  constants.SQLITE_RECURSIVE,
]);

const { file, sql, rowsMax, params }: CopyRequest = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(answer()));

function answer(): CopyAnswer {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, allowExtension: false });
    database.enableDefensive(true);
    // A view in an untrusted file must not call functions that reach beyond its rows.
    database.exec('PRAGMA trusted_schema = OFF');
    // Allow-list: writing, pragmas and other files are refused.
    database.setAuthorizer((action, _first, second) =>
      READS.has(action) ||
      (action === constants.SQLITE_FUNCTION && second?.toLowerCase() !== 'load_extension')
        ? constants.SQLITE_OK
        : constants.SQLITE_DENY,
    );
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    const columns = statement.columns().map(({ name }) => name);
    const rows: Cell[][] = [];
    for (const row of statement.iterate(...params)) {
      if (rows.length === rowsMax) return { columns, rows, truncated: true };
      rows.push((row as unknown as unknown[]).map(toCell));
    }
    return { columns, rows, truncated: false };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  } finally {
    database?.close();
  }
}

function toCell(value: unknown): Cell {
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : { $integer: String(value) };
  }
  if (value instanceof Uint8Array)
    return { $bytes: Buffer.from(value.subarray(0, BYTES_MAX)).toString('base64url'), length: value.length };
  if (typeof value === 'string' && value.length > TEXT_CHARS_MAX)
    return { $text: value.slice(0, TEXT_CHARS_MAX), length: value.length };
  return value as Cell;
}
