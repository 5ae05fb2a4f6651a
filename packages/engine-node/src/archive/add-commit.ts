/** Adds a commit to a fetched unit that no engine has open. */
import { constants, copyFileSync, existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { UnitFiles } from '../lib/unit-files.ts';
import { syncClosed } from '../processes/copied-file.ts';
import { discard } from '../processes/copy-workers.ts';
import { openCopy } from '../processes/settled-database.ts';

/** Changes a database; null: a unit of this kind stays as it is. The engine knows no tables of its units. */
export type ChangeOlder = (kind: string) => ((database: DatabaseSync) => void) | null;

/**
 * Makes the change a log beside the database, which stays the end of its history: so the commit is in the history, as
 * after a kill, and the history leads on.
 */
export async function addCommit(files: UnitFiles, change: (database: DatabaseSync) => void): Promise<void> {
  const copy = `${files.database}.changing`;
  copyFileSync(files.database, copy, constants.COPYFILE_FICLONE);
  try {
    const database = openCopy(copy);
    try {
      database.exec('PRAGMA journal_mode = WAL');
      change(database);
      // The closing moves the log into the file.
      if (existsSync(`${copy}-wal`)) copyFileSync(`${copy}-wal`, files.wal);
    } finally {
      database.close();
    }
  } finally {
    discard(copy);
  }
  if (existsSync(files.wal)) await syncClosed(files.wal);
}
