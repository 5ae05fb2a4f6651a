/** Compresses a database file that does not change meanwhile. */
import { closeSync, openSync, readSync } from 'node:fs';
import { type CompressedCopy, pageSizeOf } from '../history/base-writer.ts';
import { compressFile } from './copied-file.ts';

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
