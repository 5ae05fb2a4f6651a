/** The entitlements of tenants in SQL. */
import {
  ENTITLEMENTS_MAX,
  type EntitlementProjection,
  PlatformError,
  type TenantId,
  toTimestamp,
} from '@freehold/contracts';
import {
  defineTable,
  integer,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { EntitlementRecord } from '../declarations/tenants.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const entitlements = defineTable('entitlements', ['tenant', 'key'], {
  tenant: text<TenantId>(),
  key: text(),
  plan: nullable(text()),
  quota: nullable(integer()),
  /** Null: it does not expire. */
  expiresAtMs: nullable(time()),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});
export type EntitlementRow = RowOf<typeof entitlements>;

export const loadEntitlement = entitlements.get;
export const saveEntitlement = entitlements.saving('plan', 'quota', 'expiresAtMs', 'revision', 'updatedAtMs');
export const deleteEntitlement = entitlements.delete;
const shown = entitlements.recording<Omit<EntitlementRecord, 'state'>>();

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
  const rows = entitlements.all(db, `${entitlements.select} WHERE tenant = ? ORDER BY key`, tenant);
  const items = rows.map(({ key, plan, quota, expiresAtMs }) => {
    const expiresAt = expiresAtMs === null ? null : toTimestamp(expiresAtMs);
    return [key, { plan, quota, expiresAt }] as const;
  });
  return Object.fromEntries(items);
}

export interface EntitlementFilter extends PageRequest {
  readonly tenant: string;
}

export const { statement: entitlementsPage, list: listEntitlements } = definePages({
  from: entitlements,
  where: ({ tenant }: EntitlementFilter) => ({ tenant }),
  key: 'key',
  item: entitlementOfRow,
});

export function entitlementOfRow(row: EntitlementRow, nowMs: number): EntitlementRecord {
  const { expiresAtMs } = row;
  const state = expiresAtMs !== null && expiresAtMs <= nowMs ? 'lapsed' : 'active';
  return { ...shown(row), state };
}
