/** Writes the rows of a captured database as text. Runs in the copy process. */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, createReadStream, openSync } from 'node:fs';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { writeAll } from '../lib/durable-file.ts';
import {
  encodeValue,
  type NdjsonHeader,
  type NdjsonTable,
  type NdjsonTrailer,
  schemaOf,
  type TablePlan,
  tablesOf,
} from './ndjson.ts';
import { openCopy } from './settled-database.ts';

export interface DumpRequest {
  readonly database: string;
  readonly kind: string;
  readonly key: string;
  /** The file of the rows: the middle of the copy. */
  readonly rows: string;
}

/** Text before and after the rows. */
export interface Dumped {
  readonly header: string;
  readonly trailer: string;
}

/** Lines are written in pieces of this size. */
const PIECE_CHARACTERS = 1024 * 1024;

export async function dump({ database: path, kind, key, rows }: DumpRequest): Promise<Dumped> {
  const database = openCopy(path);
  try {
    const file = openSync(rows, 'wx', 0o600);
    const tables: NdjsonTable[] = [];
    try {
      for (const plan of tablesOf(database)) {
        if (plan.name === 'sqlite_sequence' && !database.prepare('SELECT 1 FROM sqlite_sequence').get())
          continue;
        tables.push(dumpTable(database, plan, tables.length, file));
      }
    } finally {
      closeSync(file);
    }
    const header: NdjsonHeader = { freehold: 1, kind, key, schema: schemaOf(database), tables };
    const headerLine = `${JSON.stringify(header)}\n`;
    const hash = createHash('sha256').update(headerLine);
    for await (const chunk of createReadStream(rows)) hash.update(chunk as Buffer);
    const trailer: NdjsonTrailer = { end: true, sha256: hash.digest('hex') };
    return { header: headerLine, trailer: `${JSON.stringify(trailer)}\n` };
  } finally {
    database.close();
  }
}

function dumpTable(database: DatabaseSync, plan: TablePlan, index: number, file: number): NdjsonTable {
  const statement = database.prepare(plan.select);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const hash = createHash('sha256');
  let rows = 0;
  let piece = '';
  for (const row of statement.iterate() as Iterable<unknown> as Iterable<SQLOutputValue[]>) {
    const values = row.map((value, column) => encodeValue(value, plan.isReal[column] ?? false));
    piece += `${JSON.stringify({ t: index, r: values })}\n`;
    rows += 1;
    if (piece.length >= PIECE_CHARACTERS) piece = writeOut(piece, hash, file);
  }
  writeOut(piece, hash, file);
  return { name: plan.name, columns: plan.columns, rows, sha256: hash.digest('hex') };
}

function writeOut(piece: string, hash: Hash, file: number): '' {
  const bytes = Buffer.from(piece);
  hash.update(bytes);
  writeAll(file, bytes);
  return '';
}
