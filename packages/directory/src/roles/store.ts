/** The platform's roles in SQL. */
import {
  defineTable,
  json,
  type Migration,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { RoleRecord } from '../declarations/records.ts';
import { definePages } from '../lib/pages.ts';

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

const roles = defineTable('roles', ['key'], {
  key: text(),
  name: text(),
  /** Sorted. */
  permissions: json<string[]>(),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});
export type RoleRow = RowOf<typeof roles>;

export const loadRole = roles.get;
export const saveRole = roles.saving('name', 'permissions', 'revision', 'updatedAtMs');
export const deleteRole = roles.delete;
export const roleOfRow = roles.recording<RoleRecord>();
export const { statement: rolesPage, list: listRoles } = definePages({
  from: roles,
  key: 'key',
  item: roleOfRow,
});

/** All of them: key → permissions. There are no more than {@link ROLES_MAX}. */
export function loadAllRoles(db: SqlDatabase): Record<string, readonly string[]> {
  const rows = roles.all(db, `${roles.select} ORDER BY key`);
  return Object.fromEntries(rows.map(({ key, permissions }) => [key, permissions]));
}

export function countRoles(db: SqlDatabase): number {
  return db.get<{ count: number }>('SELECT count(*) AS count FROM roles')?.count ?? 0;
}
