/** Ensures one process a data directory, with a lock that the operating system releases when the process dies. */
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError } from '@freehold/contracts';
import { makePrivateFile, makePrivateFolder } from './lib/private-file.ts';
import { isBusy } from './lib/sqlite-errors.ts';
import { probeStorage } from './lib/storage-faults.ts';

/** The locks of this process. One that nothing refers to would be collected, and its file closed: then others may begin. */
const locks = new Set<DatabaseSync>();

/**
 * Takes the directory for this process, making it when it is missing, and closes it to other users. Returns the release
 * function. The lock is SQLite's own file lock on a separate file, held by an open exclusive transaction.
 */
export function lockDirectory(directory: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    makeDirectory(directory);
    makePrivateFolder(directory);
    // SQLite takes the lock on a file system that is mounted for reading alone.
    accessSync(directory, constants.W_OK);
    makePrivateFile(join(directory, 'lock.sqlite'));
    lock = new DatabaseSync(join(directory, 'lock.sqlite'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    if (isBusy(cause)) throw inUse(directory, cause);
    throw probeStorage(directory) === 'storage_full' ? full(directory, cause) : unusable(directory, cause);
  }
  const held = lock;
  locks.add(held);
  return () => {
    locks.delete(held);
    held.close();
  };
}

/**
 * Makes a directory and the missing ones above it, one after the other: with `recursive`, Node never answers below
 * /proc.
 */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

function inUse(directory: string, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The data directory ${directory} is in use by another process. Stop that one first, or choose another with FREEHOLD_DATA.`,
    { reason: 'data_directory_in_use', cause },
  );
}

function full(directory: string, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The disk of the data directory ${directory} is full. Make room, and start again: what was stored before is as it was.`,
    { reason: 'storage_full', cause },
  );
}

function unusable(directory: string, cause: unknown): PlatformError {
  return new PlatformError(
    'unavailable',
    `The data directory ${directory} cannot be written. Mount it for writing, change its owner, or choose another with FREEHOLD_DATA.`,
    { reason: 'data_directory_unusable', cause },
  );
}
