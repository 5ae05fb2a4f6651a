/** Writes a database as text into the parts of a copy, without a pause, so that it shows one moment. */
import { createHash, type Hash } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
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
/** Part 0 is the header, which is known only after the rows; the trailer is the last. */
const FIRST_ROW_PART = 1;

/**
 * Writes the parts and the record of a copy. Call it in a transaction, so that nothing of a failed copy stays.
 * @throws PlatformError `unsupported`, reason `copy_too_large`, and `engine_cannot` for a virtual table.
 */
export function dump(
  sql: SqlStorage,
  store: CopyStore,
  copy: Pick<StoredCopy, 'id' | 'use' | 'name' | 'bookmark' | 'atMs'>,
  { kind, key, bytesMax }: DumpOptions,
): StoredCopy {
  const body = makePartWriter(bytesMax, (part, bytes) =>
    store.writePart(copy.id, FIRST_ROW_PART + part, bytes),
  );
  const tables: NdjsonTable[] = [];
  for (const plan of tablesOf(sql)) tables.push(dumpTable(sql, plan, tables.length, body.write));
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

function dumpTable(
  sql: SqlStorage,
  plan: TablePlan,
  index: number,
  write: (bytes: Uint8Array) => void,
): NdjsonTable {
  const hash = createHash('sha256');
  let rows = 0;
  let piece = '';
  const cursor = sql.exec(plan.select).raw();
  try {
    for (const row of cursor) {
      const values = row.map((value, column) => encodeValue(value, plan.isReal[column] ?? false));
      piece += `${JSON.stringify({ t: index, r: values })}\n`;
      rows += 1;
      if (piece.length >= PIECE_CHARACTERS) piece = writeOut(piece, hash, write);
    }
    writeOut(piece, hash, write);
  } finally {
    // A cursor that is not read to its end keeps its table locked.
    for (const _ of cursor);
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
