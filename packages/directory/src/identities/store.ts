/** The identities of tenants at identity providers, in SQL. */
import { PlatformError, type TenantId } from '@freehold/contracts';
import {
  defineTable,
  hidden,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type { IdentityRecord } from '../declarations/tenants.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';

const identities = defineTable('tenant_identities', ['id'], {
  id: text(),
  tenant: text<TenantId>(),
  kind: text<IdentityRecord['kind']>(),
  issuer: text(),
  issuerKey: hidden(text()),
  /** Empty for a whole issuer. */
  value: text(),
  label: nullable(text()),
  createdAtMs: time(),
  revision: revision(),
});
export type IdentityRow = RowOf<typeof identities>;

export const insertIdentity = identities.insert;
export const deleteIdentity = identities.delete;
/** The record with this kind and value. */
export const loadIdentity = identities.finding('issuerKey', 'kind', 'value');
const ofTenant = identities.finding('id', 'tenant');
const shown = identities.recording<Omit<IdentityRecord, 'value'> & { value: string }>();

/**
 * Another tenant's record that excludes this one: its whole issuer, or, for a whole issuer, any record of that issuer.
 */
export function loadForeign(
  db: SqlDatabase,
  { issuerKey, kind, tenant }: Pick<IdentityRow, 'issuerKey' | 'kind' | 'tenant'>,
): IdentityRow | undefined {
  const of = kind === 'issuer' ? '' : " AND kind = 'issuer'";
  return identities.first(
    db,
    `${identities.select} WHERE issuer_key = ?${of} AND tenant <> ? LIMIT 1`,
    ...[issuerKey, tenant],
  );
}

/** @throws PlatformError `not_found`, also for one of another tenant. */
export function requireIdentity(
  db: SqlDatabase,
  { tenant, identity }: { readonly tenant: string; readonly identity: string },
): IdentityRow {
  const row = ofTenant(db, { id: identity, tenant });
  if (row) return row;
  throw new PlatformError('not_found', 'This tenant has no such identity.', { reason: 'unknown_identity' });
}

export interface IdentityFilter extends PageRequest {
  readonly tenant: string;
}

export const { statement: identitiesPage, list: listIdentities } = definePages({
  from: identities,
  where: ({ tenant }: IdentityFilter) => ({ tenant }),
  key: 'id',
  item: identityOfRow,
});

export function identityOfRow(row: IdentityRow): IdentityRecord {
  return { ...shown(row), value: row.value === '' ? null : row.value };
}
