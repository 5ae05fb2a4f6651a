/** The list of backups in SQL. Their bytes are in the backup store. */
import { fromTimestamp, PlatformError } from '@freehold/contracts';
import { defineTable, integer, nullable, type SqlDatabase, text, time } from '@freehold/store';
import type { BackupRecord } from '../declarations/backups.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const backups = defineTable('backups', ['id'], {
  id: text(),
  kind: text<BackupRecord['kind']>(),
  origin: text<BackupRecord['origin']>(),
  tenant: nullable(text()),
  scope: nullable(text()),
  vertical: nullable(text()),
  format: text<BackupRecord['format']>(),
  bytes: integer(),
  sha256: text(),
  address: text(),
  bookmark: nullable(text()),
  atMs: time(),
});

const insert = backups.saving();
const backupOfRow = backups.recording<BackupRecord>();
export const forgetBackup = backups.delete;

/** Stores a backup; an existing one stays as it is. */
export function saveBackup(db: SqlDatabase, backup: BackupRecord): void {
  insert(db, { ...backup, atMs: fromTimestamp(backup.at) });
}

/** The record of a backup, or null. */
export function loadBackup(db: SqlDatabase, id: string): BackupRecord | null {
  const row = backups.get(db, id);
  return row ? backupOfRow(row) : null;
}

/** @throws PlatformError `not_found`, reason `unknown_backup`, also for one of another scope or of another kind. */
export function requireBackup(
  db: SqlDatabase,
  id: string,
  of: { readonly scope: string | null },
): BackupRecord {
  const backup = loadBackup(db, id);
  if (backup?.scope === of.scope) return backup;
  throw new PlatformError('not_found', 'There is no such backup here.', { reason: 'unknown_backup' });
}

/**
 * A backup of any scope of a tenant.
 * @throws PlatformError `not_found`, reason `unknown_backup`, also for one of another tenant and one of the directory.
 */
export function requireBackupOfTenant(db: SqlDatabase, id: string, tenant: string): BackupRecord {
  const backup = loadBackup(db, id);
  if (backup?.kind === 'scope' && backup.tenant === tenant) return backup;
  throw new PlatformError('not_found', 'There is no such backup here.', { reason: 'unknown_backup' });
}

export function countBackups(db: SqlDatabase, scope: string): number {
  return db.get<{ n: number }>('SELECT count(*) AS n FROM backups WHERE scope = ?', scope)?.n ?? 0;
}

/** The other backups of the same scope, or of the directory, and when the newest was made. */
export function othersBeside(
  db: SqlDatabase,
  { id, kind, scope }: BackupRecord,
): { readonly others: number; readonly newest: number | null } {
  const row = db.get<{ others: number; newest: number | null }>(
    'SELECT count(*) AS others, max(at) AS newest FROM backups WHERE scope IS ? AND kind = ? AND id <> ?',
    ...[scope, kind, id],
  );
  return row ?? { others: 0, newest: null };
}

interface BackupFilter extends PageRequest {
  readonly scope?: string | undefined;
  readonly kind?: BackupRecord['kind'] | undefined;
}

/** Newest first: an id begins with the time at which it was made. */
export const { statement: backupsPage, list: listBackups } = definePages({
  from: backups,
  where: ({ scope, kind }: BackupFilter) => ({ scope, kind }),
  key: 'id',
  order: 'DESC',
  item: backupOfRow,
});
