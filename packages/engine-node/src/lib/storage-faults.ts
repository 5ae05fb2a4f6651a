/** Failures of the disk that an operator can end: a full disk, a directory that cannot be written, too many open files. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { storageFull } from '@freehold/store';
import { primaryCode } from './sqlite-errors.ts';

export type StorageFault = 'storage_full' | 'storage_read_only' | 'too_many_open_files';

const BY_CODE: ReadonlyMap<unknown, StorageFault> = new Map<unknown, StorageFault>([
  ['ENOSPC', 'storage_full'],
  ['EDQUOT', 'storage_full'],
  ['EROFS', 'storage_read_only'],
  ['EACCES', 'storage_read_only'],
  ['EPERM', 'storage_read_only'],
  ['EMFILE', 'too_many_open_files'],
  ['ENFILE', 'too_many_open_files'],
]);
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

/**
 * Returns the fault that an error, or a cause of it, names. `unclear` for errors of SQLite that may have any cause: a
 * write that fails elsewhere then tells (`probe`). Null for all other errors.
 */
export function storageFaultOf(error: unknown): StorageFault | 'unclear' | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    const fault = BY_CODE.get((each as NodeJS.ErrnoException).code);
    if (fault) return fault;
    const code = primaryCode(each);
    if (code === SQLITE_FULL) return 'storage_full';
    if (code === SQLITE_READONLY || code === SQLITE_IOERR || code === SQLITE_CANTOPEN) return 'unclear';
  }
  return null;
}

/** The index of a write-ahead log has 32 KiB, and a log begins with a page. */
const PROBE_BYTES = 64 * 1024;

/** Writes a file, synchronises and removes it. Returns the fault that it meets; null when that works, or fails otherwise. */
export function probeStorage(directory: string): StorageFault | null {
  const path = join(directory, '.probe');
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      const written = writeSync(file, Buffer.alloc(PROBE_BYTES));
      fsyncSync(file);
      // A file system with less room takes less, and refuses the next byte.
      if (written < PROBE_BYTES) return 'storage_full';
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
    return null;
  } catch (error) {
    const fault = storageFaultOf(error);
    return fault === 'unclear' ? null : fault;
  }
}

const FOR_CALLERS: Readonly<Record<Exclude<StorageFault, 'storage_full'>, string>> = {
  storage_read_only:
    'The data directory of this platform cannot be written, so nothing of this was stored. Reading still works. Ask the operator to make it writable, and try again then.',
  too_many_open_files: 'This platform has too many files open. Try again in a moment.',
};

/** The problem for callers: 503, the fault as its reason. */
export function storageProblem(fault: StorageFault, cause: unknown): PlatformError {
  if (fault === 'storage_full') return storageFull(cause);
  return new PlatformError('unavailable', FOR_CALLERS[fault], {
    reason: fault,
    headers: { 'retry-after': fault === 'too_many_open_files' ? '1' : '30' },
    cause,
  });
}

/** Returns one sentence for the operator, with the directory and what to do. */
export function storageAdvice(fault: StorageFault, directory: string): string {
  switch (fault) {
    case 'storage_full':
      return `The disk of the data directory ${directory} is full: nothing is stored, and reads go on. Make room; a restart is not needed.`;
    case 'storage_read_only':
      return `The data directory ${directory} cannot be written: nothing is stored, and reads go on. Mount it for writing, or give it to the platform's user; a restart is not needed.`;
    case 'too_many_open_files':
      return 'This process has as many files open as it may. Raise the limit (ulimit -n, or LimitNOFILE= of systemd) and restart.';
  }
}
