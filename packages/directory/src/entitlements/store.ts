/** The entitlements of tenants in SQL. */
import {
  cutPage,
  ENTITLEMENTS_MAX,
  type EntitlementProjection,
  type Page,
  PlatformError,
  type TenantId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { EntitlementRecord } from '../declarations/tenants.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export interface EntitlementRow {
  readonly tenant: TenantId;
  readonly key: string;
  readonly plan: string | null;
  readonly quota: number | null;
  /** Null: it does not expire. */
  readonly expiresAtMs: number | null;
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

const COLUMNS = `tenant, key, plan, quota, expires_at AS expiresAtMs, revision, created_at AS createdAtMs,
  updated_at AS updatedAtMs`;

export function loadEntitlement(
  db: SqlDatabase,
  { tenant, key }: { readonly tenant: string; readonly key: string },
): EntitlementRow | undefined {
  return db.get<EntitlementRow>(
    `SELECT ${COLUMNS} FROM entitlements WHERE tenant = ? AND key = ?`,
    tenant,
    key,
  );
}

export function saveEntitlement(db: SqlDatabase, row: EntitlementRow): void {
  db.run(
    `INSERT INTO entitlements (tenant, key, plan, quota, expires_at, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, key) DO UPDATE SET plan = excluded.plan, quota = excluded.quota,
       expires_at = excluded.expires_at, revision = excluded.revision, updated_at = excluded.updated_at`,
    ...[row.tenant, row.key, row.plan, row.quota, row.expiresAtMs],
    ...[row.revision, row.createdAtMs, row.updatedAtMs],
  );
}

export function deleteEntitlement(db: SqlDatabase, row: EntitlementRow): void {
  db.run('DELETE FROM entitlements WHERE tenant = ? AND key = ?', row.tenant, row.key);
}

/** @throws PlatformError `conflict` when another one would not fit into one delivery. */
export function requireRoom(db: SqlDatabase, tenant: string): void {
  const { count } = db.get<{ count: number }>(
    'SELECT COUNT(*) AS count FROM entitlements WHERE tenant = ?',
    tenant,
  ) ?? { count: 0 };
  if (count < ENTITLEMENTS_MAX) return;
  throw new PlatformError('conflict', `A tenant has at most ${ENTITLEMENTS_MAX} entitlements.`, {
    reason: 'too_many_entitlements',
  });
}

/** All entitlements of a tenant, in the form for its scopes. */
export function loadItems(db: SqlDatabase, tenant: string): EntitlementProjection['items'] {
  const rows = db.all<EntitlementRow>(
    `SELECT ${COLUMNS} FROM entitlements WHERE tenant = ? ORDER BY key`,
    tenant,
  );
  const items = rows.map(({ key, plan, quota, expiresAtMs }) => {
    const expiresAt = expiresAtMs === null ? null : toTimestamp(expiresAtMs);
    return [key, { plan, quota, expiresAt }] as const;
  });
  return Object.fromEntries(items);
}

export interface EntitlementFilter extends PageRequest {
  readonly tenant: string;
}

export function entitlementsPage(filter: EntitlementFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM entitlements`,
      where: { tenant: filter.tenant },
      key: 'key',
      order: 'ASC',
    },
    filter,
  );
}

export function listEntitlements(
  db: SqlDatabase,
  filter: EntitlementFilter,
  nowMs: number,
): Page<EntitlementRecord> {
  const { sql, params } = entitlementsPage(filter);
  return cutPage(
    db.all<EntitlementRow>(sql, ...params),
    filter.limit,
    (row) => row.key,
    (row) => entitlementOfRow(row, nowMs),
  );
}

export function entitlementOfRow(row: EntitlementRow, nowMs: number): EntitlementRecord {
  const { tenant, key, plan, quota, expiresAtMs } = row;
  return {
    tenant,
    key,
    plan,
    quota,
    expiresAt: expiresAtMs === null ? null : toTimestamp(expiresAtMs),
    state: expiresAtMs !== null && expiresAtMs <= nowMs ? 'lapsed' : 'active',
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}
