/** Opens private copies of databases to put them in order. Runs in the copy process. */
import { DatabaseSync } from 'node:sqlite';

/**
 * Opens a copy without durability: it is discarded after any failure, and synchronised when it is finished. Triggers,
 * views and functions in its schema are not trusted.
 */
export function openCopy(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false, timeout: 0 });
  try {
    database.exec(
      'PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON',
    );
    database.enableDefensive(true);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Lets SQLite recover the log beside a copy, and moves it into the file.
 * @returns the number of frames that SQLite found committed: fewer than were written means that they are damaged.
 */
export function recoverLog(path: string): number {
  const database = openCopy(path);
  try {
    // The first read makes SQLite look at the log.
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    const { log } = database.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number };
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return log;
  } finally {
    database.close();
  }
}

/** Makes a copy one plain file without a log. */
export function leaveLogMode(path: string): void {
  const database = openCopy(path);
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } finally {
    database.close();
  }
}

/** Whether a database's pages and indexes are consistent (SQLite, "PRAGMA integrity_check"). */
export function isWhole(database: DatabaseSync): boolean {
  const [first] = database.prepare('PRAGMA integrity_check(1)').all() as { integrity_check: string }[];
  return first?.integrity_check === 'ok';
}
