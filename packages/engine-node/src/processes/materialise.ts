/**
 * Rebuilds the state of a commit: copies its base, and lets SQLite recover log after log, the last one cut at the
 * commit. Runs in the copy process, and in a restore of a data directory.
 */
import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import type { Way } from '../history/commits.ts';
import { requireFrames, requirePayload, walHeaderOf } from '../history/part.ts';
import { frameBytes } from '../history/wal.ts';
import { writeAll } from '../lib/durable-file.ts';
import { damagedHistory } from '../lib/fault.ts';
import { expandFile, syncClosed } from './copied-file.ts';
import { isWhole, openCopy, recoverLog } from './settled-database.ts';

type Step = Way['parts'][number];

/**
 * Writes the state as a database file, checked and synchronised.
 * @throws Fault `history_damaged`, naming the damaged file.
 */
export async function materialise(way: Way, to: string): Promise<null> {
  const { described, payload } = way.base;
  const { raw, stored } = await expandFile(payload, to).catch((error: unknown) => {
    const { syscall, path } = error as NodeJS.ErrnoException;
    if (syscall !== undefined && path !== payload) throw error;
    throw damagedHistory(payload, syscall === undefined ? 'it cannot be decompressed' : 'it cannot be read');
  });
  if (stored.sha256 !== described.sha256 || raw.sha256 !== described.rawSha256)
    throw damagedHistory(payload, 'its digest is another');
  for (const log of byLog(way.parts)) layDown(log, to);
  const database = openCopy(to);
  try {
    // Only the structure of the pages is checked. References between rows were the unit's own concern at that commit.
    if (!isWhole(database)) throw damagedHistory(payload, 'what follows from it is no whole database');
  } finally {
    database.close();
  }
  await syncClosed(to);
  return null;
}

/** Groups the parts by their log. */
function byLog(parts: readonly Step[]): Step[][] {
  const logs: Step[][] = [];
  for (const part of parts) {
    if (part.header.first === 1) logs.push([]);
    logs.at(-1)?.push(part);
  }
  return logs;
}

function layDown(parts: readonly Step[], database: string): void {
  const wal = `${database}-wal`;
  rmSync(wal, { force: true });
  const file = openSync(wal, 'wx', 0o600);
  try {
    for (const part of parts) {
      const { bytes, pageSize } = walHeaderOf(part.header, part.path);
      const frames = framesOf(part);
      if (part.header.first === 1) writeAll(file, bytes);
      writeAll(file, frames.subarray(0, (part.lastFrame - part.header.first + 1) * frameBytes(pageSize)));
    }
  } finally {
    closeSync(file);
  }
  const found = recoverLog(database);
  const short = parts.find(({ lastFrame }) => lastFrame > found);
  if (short) throw damagedHistory(short.path, `SQLite accepts its frames only up to ${found}`);
}

/** Returns the frames of a part, checked against its description. */
export function framesOf(part: Pick<Step, 'header' | 'path' | 'payloadAt'>): Uint8Array {
  const payload = Buffer.alloc(part.header.bytes);
  const file = openSync(part.path, 'r');
  try {
    const read = readSync(file, payload, 0, payload.length, part.payloadAt);
    requirePayload(part, payload.subarray(0, read));
  } finally {
    closeSync(file);
  }
  const frames = zstdDecompressSync(payload);
  requireFrames(part, frames);
  return frames;
}
