/** The platform's grants to verticals in SQL. */
import { toTimestamp } from '@freehold/contracts';
import { defineTable, type Migration, nullable, type RowOf, revision, text, time } from '@freehold/store';
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

const grants = defineTable('platform_grants', ['vertical', 'name'], {
  vertical: text(),
  name: text<PlatformGrant>(),
  note: nullable(text()),
  sinceMs: time(),
  revision: revision(),
});
export type GrantRow = RowOf<typeof grants>;
export type GrantKey = Pick<GrantRow, 'vertical' | 'name'>;

export const PLATFORM_GRANT = `${grants.select} WHERE vertical = ? AND name = ?`;
export const loadGrant = grants.get;
export const saveGrant = grants.saving('note', 'revision');
export const deleteGrant = grants.delete;

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
