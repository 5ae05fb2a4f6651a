/**
 * Makes a database out of a text copy, without trusting the copy's own description. Its rows are first taken in beside the
 * database, where nothing waits for them; then SQLite alone moves them, in a transaction.
 */
import { createHash, type Hash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { PAUSE_BYTES, pause } from '../lib/pauses.ts';
import { linesOf } from './lines.ts';
import {
  type BoundValue,
  decodeValue,
  type NdjsonHeader,
  type NdjsonTrailer,
  parseHeader,
  parseLine,
} from './ndjson.ts';
import { copyDamaged, copyForeign } from './refusals.ts';
import { make, putUpTables } from './schema.ts';
import { COUNTER_TABLE, quoted, rowsTable } from './tables.ts';

export interface Loaded {
  readonly tables: number;
  readonly rows: number;
}

/** A copy whose rows were taken in. */
export interface TakenCopy {
  readonly schema: readonly string[];
  readonly tables: readonly {
    readonly name: string;
    readonly columns: readonly string[];
    readonly rows: number;
    /** The size of its rows as text. */
    readonly bytes: number;
  }[];
}

interface Taking {
  readonly about: NdjsonHeader['tables'][number];
  readonly insert: (values: readonly BoundValue[]) => void;
  readonly hash: Hash;
  rows: number;
  bytes: number;
}

/**
 * The longest time that a copy is loaded, in milliseconds. The runtime ends an object whose transaction takes more than 30
 * seconds, and what follows the load has to fit too.
 */
const LOAD_MAX_MS = 22_000;
/** SQLite moves so much text as rows between two pauses. */
const MOVED_BYTES = 4 * PAUSE_BYTES;

/**
 * Verifies that a copy is whole and of a kind, and takes its rows in, with pauses. What is left of a refused one goes when its
 * transfer is dropped.
 * @throws PlatformError `validation_failed`, reason `copy_damaged` or `copy_foreign`.
 */
export async function takeIn(
  sql: SqlStorage,
  parts: Iterable<Uint8Array>,
  { id, kind }: { readonly id: string; readonly kind: string },
): Promise<TakenCopy> {
  const whole = createHash('sha256');
  let header: NdjsonHeader | undefined;
  let tables: Taking[] = [];
  let isEnded = false;
  let sincePause = 0;
  for (const line of linesOf(parts)) {
    if (isEnded) throw copyDamaged('something follows its end');
    if (!header) {
      header = parseHeader(line);
      if (header.kind !== kind)
        throw copyForeign(`it is one of another kind, ${JSON.stringify(header.kind)}`);
      tables = header.tables.map((about, index) => startTaking(sql, about, rowsTable(id, index)));
    } else {
      const content = parseLine(line) as Partial<NdjsonTrailer> | null;
      if (content?.end === true) {
        if (content.sha256 !== whole.digest('hex')) throw copyDamaged('its digest is another');
        isEnded = true;
        continue;
      }
      takeRow(tables, line, content);
    }
    whole.update(line);
    sincePause += line.length;
    if (sincePause < PAUSE_BYTES) continue;
    sincePause = 0;
    await pause();
  }
  if (!header || !isEnded) throw copyDamaged('its end is missing');
  for (const { about, hash, rows } of tables)
    if (rows !== about.rows || hash.digest('hex') !== about.sha256)
      throw copyDamaged(`the rows of ${JSON.stringify(about.name)} are not those that were counted`);
  return {
    schema: header.schema,
    tables: tables.map(({ about: { name, columns }, rows, bytes }) => ({ name, columns, rows, bytes })),
  };
}

function startTaking(sql: SqlStorage, about: Taking['about'], table: string): Taking {
  const columns = about.columns.map((_, index) => `c${index}`);
  try {
    // Columns without a type keep every value as it is.
    sql.exec(`CREATE TABLE ${quoted(table)} (${columns.join(', ')})`);
  } catch (cause) {
    throw copyDamaged('its first line does not describe it', cause);
  }
  const into = `INSERT INTO ${quoted(table)} VALUES `;
  return {
    about,
    // An INTEGER needs a cast: workerd binds every number as a REAL, and no integer beyond the safe ones.
    insert: (values) => {
      const places = values.map(({ isInteger }) => (isInteger ? 'CAST(? AS INTEGER)' : '?'));
      sql.exec(`${into}(${places.join(', ')})`, ...values.map(({ value }) => value));
    },
    hash: createHash('sha256'),
    rows: 0,
    bytes: 0,
  };
}

function takeRow(tables: readonly Taking[], line: Uint8Array, content: unknown): void {
  const { t, r } = (content ?? {}) as { readonly t?: unknown; readonly r?: unknown };
  const table = typeof t === 'number' ? tables[t] : undefined;
  if (!table || !Array.isArray(r) || r.length !== table.about.columns.length)
    throw copyDamaged('a line of it is no row of a table');
  table.rows += 1;
  table.bytes += line.length;
  table.hash.update(line);
  table.insert(r.map(decodeValue));
}

/**
 * Loads the rows that were taken in into an empty database, with pauses. Call it in a transaction, so that nothing stays of
 * a refused copy.
 * @throws PlatformError `validation_failed`, reason `copy_damaged`; `unavailable`, reason `copy_too_slow`.
 */
export async function load(sql: SqlStorage, id: string, { schema, tables }: TakenCopy): Promise<Loaded> {
  const startedAtMs = Date.now();
  const rest = putUpTables(sql, schema);
  for (const [index, { name, columns, rows, bytes }] of tables.entries()) {
    // The insertion of earlier rows has set counters already, in an order that is not the copy's.
    if (name === COUNTER_TABLE) sql.exec(`DELETE FROM ${COUNTER_TABLE}`);
    const move = `INSERT INTO ${quoted(name)} (${columns.map(quoted).join(', ')})
      SELECT ${columns.map((_, column) => `c${column}`).join(', ')} FROM ${quoted(rowsTable(id, index))}
      WHERE rowid > ? AND rowid <= ? ORDER BY rowid`;
    const some = Math.max(1, Math.floor((rows * MOVED_BYTES) / Math.max(1, bytes)));
    for (let from = 0; from < rows; from += some) {
      try {
        sql.exec(move, from, from + some);
      } catch (cause) {
        throw copyDamaged('a row of it does not fit its table', cause);
      }
      await pause();
      if (Date.now() - startedAtMs > LOAD_MAX_MS) throw tooSlow();
    }
  }
  make(sql, rest);
  const own = tables.filter(({ name }) => name !== COUNTER_TABLE);
  return { tables: own.length, rows: own.reduce((sum, { rows }) => sum + rows, 0) };
}

function tooSlow(): PlatformError {
  return new PlatformError(
    'unavailable',
    `This copy could not be loaded in the ${LOAD_MAX_MS / 1_000} seconds that the runtime allows. Nothing was changed. Try again when the machine has less to do.`,
    { reason: 'copy_too_slow', headers: { 'retry-after': '60' } },
  );
}
