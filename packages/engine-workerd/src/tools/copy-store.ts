/**
 * Copies in an object's own database, in parts, which are in no copy themselves. One part is written and read at a time, so
 * that no copy is in memory as a whole.
 */
import { PlatformError } from '@freehold/contracts';
import type { TakenCopy } from './load.ts';
import { PARTS_TABLE, quoted, rowsTables } from './tables.ts';

/** The largest part: Cloudflare stores values of up to 2 MB. */
export const PART_BYTES_MAX = 1_024 * 1_024;

/** A stored copy. */
export interface StoredCopy {
  readonly id: string;
  /** `snapshot` stays until it is removed; the others are being sent or received. */
  readonly use: 'snapshot' | 'export' | 'staged';
  readonly name: string | null;
  readonly parts: number;
  readonly bytes: number;
  /** SHA-256 of its bytes, hexadecimal; empty for a staged one. */
  readonly digest: string;
  readonly bookmark: string | null;
  readonly atMs: number;
  /** Of a staged one whose rows were taken in. */
  readonly taken?: TakenCopy;
}

const INDEX = 'freehold/copies';
/** The number of parts that are dropped between two pauses. */
const DROPPED_AT_ONCE = 16;
const ROWS_PER_PART = 32;

export type CopyStore = ReturnType<typeof makeCopyStore>;

/**
 * A table with a rowid: in the key-value storage, which has none, SQLite reads about as many other parts as the tree is
 * deep for each part that it looks up. A part is text, one character a byte: V8 does not count the memory of a BLOB that
 * SQL returned, and would collect too late.
 */
const MAKE = `CREATE TABLE IF NOT EXISTS ${PARTS_TABLE} (
  copy TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (copy, part)) STRICT`;

export function makeCopyStore({ kv, sql }: Pick<DurableObjectStorage, 'kv' | 'sql'>) {
  const all = (): readonly StoredCopy[] => kv.get<readonly StoredCopy[]>(INDEX) ?? [];
  /** Earlier copies have their parts there. */
  const partKey = (id: string, part: number): string => `freehold/copy/${id}/${part}`;

  const save = (copy: StoredCopy): void => kv.put(INDEX, [...all().filter(({ id }) => id !== copy.id), copy]);

  const forget = (id: string): void =>
    kv.put(
      INDEX,
      all().filter((copy) => copy.id !== id),
    );

  /** Drops some of the rows that were taken in. Returns whether there are more. */
  const dropSomeRows = (id: string, rowsMax: number): boolean => {
    const prefix = rowsTables(id);
    const named = 'SELECT name FROM sqlite_master WHERE type = ? AND substr(name, 1, ?) = ?';
    for (const { name } of sql.exec<{ name: string }>(named, 'table', prefix.length, prefix).toArray()) {
      const table = quoted(name);
      const some = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} LIMIT ?)`;
      if (rowsMax < Number.MAX_SAFE_INTEGER && sql.exec(some, rowsMax).rowsWritten > 0) return true;
      sql.exec(`DROP TABLE ${table}`);
    }
    return false;
  };

  /** Drops some parts of a copy, and with the last ones its record. Returns whether there are more. */
  const dropSome = (id: string, partsMax = DROPPED_AT_ONCE): boolean => {
    const found = all().find((copy) => copy.id === id);
    if (!found) return false;
    sql.exec(MAKE);
    const some = `DELETE FROM ${PARTS_TABLE} WHERE rowid IN
      (SELECT rowid FROM ${PARTS_TABLE} WHERE copy = ? LIMIT ?) RETURNING 1`;
    const dropped = sql.exec(some, id, partsMax).toArray().length;
    if (dropped === partsMax || dropSomeRows(id, partsMax * ROWS_PER_PART)) return true;
    if (dropped === 0 && found.use !== 'staged')
      for (let part = 0; part < found.parts; part++) kv.delete(partKey(id, part));
    forget(id);
    return false;
  };

  const drop = (id: string): void => void dropSome(id, Number.MAX_SAFE_INTEGER);

  return {
    save,
    drop,
    dropSome,
    dropPart: (id: string, part: number): void => {
      sql.exec(`DELETE FROM ${PARTS_TABLE} WHERE copy = ? AND part = ?`, id, part);
    },
    find: (id: string): StoredCopy | undefined => all().find((copy) => copy.id === id),
    /** Returns the copies of one use, newest first. */
    list: (use: StoredCopy['use']): StoredCopy[] =>
      all()
        .filter((copy) => copy.use === use)
        .toReversed(),
    writePart: (id: string, part: number, bytes: Uint8Array): void => {
      sql.exec(MAKE);
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
      sql.exec(`INSERT OR REPLACE INTO ${PARTS_TABLE} (copy, part, text) VALUES (?, ?, ?)`, id, part, text);
    },
    /** @throws PlatformError `not_found`, reason `copy_gone`, when the transfer took too long. */
    readPart: (id: string, part: number): Uint8Array => {
      sql.exec(MAKE);
      const query = `SELECT text FROM ${PARTS_TABLE} WHERE copy = ? AND part = ?`;
      const [row] = sql.exec<{ text: string }>(query, id, part).toArray();
      const bytes = row
        ? new Uint8Array(Buffer.from(row.text, 'latin1'))
        : kv.get<Uint8Array>(partKey(id, part));
      if (!bytes)
        throw new PlatformError('not_found', 'This copy is not here any more.', { reason: 'copy_gone' });
      return bytes;
    },
    /** Removes unfinished transfers from before a moment, whose reader or sender never came back. */
    sweep: (beforeMs: number): void => {
      for (const { id, use, atMs } of all()) if (use !== 'snapshot' && atMs < beforeMs) drop(id);
    },
  };
}
