/** The scopes in SQL: the instances of verticals for tenants. */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import {
  defineTable,
  type Migration,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { ScopeRecord } from '../declarations/records.ts';
import { definePages, type PageRequest, rowsOf } from '../lib/pages.ts';

export const scopesMigration: Migration = {
  version: 2,
  name: 'scopes',
  sql: `
    CREATE TABLE scopes (
      id TEXT PRIMARY KEY,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      slug TEXT NOT NULL,
      name TEXT NOT NULL,
      vertical TEXT NOT NULL,
      kind TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      UNIQUE (tenant, slug)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX scopes_tenant ON scopes (tenant, id);
    CREATE INDEX scopes_vertical ON scopes (vertical);
    CREATE INDEX scopes_status ON scopes (status);
  `,
};

const scopes = defineTable('scopes', ['id'], {
  id: text<ScopeId>(),
  tenant: text<TenantId>(),
  slug: text(),
  name: text(),
  vertical: text(),
  kind: text<ScopeRecord['kind']>(),
  status: text<ScopeRecord['status']>(),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});

/** A scope with the version that it runs: one of its own, or that on prod (see `vertical-registry/`). */
const SCOPES = `SELECT ${scopes.columnsOf('s')}, r.version, b.version IS NOT NULL AS bound
  FROM scopes s LEFT JOIN verticals v ON v.slug = s.vertical LEFT JOIN scope_versions b ON b.scope = s.id
  LEFT JOIN vertical_versions r ON r.id = coalesce(b.version, v.serving)`;

export type ScopeRow = RowOf<typeof scopes> & {
  readonly version: string | null;
  /** Whether the version is its own. */
  readonly bound: 0 | 1;
};

const shown = scopes.recording<Omit<ScopeRecord, 'version' | 'bound'>>();
export const insertScope: (db: SqlDatabase, row: ScopeRow) => void = scopes.insert;
export const updateScopeStatus = scopes.updating('status', 'revision', 'updatedAtMs');

/** A scope is always looked up with its tenant, so that another tenant's scope is not found. */
export function loadScope(
  db: SqlDatabase,
  { tenant, scope }: { readonly tenant: string; readonly scope: string },
): ScopeRow | undefined {
  return db.get<ScopeRow>(`${SCOPES} WHERE s.id = ? AND s.tenant = ?`, scope, tenant);
}

export function loadScopeBySlug(db: SqlDatabase, tenant: string, slug: string): ScopeRow | undefined {
  return db.get<ScopeRow>(`${SCOPES} WHERE s.tenant = ? AND s.slug = ?`, tenant, slug);
}

/** Removes a scope that was never active. The record of every other scope stays as a tombstone. */
export function deleteScope(db: SqlDatabase, id: string): void {
  db.run("DELETE FROM scopes WHERE id = ? AND status = 'provisioning'", id);
}

export interface ScopeFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly vertical?: string | undefined;
  readonly status?: string | undefined;
  readonly version?: string | undefined;
}

export const { statement: scopesPage, list: listScopes } = definePages({
  from: rowsOf<ScopeRow>(SCOPES),
  where: ({ tenant, vertical, status }: ScopeFilter) => ({
    's.tenant': tenant,
    's.vertical': vertical,
    's.status': status,
  }),
  // IS instead of = keeps the planner on the index of scopes; with = it would begin at the versions, and sort.
  and: ({ version }) => (version === undefined ? [] : [{ sql: 'r.version IS ?', params: [version] }]),
  key: 's.id',
  item: scopeOfRow,
});

export function scopeOfRow(row: ScopeRow): ScopeRecord {
  return { ...shown(row), version: row.version, bound: row.bound === 1 };
}

/** A scope of a tenant; with `vertical`, only one that is bound to it. */
interface ScopeOf {
  readonly tenant: string;
  readonly scope: string;
  readonly vertical?: string;
}

/** @throws PlatformError `not_found`, also for a scope of another tenant or another vertical. */
export function requireScope(db: SqlDatabase, ref: ScopeOf): ScopeRow {
  const row = loadScope(db, ref);
  if (!row || row.vertical !== (ref.vertical ?? row.vertical))
    throw new PlatformError('not_found', 'This tenant has no such scope.', { reason: 'unknown_scope' });
  return row;
}

/** @throws PlatformError `not_found`, or `invalid_transition` for a scope that is not active. */
export function requireActiveScope(db: SqlDatabase, ref: ScopeOf): ScopeRow {
  const row = requireScope(db, ref);
  if (row.status !== 'active')
    throw new PlatformError('invalid_transition', `This scope is ${row.status}.`, {
      reason: 'scope_not_active',
    });
  return row;
}
