/** The platform's grants to verticals in SQL. */
import { toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import type { PlatformGrant, PlatformGrantRecord } from '../declarations/platform-grants.ts';

const platformGrantsMigration: Migration = {
  version: 1,
  name: 'platform grants',
  sql: `
    CREATE TABLE platform_grants (
      vertical TEXT NOT NULL REFERENCES verticals (slug),
      name TEXT NOT NULL,
      note TEXT,
      revision INTEGER NOT NULL,
      since INTEGER NOT NULL,
      PRIMARY KEY (vertical, name)
    ) STRICT, WITHOUT ROWID;
  `,
};

export const platformGrantMigrations = {
  name: 'platform-grants',
  migrations: [platformGrantsMigration],
} as const;

export interface GrantRow {
  readonly vertical: string;
  readonly name: PlatformGrant;
  readonly note: string | null;
  readonly revision: number;
  readonly sinceMs: number;
}

export type GrantKey = Pick<GrantRow, 'vertical' | 'name'>;

export const PLATFORM_GRANT =
  'SELECT vertical, name, note, revision, since AS sinceMs FROM platform_grants WHERE vertical = ? AND name = ?';

export function loadGrant(db: SqlDatabase, { vertical, name }: GrantKey): GrantRow | undefined {
  return db.get<GrantRow>(PLATFORM_GRANT, vertical, name);
}

export function saveGrant(db: SqlDatabase, row: GrantRow): void {
  db.run(
    `INSERT INTO platform_grants (vertical, name, note, revision, since) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (vertical, name) DO UPDATE SET note = excluded.note, revision = excluded.revision`,
    ...[row.vertical, row.name, row.note, row.revision, row.sinceMs],
  );
}

export function deleteGrant(db: SqlDatabase, { vertical, name }: GrantKey): void {
  db.run('DELETE FROM platform_grants WHERE vertical = ? AND name = ?', vertical, name);
}

/** A vertical without the grant has a record too, which says so. */
export function grantRecord({ vertical, name }: GrantKey, row: GrantRow | undefined): PlatformGrantRecord {
  return {
    vertical,
    grant: name,
    granted: row !== undefined,
    note: row?.note ?? null,
    since: row ? toTimestamp(row.sinceMs) : null,
    etag: String(row?.revision ?? 0),
  };
}
