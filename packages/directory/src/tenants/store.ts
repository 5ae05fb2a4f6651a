/** The tenants in SQL. */
import { cutPage, type Page, PlatformError, type TenantId, toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import type { TenantRecord } from '../declarations/records.ts';
import { beginsWith, type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

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

const COLUMNS = 'id, slug, name, status, revision, created_at AS createdAtMs, updated_at AS updatedAtMs';

export interface TenantRow {
  readonly id: TenantId;
  readonly slug: string;
  readonly name: string;
  readonly status: TenantRecord['status'];
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export function loadTenant(db: SqlDatabase, id: string): TenantRow | undefined {
  return db.get<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE id = ?`, id);
}

export function loadTenantBySlug(db: SqlDatabase, slug: string): TenantRow | undefined {
  return db.get<TenantRow>(`SELECT ${COLUMNS} FROM tenants WHERE slug = ?`, slug);
}

export function insertTenant(db: SqlDatabase, row: TenantRow): void {
  db.run(
    `INSERT INTO tenants (id, slug, name, folded_name, status, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    row.slug,
    row.name,
    foldName(row.name),
    row.status,
    row.revision,
    row.createdAtMs,
    row.updatedAtMs,
  );
}

export function updateTenantStatus(db: SqlDatabase, row: TenantRow): void {
  db.run(
    'UPDATE tenants SET status = ?, revision = ?, updated_at = ? WHERE id = ?',
    row.status,
    row.revision,
    row.updatedAtMs,
    row.id,
  );
}

export function renameTenant(db: SqlDatabase, row: TenantRow): void {
  db.run(
    'UPDATE tenants SET name = ?, folded_name = ?, revision = ?, updated_at = ? WHERE id = ?',
    ...[row.name, foldName(row.name), row.revision, row.updatedAtMs, row.id],
  );
}

export interface TenantFilter extends PageRequest {
  /** Only this tenant, for its builder. */
  readonly only?: string | undefined;
  readonly status?: string | undefined;
  readonly q?: string | undefined;
}

export function tenantsPage(filter: TenantFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM tenants`,
      where: { id: filter.only, status: filter.status },
      and: filter.q === undefined ? [] : [beginning(filter.q)],
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listTenants(db: SqlDatabase, filter: TenantFilter): Page<TenantRecord> {
  const { sql, params } = tenantsPage(filter);
  return cutPage(db.all<TenantRow>(sql, ...params), filter.limit, (row) => row.id, tenantOfRow);
}

export function tenantOfRow(row: TenantRow): TenantRecord {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    status: row.status,
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}

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
