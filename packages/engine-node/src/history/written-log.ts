/**
 * The frames that were written to a log at rest, whether SQLite accepts it or not (SQLite, "WAL-mode File Format"): compared with
 * what SQLite accepts, and with what was noted of it, this shows that a log is damaged or cut.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { KnownTimes } from './commit-times.ts';
import type { Walk } from './commits.ts';
import { readLogHeader } from './live-log.ts';
import { FRAME_HEADER_BYTES, frameBytes, frameOffset, type WalHeader } from './wal.ts';

export interface WrittenLog {
  /** Null: it is damaged. */
  readonly header: WalHeader | null;
  /** The last frame that was written to this log, committed or not. Behind it may be frames of earlier logs. */
  readonly last: number;
  /** The frames that end a transaction. */
  readonly commits: readonly number[];
  /** Whether it ends within a frame. */
  readonly isCut: boolean;
}

/** Reads the headers of its frames; returns null for a log that is empty or not there. */
export function readWrittenLog(path: string): WrittenLog | null {
  const header = readLogHeader(path);
  const file = header ? openSync(path, 'r') : null;
  if (!header || file === null) return sizeOf(path) > 0 ? DAMAGED : null;
  try {
    const { pageSize, salt } = header;
    const { size } = fstatSync(file);
    const commits: number[] = [];
    let last = 0;
    const bytes = Buffer.alloc(FRAME_HEADER_BYTES);
    let frame = 1;
    for (; frameOffset(frame + 1, pageSize) <= size; frame++) {
      readSync(file, bytes, 0, FRAME_HEADER_BYTES, frameOffset(frame, pageSize));
      // One half suffices: the next log has two others, so that a frame with one of them is damaged.
      if (
        bytes.toString('hex', 8, 12) !== salt.slice(0, 8) &&
        bytes.toString('hex', 12, 16) !== salt.slice(8)
      )
        continue;
      last = frame;
      if (bytes.readUInt32BE(4) !== 0) commits.push(frame);
    }
    return { header, last, commits, isCut: (size - frameOffset(1, pageSize)) % frameBytes(pageSize) !== 0 };
  } finally {
    closeSync(file);
  }
}

/**
 * Returns why commits may be missing in what a history and its log hold; null when there are provably none.
 * @param found the number of frames that SQLite accepts.
 */
export function whatMayBeMissing(
  log: WrittenLog | null,
  { found, times, walked }: { found: number; times: KnownTimes; walked: Walk['log'] },
): string | null {
  if (!log) return times.endsClosed ? null : 'its log is gone';
  if (!log.header || log.isCut || found === 0 || found < log.last) return 'its log is damaged or cut';
  const noted = times.of(log.header.salt).at(-1)?.frame ?? 0;
  const stored = walked?.salt === log.header.salt ? walked.last : 0;
  return found < Math.max(noted, stored) ? 'its log is cut' : null;
}

const DAMAGED: WrittenLog = { header: null, last: 0, commits: [], isCut: true };

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
