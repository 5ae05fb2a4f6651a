/** What a start that failed says to whoever started it. */
import { statfsSync } from 'node:fs';
import { PlatformError } from '@freehold/contracts';

/** SQLITE_FULL. */
const FULL = 13;
/** With less than this nothing can be opened: a log of writes and its index alone may take a megabyte each. */
const ROOM_BYTES = 2 * 1024 * 1024;

/**
 * One sentence in the place of one that is meant for callers of the API, or of a stack trace; null where the error's own
 * will do. What SQLite said of a commit stays in the log: the error of the start no longer has it, so that the disk is asked.
 */
export function startFailureOf(
  error: unknown,
  dataDirectory: string,
  freeBytes: (directory: string) => number = freeBytesOf,
): string | null {
  if (!(error instanceof Error)) return null;
  const isUnkept = error instanceof PlatformError && error.reason === 'commit_failed';
  return saysFull(error) || (isUnkept && freeBytes(dataDirectory) < ROOM_BYTES)
    ? `The disk of the data directory ${dataDirectory} is full. Make room, and start again: what was stored before is as it was.`
    : null;
}

function saysFull(error: Error): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  return code === 'ENOSPC' || errcode === FULL || (error.cause instanceof Error && saysFull(error.cause));
}

/** What anybody may still write there. A directory that cannot be asked is not said to be full. */
function freeBytesOf(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
