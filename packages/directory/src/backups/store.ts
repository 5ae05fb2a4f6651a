/** The list of backups in SQL. Their bytes are in the backup store. */
import { cutPage, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { BackupRecord } from '../declarations/backups.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

interface BackupRow extends Omit<BackupRecord, 'at'> {
  readonly atMs: number;
}

const COLUMNS =
  'id, kind, origin, tenant, scope, vertical, format, bytes, sha256, address, bookmark, at AS atMs';

/** Stores a backup; an existing one stays as it is. */
export function saveBackup(db: SqlDatabase, backup: BackupRecord): void {
  db.run(
    `INSERT INTO backups (id, kind, origin, tenant, scope, vertical, format, bytes, sha256, address, bookmark, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    ...[backup.id, backup.kind, backup.origin, backup.tenant, backup.scope, backup.vertical, backup.format],
    ...[backup.bytes, backup.sha256, backup.address, backup.bookmark, Date.parse(backup.at)],
  );
}

export function forgetBackup(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM backups WHERE id = ?', id);
}

/** The record of a backup, or null. */
export function loadBackup(db: SqlDatabase, id: string): BackupRecord | null {
  const row = db.get<BackupRow>(`SELECT ${COLUMNS} FROM backups WHERE id = ?`, id);
  return row ? backupOfRow(row) : null;
}

/** @throws PlatformError `not_found`, reason `unknown_backup`, also for one of another scope or of another kind. */
export function requireBackup(
  db: SqlDatabase,
  id: string,
  of: { readonly scope: string | null },
): BackupRecord {
  const row = db.get<BackupRow>(`SELECT ${COLUMNS} FROM backups WHERE id = ? AND scope IS ?`, id, of.scope);
  if (!row)
    throw new PlatformError('not_found', 'There is no such backup here.', { reason: 'unknown_backup' });
  return backupOfRow(row);
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
export function backupsPage(filter: BackupFilter): Statement {
  const { scope, kind } = filter;
  return pageStatement(
    { select: `SELECT ${COLUMNS} FROM backups`, where: { scope, kind }, key: 'id', order: 'DESC' },
    filter,
  );
}

export function listBackups(db: SqlDatabase, filter: BackupFilter): Page<BackupRecord> {
  const { sql, params } = backupsPage(filter);
  return cutPage(db.all<BackupRow>(sql, ...params), filter.limit, (row) => row.id, backupOfRow);
}

function backupOfRow({ atMs, ...row }: BackupRow): BackupRecord {
  return { ...row, at: toTimestamp(atMs) };
}
