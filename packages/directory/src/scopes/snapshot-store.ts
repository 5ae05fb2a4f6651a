/** The list of the snapshots of a scope, in SQL. The vertical keeps their bytes. */
import { cutPage, type Page, PlatformError, type SnapshotRecord, toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

const snapshotsMigration: Migration = {
  version: 1,
  name: 'snapshots',
  sql: `
    CREATE TABLE snapshots (
      scope TEXT NOT NULL REFERENCES scopes (id),
      id TEXT NOT NULL,
      name TEXT,
      bytes INTEGER NOT NULL,
      digest TEXT NOT NULL,
      bookmark TEXT,
      at INTEGER NOT NULL,
      PRIMARY KEY (scope, id)
    ) STRICT, WITHOUT ROWID;
  `,
};

/** The set that the directory applies after its own. */
export const snapshotMigrations = { name: 'snapshots', migrations: [snapshotsMigration] } as const;

interface SnapshotRow {
  readonly id: string;
  readonly name: string | null;
  readonly bytes: number;
  readonly digest: string;
  readonly bookmark: string | null;
  readonly atMs: number;
}

/** Saves a snapshot; one that is listed already stays as it is. */
export function saveSnapshot(db: SqlDatabase, scope: string, snapshot: SnapshotRecord): void {
  db.run(
    `INSERT INTO snapshots (scope, id, name, bytes, digest, bookmark, at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope, id) DO NOTHING`,
    ...[scope, snapshot.id, snapshot.name, snapshot.bytes, snapshot.digest, snapshot.bookmark],
    Date.parse(snapshot.at),
  );
}

export function forgetSnapshot(db: SqlDatabase, scope: string, id: string): void {
  db.run('DELETE FROM snapshots WHERE scope = ? AND id = ?', scope, id);
}

/** Takes all snapshots of a scope off the list. */
export function forgetSnapshots(db: SqlDatabase, scope: string): void {
  db.run('DELETE FROM snapshots WHERE scope = ?', scope);
}

/** @throws PlatformError `not_found`, reason `unknown_snapshot`, also for one of another scope. */
export function requireSnapshot(db: SqlDatabase, scope: string, id: string): SnapshotRecord {
  const row = db.get<SnapshotRow>(
    'SELECT id, name, bytes, digest, bookmark, at AS atMs FROM snapshots WHERE scope = ? AND id = ?',
    scope,
    id,
  );
  if (!row)
    throw new PlatformError('not_found', 'This scope has no such snapshot.', { reason: 'unknown_snapshot' });
  return snapshotOfRow(row);
}

/** Counts the snapshots of one scope. */
export function countSnapshots(db: SqlDatabase, scope: string): number {
  return db.get<{ n: number }>('SELECT count(*) AS n FROM snapshots WHERE scope = ?', scope)?.n ?? 0;
}

export interface SnapshotFilter extends PageRequest {
  readonly scope: string;
}

/** Newest first: an id begins with the time at which it was made. */
export function snapshotsPage(filter: SnapshotFilter): Statement {
  return pageStatement(
    {
      select: 'SELECT id, name, bytes, digest, bookmark, at AS atMs FROM snapshots',
      where: { scope: filter.scope },
      key: 'id',
      order: 'DESC',
    },
    filter,
  );
}

export function listSnapshots(db: SqlDatabase, filter: SnapshotFilter): Page<SnapshotRecord> {
  const { sql, params } = snapshotsPage(filter);
  return cutPage(db.all<SnapshotRow>(sql, ...params), filter.limit, (row) => row.id, snapshotOfRow);
}

function snapshotOfRow({ atMs, ...row }: SnapshotRow): SnapshotRecord {
  return { ...row, at: toTimestamp(atMs) };
}
