/** The host names in SQL. A name is bound once across the whole platform. */
import { cutPage, type Page, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { Migration, SqlDatabase } from '@freehold/store';
import type { HostnameRecord } from '../declarations/records.ts';
import type { HostRoute } from '../host-admin.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export const hostnamesMigration: Migration = {
  version: 3,
  name: 'host names',
  sql: `
    CREATE TABLE hostnames (
      hostname TEXT PRIMARY KEY,
      tenant TEXT NOT NULL REFERENCES tenants (id),
      scope TEXT NOT NULL REFERENCES scopes (id),
      surface TEXT NOT NULL,
      status TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hostnames_tenant ON hostnames (tenant);
    CREATE INDEX hostnames_scope ON hostnames (scope);
    CREATE INDEX hostnames_status ON hostnames (status);
  `,
};

const COLUMNS =
  'hostname, tenant, scope, surface, status, revision, created_at AS createdAtMs, updated_at AS updatedAtMs';

export interface HostnameRow {
  readonly hostname: string;
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly surface: string;
  readonly status: HostnameRecord['status'];
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export function loadHostname(db: SqlDatabase, hostname: string): HostnameRow | undefined {
  return db.get<HostnameRow>(`SELECT ${COLUMNS} FROM hostnames WHERE hostname = ?`, hostname);
}

/** The name at which a scope's application is reached: of its active `app` names the one bound first, or null. */
export function loadAppHostname(db: SqlDatabase, scope: string): string | null {
  const row = db.get<{ hostname: string }>(
    `SELECT hostname FROM hostnames WHERE scope = ? AND surface = 'app' AND status = 'active'
     ORDER BY created_at, hostname LIMIT 1`,
    scope,
  );
  return row?.hostname ?? null;
}

export function insertHostname(db: SqlDatabase, row: HostnameRow): void {
  db.run(
    `INSERT INTO hostnames (hostname, tenant, scope, surface, status, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    row.hostname,
    row.tenant,
    row.scope,
    row.surface,
    row.status,
    row.revision,
    row.createdAtMs,
    row.updatedAtMs,
  );
}

export function updateHostnameStatus(db: SqlDatabase, row: HostnameRow): void {
  db.run(
    'UPDATE hostnames SET status = ?, revision = ?, updated_at = ? WHERE hostname = ?',
    row.status,
    row.revision,
    row.updatedAtMs,
    row.hostname,
  );
}

export interface HostnameFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly status?: string | undefined;
}

export function hostnamesPage(filter: HostnameFilter): Statement {
  const { tenant, scope, status } = filter;
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM hostnames`,
      where: { tenant, scope, status },
      key: 'hostname',
      order: 'ASC',
    },
    filter,
  );
}

export function listHostnames(db: SqlDatabase, filter: HostnameFilter): Page<HostnameRecord> {
  const { sql, params } = hostnamesPage(filter);
  return cutPage(db.all<HostnameRow>(sql, ...params), filter.limit, (row) => row.hostname, hostnameOfRow);
}

export function hostnameOfRow(row: HostnameRow): HostnameRecord {
  return {
    hostname: row.hostname,
    tenant: row.tenant,
    scope: row.scope,
    surface: row.surface,
    status: row.status,
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}

/** Where every active name leads, for the router's map: everything but the version, which the wiring knows. */
export type StoredRoute = Omit<HostRoute, 'version'>;

export function loadRoutes(db: SqlDatabase): StoredRoute[] {
  const rows = db.all<Omit<StoredRoute, 'serving'> & { serving: number }>(
    `SELECT h.hostname, h.surface, h.tenant, h.scope, s.vertical,
       (t.status = 'active' AND s.status = 'active') AS serving
     FROM hostnames h JOIN scopes s ON s.id = h.scope JOIN tenants t ON t.id = h.tenant
     WHERE h.status = 'active' ORDER BY h.hostname`,
  );
  return rows.map((row) => ({ ...row, serving: row.serving === 1 }));
}
