/** The meaning of SQLite's result codes for the engine (SQLite, "Result and Error Codes"). */

/** Returns the primary code: the low eight bits of the code on an error of `node:sqlite`. */
export function primaryCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

const BUSY = 5;
const NOMEM = 7;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const AUTH = 23;
const NOTADB = 26;

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** Whether the authorizer refused the statement. */
export function isNotAuthorized(error: unknown): boolean {
  return primaryCode(error) === AUTH;
}

/** The file of a unit is gone or empty, although its history or its copy in the archive is there. */
export class DatabaseGone extends Error {
  override readonly name = 'DatabaseGone';
}

/** Whether the file is gone, not a database, or a damaged one; also when that is the cause of the error. */
export function isDamaged(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof DatabaseGone) return true;
    const code = primaryCode(each);
    if (code === CORRUPT || code === NOTADB) return true;
  }
  return false;
}

/** Whether the disk could not read the file, or what is there; also when that is the cause of the error. */
export function isUnreadable(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (primaryCode(each) === IOERR || (each as NodeJS.ErrnoException).code === 'EIO') return true;
  return false;
}

/** Whether the storage or the memory failed, not the statement: the transaction can no longer be trusted. */
export function isStorageFailure(error: unknown): boolean {
  const code = primaryCode(error);
  return code === FULL || code === IOERR || code === NOMEM || isDamaged(error);
}
