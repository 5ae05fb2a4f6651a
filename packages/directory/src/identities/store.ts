/** The identities of tenants at identity providers, in SQL. */
import { cutPage, type Page, PlatformError, type TenantId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { IdentityRecord } from '../declarations/tenants.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import type { Issuer } from './issuer.ts';

export interface IdentityRow extends Issuer {
  readonly id: string;
  readonly tenant: TenantId;
  readonly kind: IdentityRecord['kind'];
  /** Empty for a whole issuer. */
  readonly value: string;
  readonly label: string | null;
  readonly revision: number;
  readonly createdAtMs: number;
}

const COLUMNS =
  'id, tenant, kind, issuer, issuer_key AS issuerKey, value, label, revision, created_at AS createdAtMs';

export function insertIdentity(db: SqlDatabase, row: IdentityRow): void {
  db.run(
    `INSERT INTO tenant_identities (id, tenant, kind, issuer, issuer_key, value, label, revision, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.id, row.tenant, row.kind, row.issuer, row.issuerKey, row.value, row.label],
    ...[row.revision, row.createdAtMs],
  );
}

export function deleteIdentity(db: SqlDatabase, id: string): void {
  db.run('DELETE FROM tenant_identities WHERE id = ?', id);
}

/** The record with this kind and value. */
export function loadIdentity(
  db: SqlDatabase,
  { issuerKey, kind, value }: Pick<IdentityRow, 'issuerKey' | 'kind' | 'value'>,
): IdentityRow | undefined {
  return db.get<IdentityRow>(
    `SELECT ${COLUMNS} FROM tenant_identities WHERE issuer_key = ? AND kind = ? AND value = ?`,
    ...[issuerKey, kind, value],
  );
}

/**
 * Another tenant's record that excludes this one: its whole issuer, or, for a whole issuer, any record of that issuer.
 */
export function loadForeign(
  db: SqlDatabase,
  { issuerKey, kind, tenant }: Pick<IdentityRow, 'issuerKey' | 'kind' | 'tenant'>,
): IdentityRow | undefined {
  const of = kind === 'issuer' ? '' : " AND kind = 'issuer'";
  return db.get<IdentityRow>(
    `SELECT ${COLUMNS} FROM tenant_identities WHERE issuer_key = ?${of} AND tenant <> ? LIMIT 1`,
    ...[issuerKey, tenant],
  );
}

/** @throws PlatformError `not_found`, also for one of another tenant. */
export function requireIdentity(
  db: SqlDatabase,
  { tenant, identity }: { readonly tenant: string; readonly identity: string },
): IdentityRow {
  const row = db.get<IdentityRow>(
    `SELECT ${COLUMNS} FROM tenant_identities WHERE id = ? AND tenant = ?`,
    identity,
    tenant,
  );
  if (row) return row;
  throw new PlatformError('not_found', 'This tenant has no such identity.', { reason: 'unknown_identity' });
}

export interface IdentityFilter extends PageRequest {
  readonly tenant: string;
}

export function identitiesPage(filter: IdentityFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM tenant_identities`,
      where: { tenant: filter.tenant },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listIdentities(db: SqlDatabase, filter: IdentityFilter): Page<IdentityRecord> {
  const { sql, params } = identitiesPage(filter);
  return cutPage(db.all<IdentityRow>(sql, ...params), filter.limit, (row) => row.id, identityOfRow);
}

export function identityOfRow({
  issuerKey: _,
  revision,
  createdAtMs,
  value,
  ...row
}: IdentityRow): IdentityRecord {
  return {
    ...row,
    value: value === '' ? null : value,
    createdAt: toTimestamp(createdAtMs),
    etag: String(revision),
  };
}
