/**
 * Writes a database as text into the parts of a copy. It pauses in between: the object takes no other call meanwhile, so
 * that the copy shows one moment.
 */
import { createHash, type Hash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import { PAUSE_BYTES, pause } from '../lib/pauses.ts';
import { type CopyStore, PART_BYTES_MAX, type StoredCopy } from './copy-store.ts';
import { encodeValue, type NdjsonHeader, type NdjsonTable, type NdjsonTrailer } from './ndjson.ts';
import { schemaOf, type TablePlan, tablesOf } from './tables.ts';

export interface DumpOptions {
  readonly kind: string;
  readonly key: string;
  readonly bytesMax: number;
}

/** Lines are encoded in pieces of this size. */
const PIECE_CHARACTERS = 256 * 1_024;
/** The number of rows that are read first of a table, and the most at a time. */
const ROWS_FIRST = 16;
const ROWS_MAX = 10_000;
/** Smaller than any. */
const FIRST_ROWID = '-1e300';
const PARTS_PER_PAUSE = PAUSE_BYTES / PART_BYTES_MAX;
/** Part 0 is the header, which is known only after the rows; the trailer is the last. */
const FIRST_ROW_PART = 1;

/**
 * Writes the parts and the record of a copy. What is left of one that fails counts as one in transfer.
 * @throws PlatformError `unsupported`, reason `copy_too_large`, and `engine_cannot` for a virtual table.
 */
export async function dump(
  sql: SqlStorage,
  store: CopyStore,
  copy: Pick<StoredCopy, 'id' | 'use' | 'name' | 'bookmark' | 'atMs'>,
  { kind, key, bytesMax }: DumpOptions,
): Promise<StoredCopy> {
  const body = makePartWriter(bytesMax, (part, bytes) => {
    store.writePart(copy.id, FIRST_ROW_PART + part, bytes);
    store.save({ ...copy, use: 'export', parts: FIRST_ROW_PART + part + 1, bytes: 0, digest: '' });
  });
  const tables: NdjsonTable[] = [];
  for (const plan of tablesOf(sql)) tables.push(await dumpTable(sql, plan, tables.length, body.write));
  const rowParts = body.end();

  const schema = schemaOf(sql).map((each) => each.sql);
  const header: NdjsonHeader = { freehold: 1, kind, key, schema, tables };
  const headerBytes = encoder.encode(`${JSON.stringify(header)}\n`);
  if (headerBytes.length > PART_BYTES_MAX) throw tooLarge(PART_BYTES_MAX);
  store.writePart(copy.id, 0, headerBytes);

  // Only now is the order of all bytes known.
  const [before, whole] = [createHash('sha256'), createHash('sha256')];
  for (let part = 0; part < FIRST_ROW_PART + rowParts; part++) {
    const bytes = store.readPart(copy.id, part);
    before.update(bytes);
    whole.update(bytes);
    if (part % PARTS_PER_PAUSE === 0) await pause();
  }
  const trailer: NdjsonTrailer = { end: true, sha256: before.digest('hex') };
  const trailerBytes = encoder.encode(`${JSON.stringify(trailer)}\n`);
  store.writePart(copy.id, FIRST_ROW_PART + rowParts, trailerBytes);
  const stored: StoredCopy = {
    ...copy,
    parts: FIRST_ROW_PART + rowParts + 1,
    bytes: headerBytes.length + body.bytes() + trailerBytes.length,
    digest: whole.update(trailerBytes).digest('hex'),
  };
  store.save(stored);
  return stored;
}

async function dumpTable(
  sql: SqlStorage,
  plan: TablePlan,
  index: number,
  write: (bytes: Uint8Array) => void,
): Promise<NdjsonTable> {
  const hash = createHash('sha256');
  let rows = 0;
  let after = FIRST_ROWID;
  // As many rows at a time as come to about the size between two pauses, judged by those before.
  for (let limit = ROWS_FIRST, isEnd = false; !isEnd; ) {
    let piece = '';
    let characters = 0;
    let count = 0;
    const cursor = sql.exec(plan.select, ...(plan.isPaged ? [after, limit] : [])).raw();
    try {
      for (const cells of cursor) {
        if (plan.isPaged) after = String(cells.shift());
        const values = cells.map((value, column) => encodeValue(value, plan.isReal[column] ?? false));
        piece += `${JSON.stringify({ t: index, r: values })}\n`;
        count += 1;
        if (piece.length < PIECE_CHARACTERS) continue;
        characters += piece.length;
        piece = writeOut(piece, hash, write);
      }
      characters += piece.length;
      writeOut(piece, hash, write);
    } finally {
      // A cursor that is not read to its end keeps its table locked.
      for (const _ of cursor);
    }
    rows += count;
    isEnd = !plan.isPaged || count < limit;
    limit = Math.max(1, Math.min(ROWS_MAX, Math.round((limit * PAUSE_BYTES) / Math.max(1, characters))));
    if (characters > PAUSE_BYTES / 8) await pause();
  }
  return { name: plan.name, columns: plan.columns, rows, sha256: hash.digest('hex') };
}

function writeOut(piece: string, hash: Hash, write: (bytes: Uint8Array) => void): '' {
  const bytes = encoder.encode(piece);
  hash.update(bytes);
  write(bytes);
  return '';
}

/** Cuts the text into parts, and throws at a bound. */
function makePartWriter(bytesMax: number, save: (part: number, bytes: Uint8Array) => void) {
  let parts = 0;
  let bytes = 0;
  return {
    write: (piece: Uint8Array): void => {
      bytes += piece.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      for (let at = 0; at < piece.length; at += PART_BYTES_MAX) {
        save(parts, piece.slice(at, at + PART_BYTES_MAX));
        parts += 1;
      }
    },
    bytes: () => bytes,
    /** Returns the number of parts. */
    end: () => parts,
  };
}

function tooLarge(bytesMax: number): PlatformError {
  const mebibytes = Math.floor(bytesMax / 1_024 / 1_024);
  return new PlatformError(
    'unsupported',
    `A copy of this would have more than ${mebibytes} MiB, which is the most that can be copied here.`,
    { reason: 'copy_too_large' },
  );
}

const encoder = new TextEncoder();
