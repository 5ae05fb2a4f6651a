/** The tenants in SQL. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import {
  defineTable,
  type Migration,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
  unread,
} from '@freehold/store';
import type { TenantRecord } from '../declarations/records.ts';
import { beginsWith, definePages, type PageRequest, type Statement } from '../lib/pages.ts';

export const tenantsMigration: Migration = {
  version: 1,
  name: 'tenants',
  sql: `
    CREATE TABLE tenants (
      id TEXT PRIMARY KEY,
      slug TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      folded_name TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tenants_name ON tenants (folded_name);
    CREATE INDEX tenants_status ON tenants (status);
  `,
};

const tenants = defineTable('tenants', ['id'], {
  id: text<TenantId>(),
  slug: text(),
  name: text(),
  foldedName: unread(text()),
  status: text<TenantRecord['status']>(),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});
export type TenantRow = RowOf<typeof tenants>;

export const loadTenant = tenants.get;
export const loadTenantBySlug = tenants.finding('slug');
export const updateTenantStatus = tenants.updating('status', 'revision', 'updatedAtMs');
const updateTenantName = tenants.updating('name', 'foldedName', 'revision', 'updatedAtMs');
export const tenantOfRow = tenants.recording<TenantRecord>();

export function insertTenant(db: SqlDatabase, row: TenantRow): void {
  tenants.insert(db, { ...row, foldedName: foldName(row.name) });
}

export function renameTenant(db: SqlDatabase, row: TenantRow): void {
  updateTenantName(db, { ...row, foldedName: foldName(row.name) });
}

export interface TenantFilter extends PageRequest {
  /** Only this tenant, for its builder. */
  readonly only?: string | undefined;
  readonly status?: string | undefined;
  readonly q?: string | undefined;
}

export const { statement: tenantsPage, list: listTenants } = definePages({
  from: tenants,
  where: ({ only, status }: TenantFilter) => ({ id: only, status }),
  and: ({ q }) => (q === undefined ? [] : [beginning(q)]),
  key: 'id',
  item: tenantOfRow,
});

/** @throws PlatformError `not_found`. */
export function requireTenant(db: SqlDatabase, id: string): TenantRow {
  const row = loadTenant(db, id);
  if (!row) throw new PlatformError('not_found', 'There is no such tenant.', { reason: 'unknown_tenant' });
  return row;
}

/** @throws PlatformError `not_found`, or `invalid_transition` for a tenant that is not active. */
export function requireActiveTenant(db: SqlDatabase, id: string): TenantRow {
  const row = requireTenant(db, id);
  if (row.status !== 'active')
    throw new PlatformError('invalid_transition', `This tenant is ${row.status} and takes nothing new.`, {
      reason: 'tenant_not_active',
    });
  return row;
}

/** @throws PlatformError `not_found`, or `invalid_transition` for a tenant that is being deleted or was reaped. */
export function requireOpenTenant(db: SqlDatabase, id: string): TenantRow {
  const row = requireTenant(db, id);
  if (row.status === 'deleting' || row.status === 'reaped')
    throw new PlatformError('invalid_transition', `This tenant is ${row.status} and is given nothing more.`, {
      reason: 'tenant_not_active',
    });
  return row;
}

/** The subject of a reap: until its end the tenant can neither return nor be reaped again. */
export function reapSubject(tenant: string): string {
  return `tenant:${tenant}`;
}

function beginning(q: string): Statement {
  const slug = beginsWith('slug', q.toLowerCase());
  const name = beginsWith('folded_name', foldName(q));
  // Two index ranges joined by their ids: an OR between the columns would make the planner scan the whole table.
  return {
    sql: `id IN (SELECT id FROM tenants WHERE ${slug.sql} UNION ALL SELECT id FROM tenants WHERE ${name.sql})`,
    params: [...slug.params, ...name.params],
  };
}

/** One spelling for names that a person would call the same. */
function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
