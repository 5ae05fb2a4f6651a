/** The platform's roles in SQL. */
import { cutPage, type Page, toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import type { RoleRecord } from '../declarations/records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export const rolesMigration: Migration = {
  version: 4,
  name: 'roles',
  sql: `
    CREATE TABLE roles (
      key TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      permissions TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

/** Every scope has a copy of all of them, in one delivery. */
export const ROLES_MAX = 200;

const COLUMNS = 'key, name, permissions, revision, created_at AS createdAtMs, updated_at AS updatedAtMs';

export interface RoleRow {
  readonly key: string;
  readonly name: string;
  /** A JSON array, sorted. */
  readonly permissions: string;
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export function loadRole(db: SqlDatabase, key: string): RoleRow | undefined {
  return db.get<RoleRow>(`SELECT ${COLUMNS} FROM roles WHERE key = ?`, key);
}

/** All of them: key → permissions. There are no more than {@link ROLES_MAX}. */
export function loadAllRoles(db: SqlDatabase): Record<string, readonly string[]> {
  const rows = db.all<Pick<RoleRow, 'key' | 'permissions'>>(
    'SELECT key, permissions FROM roles ORDER BY key',
  );
  return Object.fromEntries(rows.map(({ key, permissions }) => [key, JSON.parse(permissions) as string[]]));
}

export function countRoles(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM roles')?.count ?? 0;
}

export function saveRole(db: SqlDatabase, row: RoleRow): void {
  db.run(
    `INSERT INTO roles (key, name, permissions, revision, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET name = excluded.name, permissions = excluded.permissions,
       revision = excluded.revision, updated_at = excluded.updated_at`,
    row.key,
    row.name,
    row.permissions,
    row.revision,
    row.createdAtMs,
    row.updatedAtMs,
  );
}

export function deleteRole(db: SqlDatabase, key: string): void {
  db.run('DELETE FROM roles WHERE key = ?', key);
}

export function rolesPage(page: PageRequest): Statement {
  return pageStatement({ select: `SELECT ${COLUMNS} FROM roles`, where: {}, key: 'key', order: 'ASC' }, page);
}

export function listRoles(db: SqlDatabase, page: PageRequest): Page<RoleRecord> {
  const { sql, params } = rolesPage(page);
  return cutPage(db.all<RoleRow>(sql, ...params), page.limit, (row) => row.key, roleOfRow);
}

export function roleOfRow(row: RoleRow): RoleRecord {
  return {
    key: row.key,
    name: row.name,
    permissions: JSON.parse(row.permissions) as string[],
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}
