/** Turns a copy of the database into a base of the history: first its bytes, then its description. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { sha256 } from '../checked-line.ts';
import { type HistoryDisk, makeDirectory } from '../durable-file.ts';
import { type Base, baseFile, describeBase } from './history-directory.ts';
import { FAST } from './segment-writer.ts';

/** A compressed, synchronised copy outside of the history. */
export interface CompressedCopy {
  readonly path: string;
  readonly pageSize: number;
  /** Size of the database file, and its SHA-256. */
  readonly rawBytes: number;
  readonly rawSha256: string;
  /** Size of the compressed file, and its SHA-256. */
  readonly bytes: number;
  readonly sha256: string;
}

export type BaseDescription = Pick<Base, 'commit' | 'reason' | 'afterPart'>;

/** Up to this size the copy is made in this process when the database is about to be closed. */
const SMALL_BYTES = 8 * 1024 * 1024;

export function describeCopy({ path: _path, ...copy }: CompressedCopy, description: BaseDescription): Base {
  return { v: 1, ...description, ...copy };
}

export function publishBase(
  history: string,
  disk: HistoryDisk,
  copy: CompressedCopy,
  description: BaseDescription,
): void {
  makeDirectory(history);
  const file = baseFile(history, description.commit.seq);
  disk.publish(copy.path, file.payload);
  const staged = `${file.description}.new`;
  disk.stageSync(staged, [new TextEncoder().encode(describeBase(describeCopy(copy, description)))]);
  disk.publish(staged, file.description);
}

export function isSmall(database: string): boolean {
  return statSync(database).size <= SMALL_BYTES;
}

/**
 * Copies a small database within this process. Only directly before it is closed: closing the file that is read here
 * drops the locks that SQLite holds on it in this process (POSIX advisory locks).
 */
export function compressSmall(database: string, history: string, disk: HistoryDisk): CompressedCopy {
  makeDirectory(history);
  const bytes = readFileSync(database);
  const payload = zstdCompressSync(bytes, FAST);
  const path = join(history, `base.coming-${process.pid}`);
  disk.stageSync(path, [payload]);
  return {
    path,
    pageSize: pageSizeOf(bytes),
    rawBytes: bytes.length,
    rawSha256: sha256(bytes),
    bytes: payload.length,
    sha256: sha256(payload),
  };
}

/** SQLite, "Database File Format", 1.3: two bytes at 16, in which 1 means 65,536. */
export function pageSizeOf(header: Uint8Array): number {
  const size = ((header[16] ?? 0) << 8) | (header[17] ?? 0);
  return size === 1 ? 65_536 : size;
}
