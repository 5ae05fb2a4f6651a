/**
 * Copies that are on their way in from outside. Their bytes are in the store before the directory knows a backup of them,
 * and a crash in between would leave them there for ever: so each one is noted before its first byte, and what was noted
 * and never became known is deleted. Nothing else in the store is: it may be all that is left of another installation.
 */
import { PlatformError } from '@freehold/contracts';
import type { Migration, SqlDatabase, UnitContext, UnitStub } from '@freehold/store';
import type { DirectoryMethods } from '../unit.ts';
import type { BackupStore } from './backup-store.ts';
import type { BackupOrder } from './write-backup.ts';

const incomingMigration: Migration = {
  version: 1,
  name: 'copies on their way in',
  sql: `
    CREATE TABLE incoming_copies (
      id TEXT PRIMARY KEY,
      address TEXT NOT NULL,
      begun_at INTEGER NOT NULL,
      -- 1 once its bytes are being deleted: it cannot become known any more.
      abandoned INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after that of the backups. */
export const incomingMigrations = { name: 'incoming-copies', migrations: [incomingMigration] } as const;

/** An upload that takes longer is taken for one that a crash left: it is refused when it ends, `upload_abandoned`. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;
const PAGE = 50;

/** The methods of the unit. */
export function incomingMethods({ db, now }: UnitContext) {
  return {
    expectCopy: ({ id, address }: BackupOrder): null => {
      db.run('INSERT INTO incoming_copies (id, address, begun_at) VALUES (?, ?, ?)', id, address, now());
      return null;
    },
    /** Its bytes are gone. */
    forgetCopy: ({ id }: Pick<BackupOrder, 'id'>): null => {
      db.run('DELETE FROM incoming_copies WHERE id = ?', id);
      return null;
    },
    /** Gives up those that were begun long ago, and answers some of them. */
    abandonCopies: (): readonly BackupOrder[] => {
      db.run('UPDATE incoming_copies SET abandoned = 1 WHERE begun_at <= ?', now() - ABANDONED_AFTER_MS);
      return db.all<BackupOrder & Record<string, string>>(
        'SELECT id, address FROM incoming_copies WHERE abandoned = 1 ORDER BY id LIMIT ?',
        PAGE,
      );
    },
  };
}

/**
 * A copy becomes known: its bytes are nobody's to delete any more.
 * @throws PlatformError `unavailable`, reason `upload_abandoned`, when they are being deleted already.
 */
export function receiveCopy(db: SqlDatabase, id: string): void {
  const row = db.get<{ abandoned: number }>('SELECT abandoned FROM incoming_copies WHERE id = ?', id);
  if (row?.abandoned !== 0)
    throw new PlatformError('unavailable', 'This upload took too long. Begin it anew.', {
      reason: 'upload_abandoned',
    });
  db.run('DELETE FROM incoming_copies WHERE id = ?', id);
}

type Directory = Pick<
  UnitStub<DirectoryMethods>,
  'expectCopy' | 'forgetCopy' | 'abandonCopies' | 'rememberedBackup'
>;

/**
 * Deletes the bytes of a copy that did not become known. One that did, though nobody heard of it, keeps them.
 */
export async function dropCopy(
  { directory, store }: { readonly directory: Directory; readonly store: BackupStore },
  { id, address }: BackupOrder,
): Promise<void> {
  if (await directory.rememberedBackup({ id })) return;
  await store.delete(address);
  await directory.forgetCopy({ id });
}

export interface ImportMaintenance {
  /** Deletes what uploads of more than a day ago have left behind, and answers how many. A day apart is enough. */
  clearAbandoned(): Promise<number>;
}

export function makeImportMaintenance(directory: Directory, store: BackupStore | null): ImportMaintenance {
  return {
    clearAbandoned: async () => {
      let cleared = 0;
      if (store === null) return cleared;
      for (;;) {
        const copies = await directory.abandonCopies();
        if (copies.length === 0) return cleared;
        for (const copy of copies) {
          await store.delete(copy.address);
          await directory.forgetCopy(copy);
        }
        cleared += copies.length;
      }
    },
  };
}
