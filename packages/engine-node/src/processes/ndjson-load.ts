/**
 * Makes a database from a text copy, without trusting it: a connection that can do nothing but create executes its
 * schema, and all rows are compared with their digests. Runs in the copy process.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, type DatabaseSync, type StatementSync } from 'node:sqlite';
import { copyDamaged, copyForeign } from '../lib/fault.ts';
import { decodeValue, type NdjsonHeader, type NdjsonTrailer, quoted } from './ndjson.ts';
import { openCopy } from './settled-database.ts';

export interface LoadRequest {
  readonly from: string;
  readonly to: string;
  /** The kind that the copy must have. */
  readonly kind: string;
}

/** Largest size of a row as text. */
const LINE_BYTES_MAX = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

/** SQLite's actions while it creates something. */
const CREATING = new Set<number>([
  constants.SQLITE_CREATE_TABLE,
  constants.SQLITE_CREATE_INDEX,
  constants.SQLITE_CREATE_VIEW,
  constants.SQLITE_CREATE_TRIGGER,
  constants.SQLITE_CREATE_VTABLE,
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
  constants.SQLITE_READ,
  constants.SQLITE_SELECT,
  constants.SQLITE_RECURSIVE,
  constants.SQLITE_FUNCTION,
  constants.SQLITE_REINDEX,
]);

/** @throws Fault `copy_damaged` or `copy_foreign`. */
export async function load({ from, to, kind }: LoadRequest): Promise<null> {
  const database = openCopy(to);
  // The tables behind a virtual one are part of the copy. The result is examined as a whole afterwards.
  database.enableDefensive(false);
  try {
    database.exec('PRAGMA journal_mode = OFF; BEGIN');
    await loadLines(database, from, kind);
    database.exec('COMMIT');
    return null;
  } finally {
    database.close();
  }
}

async function loadLines(database: DatabaseSync, from: string, kind: string): Promise<void> {
  const whole = createHash('sha256');
  let loading: Loading | undefined;
  let isEnded = false;
  for await (const line of linesIn(from)) {
    if (isEnded) throw copyDamaged('something follows its end');
    if (!loading) {
      const header = parseHeader(line);
      if (header.kind !== kind)
        throw copyForeign(`it is one of another kind, ${JSON.stringify(header.kind)}`);
      loading = startLoading(database, header);
    } else if (line.subarray(0, 7).toString() === '{"end":') {
      const { sha256 } = parseJson(line) as NdjsonTrailer;
      if (sha256 !== whole.digest('hex')) throw copyDamaged('its digest is another');
      isEnded = true;
      continue;
    } else loading.row(line);
    whole.update(line);
  }
  if (!loading || !isEnded) throw copyDamaged('its end is missing');
  loading.finish();
}

interface Loading {
  row(line: Buffer): void;
  finish(): void;
}

function startLoading(database: DatabaseSync, { schema, tables }: NdjsonHeader): Loading {
  // Rows first, then indexes and triggers: no trigger fires, and indexes are built once.
  const isFirst = (sql: string): boolean => /^CREATE\s+(VIRTUAL\s+)?TABLE\b/i.test(sql);
  create(database, schema.filter(isFirst));
  const targets = tables.map(({ name, columns }) => {
    const places = columns.map(() => '?').join(', ');
    const sql = `INSERT INTO ${quoted(name)} (${columns.map(quoted).join(', ')}) VALUES (${places})`;
    const clear = prepare(database, `DELETE FROM ${quoted(name)}`);
    return { clear, insert: prepare(database, sql), hash: createHash('sha256'), rows: 0 };
  });
  return {
    row: (line) => {
      const { t, r } = parseJson(line) as { t?: unknown; r?: unknown };
      const target = typeof t === 'number' ? targets[t] : undefined;
      const columns = tables[t as number]?.columns;
      if (!target || !Array.isArray(r) || r.length !== columns?.length)
        throw copyDamaged('a line is no row of a table');
      // Counters of AUTOINCREMENT and tables of a virtual one have rows before the copy's rows arrive.
      if (target.rows === 0) target.clear.get();
      target.rows += 1;
      target.hash.update(line);
      insertRow(target.insert, r);
    },
    finish: () => {
      for (const [index, { name, rows, sha256 }] of tables.entries()) {
        const loaded = targets[index] as { readonly hash: Hash; readonly rows: number };
        if (loaded.rows !== rows || loaded.hash.digest('hex') !== sha256)
          throw copyDamaged(`the rows of ${JSON.stringify(name)} are not those that were counted`);
      }
      create(
        database,
        schema.filter((sql) => !isFirst(sql)),
      );
    },
  };
}

function insertRow(insert: StatementSync, row: readonly unknown[]): void {
  try {
    // Not `run`, which throws after it has inserted a row whose rowid is no safe integer.
    insert.get(...row.map(decodeValue));
  } catch (cause) {
    throw copyDamaged('a row does not fit its table', cause);
  }
}

/** Executes the statements of a schema, and nothing else. */
function create(database: DatabaseSync, statements: readonly string[]): void {
  database.setAuthorizer((action) => (CREATING.has(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
  try {
    for (const sql of statements) {
      if (!/^CREATE\s/i.test(sql)) throw copyDamaged('its schema is none');
      database.prepare(sql).get();
    }
  } catch (cause) {
    throw copyDamaged('its schema is none that can be made', cause);
  } finally {
    database.setAuthorizer(null);
  }
}

function prepare(database: DatabaseSync, sql: string): StatementSync {
  try {
    return database.prepare(sql);
  } catch (cause) {
    throw copyDamaged('its tables are not those of its schema', cause);
  }
}

function parseHeader(line: Buffer): NdjsonHeader {
  const header = parseJson(line) as Partial<NdjsonHeader> | null;
  const isText = (value: unknown): value is string => typeof value === 'string';
  const fits =
    header?.freehold === 1 &&
    isText(header.kind) &&
    Array.isArray(header.schema) &&
    header.schema.every(isText) &&
    Array.isArray(header.tables) &&
    header.tables.every(
      (table) => isText(table?.name) && Array.isArray(table.columns) && table.columns.every(isText),
    );
  if (!fits) throw copyDamaged('its first line does not describe it');
  return header as NdjsonHeader;
}

function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw copyDamaged('a line is no JSON', cause);
  }
}

/** Yields the lines of a file, each with its line end. */
async function* linesIn(path: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      pieces.push(chunk.subarray(from, end + 1));
      yield pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
      pieces = [];
      bytes = 0;
      from = end + 1;
    }
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > LINE_BYTES_MAX) throw copyDamaged('a line of it is too long');
  }
  if (bytes > 0) throw copyDamaged('its end is missing');
}
