/** Files for their owner alone, whatever the umask says and which tool made the folder. */
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

/** The bits of everybody but the owner. */
const OTHERS = 0o077;

/**
 * Makes a database file before SQLite does, which would ask the umask; tightens one that is there. SQLite gives the
 * write-ahead log and its index the mode of the database.
 */
export function makePrivateFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) closeSync(openSync(path, 'a', 0o600));
  else if (found.mode & OTHERS) for (const each of [path, `${path}-wal`, `${path}-shm`]) tighten(each, 0o600);
}

/** Closes a folder to everybody but its owner; what lies in it is closed with it. */
export function makePrivateFolder(path: string): void {
  if (statSync(path).mode & OTHERS) tighten(path, 0o700);
}

/** A file of another owner stays as it is: this process may use it, and must not fail for it. */
function tighten(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EPERM' && code !== 'EROFS') throw error;
  }
}
