/** Copies a database at one commit, from its file and the start of its log. Runs in the copy process. */
import { closeSync, constants, copyFileSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { type CompressedCopy, pageSizeOf } from '../history/base-writer.ts';
import { compressFile } from './copied-file.ts';
import { leaveLogMode, recoverLog } from './settled-database.ts';

export interface CaptureRequest {
  /** Neither the file nor the named frames change while this runs. */
  readonly database: string;
  readonly wal: string;
  /** The length of the log up to the commit; 0 for none. */
  readonly walBytes: number;
  readonly frames: number;
  readonly to: string;
}

const CHUNK_BYTES = 1024 * 1024;

/** Makes the copy: one plain file. */
export async function capture({ database, wal, walBytes, frames, to }: CaptureRequest): Promise<null> {
  // Shares the blocks instead of copying them where the file system can.
  copyFileSync(database, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  if (frames > 0) {
    await copyBeginning(wal, `${to}-wal`, walBytes);
    const found = recoverLog(to);
    if (found !== frames) throw new Error(`of ${frames} frames of the log, ${found} arrived in the copy`);
  }
  leaveLogMode(to);
  return null;
}

async function copyBeginning(from: string, to: string, bytes: number): Promise<void> {
  const source = await open(from, 'r');
  const target = await open(to, 'wx', 0o600);
  try {
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, bytes));
    for (let at = 0; at < bytes; ) {
      const { bytesRead } = await source.read(chunk, 0, Math.min(chunk.length, bytes - at), at);
      if (bytesRead === 0) throw new Error('the write-ahead log is shorter than SQLite says');
      await target.writeFile(chunk.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

const HEADER_BYTES = 100;

export async function compressDatabase(from: string, to: string): Promise<CompressedCopy> {
  const { raw, stored } = await compressFile(from, to);
  return {
    path: to,
    pageSize: pageSizeOf(readHeader(from)),
    rawBytes: raw.bytes,
    rawSha256: raw.sha256,
    bytes: stored.bytes,
    sha256: stored.sha256,
  };
}

function readHeader(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(file, header, 0, HEADER_BYTES, 0);
    return header;
  } finally {
    closeSync(file);
  }
}
