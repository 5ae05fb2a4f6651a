/** The list of the snapshots of a scope, in SQL. The vertical keeps their bytes. */
import { fromTimestamp, PlatformError, type SnapshotRecord } from '@freehold/contracts';
import {
  defineTable,
  integer,
  type Migration,
  nullable,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import { definePages, type PageRequest } from '../lib/pages.ts';

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

const snapshots = defineTable('snapshots', ['scope', 'id'], {
  scope: unread(text()),
  id: text(),
  name: nullable(text()),
  bytes: integer(),
  digest: text(),
  bookmark: nullable(text()),
  atMs: time(),
});

const insert = snapshots.saving();
const snapshotOfRow = snapshots.recording<SnapshotRecord>();

/** Saves a snapshot; one that is listed already stays as it is. */
export function saveSnapshot(db: SqlDatabase, scope: string, snapshot: SnapshotRecord): void {
  insert(db, { scope, ...snapshot, atMs: fromTimestamp(snapshot.at) });
}

export function forgetSnapshot(db: SqlDatabase, scope: string, id: string): void {
  snapshots.delete(db, { scope, id });
}

/** Takes all snapshots of a scope off the list. */
export const forgetSnapshots = snapshots.deleting('scope');

/** @throws PlatformError `not_found`, reason `unknown_snapshot`, also for one of another scope. */
export function requireSnapshot(db: SqlDatabase, scope: string, id: string): SnapshotRecord {
  const row = snapshots.get(db, { scope, id });
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
export const { statement: snapshotsPage, list: listSnapshots } = definePages({
  from: snapshots,
  where: ({ scope }: SnapshotFilter) => ({ scope }),
  key: 'id',
  order: 'DESC',
  item: snapshotOfRow,
});
