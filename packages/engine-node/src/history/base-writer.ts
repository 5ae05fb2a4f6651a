/** Turns a copy of the database into a base of the history: first its bytes, then its description. */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { type HistoryDisk, makeDirectory, publish, sha256 } from '../lib/durable-file.ts';
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

/** Adds a copy to the history. Its description gets its name when the name of its bytes is durable. */
export async function publishBase(
  history: string,
  disk: HistoryDisk,
  copy: CompressedCopy,
  description: BaseDescription,
): Promise<void> {
  const { file, staged, text } = prepareBase(history, copy, description);
  disk.rename(copy.path, file.payload);
  await disk.syncNames(history);
  await disk.stage(staged, [text]);
  disk.rename(staged, file.description);
  await disk.syncNames(history);
}

/** Does the same at once. */
export function publishBaseSync(
  history: string,
  disk: HistoryDisk,
  copy: CompressedCopy,
  description: BaseDescription,
): void {
  const { file, staged, text } = prepareBase(history, copy, description);
  publish(copy.path, file.payload, disk);
  disk.stageSync(staged, [text]);
  publish(staged, file.description, disk);
}

function prepareBase(history: string, copy: CompressedCopy, description: BaseDescription) {
  makeDirectory(history);
  const file = baseFile(history, description.commit.seq);
  const staged = `${file.description}.new`;
  rmSync(staged, { force: true });
  return { file, staged, text: new TextEncoder().encode(describeBase(describeCopy(copy, description))) };
}

export function isSmall(database: string): boolean {
  return statSync(database).size <= SMALL_BYTES;
}

/** Compresses the bytes of a small database. The caller writes `payload` to the path of the copy. */
export function compressSmall(
  bytes: Uint8Array,
  history: string,
): { readonly copy: CompressedCopy; readonly payload: Uint8Array } {
  makeDirectory(history);
  const payload = zstdCompressSync(bytes, FAST);
  const path = join(history, `base.coming-${process.pid}`);
  rmSync(path, { force: true });
  const copy = {
    path,
    pageSize: pageSizeOf(bytes),
    rawBytes: bytes.length,
    rawSha256: sha256(bytes),
    bytes: payload.length,
    sha256: sha256(payload),
  };
  return { copy, payload };
}

/** Reads a small database directly before it is closed: closing a file drops SQLite's locks on it in this process. */
export function compressSmallSync(database: string, history: string, disk: HistoryDisk): CompressedCopy {
  const { copy, payload } = compressSmall(readFileSync(database), history);
  disk.stageSync(copy.path, [payload]);
  return copy;
}

/** SQLite, "Database File Format", 1.3: two bytes at 16, in which 1 means 65,536. */
export function pageSizeOf(header: Uint8Array): number {
  const size = ((header[16] ?? 0) << 8) | (header[17] ?? 0);
  return size === 1 ? 65_536 : size;
}
