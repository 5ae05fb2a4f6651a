/**
 * The erasure of a tenant in SQL: counted for a plan, and performed piece by piece. Each piece is one transaction and may be
 * repeated, so that an interrupted reap is simply repeated.
 *
 * The row of the tenant with its slug stays, and so do the rows of its scopes, its revoked tokens, and the logs, which name
 * them.
 */
import type { SqlDatabase, SqlValue } from '@freehold/store';
import { REAP_PLAN_NAMES_MAX, type TenantErasure, type TenantReapPlan } from '../declarations/tenants.ts';
import type { TenantRow } from '../tenants/store.ts';

const PUSH_TOKENS = "tokens WHERE tenant = ? AND kind = 'push' AND revoked_at IS NULL";
/** The rows of each kind, to count them and to name them in a plan. `?` is the tenant. */
export const ERASED: Readonly<Record<keyof TenantErasure, string>> = {
  scopes: "scopes WHERE tenant = ? AND status <> 'reaped'",
  snapshots: 'snapshots WHERE scope IN (SELECT id FROM scopes WHERE tenant = ?)',
  hostnames: 'hostnames WHERE tenant = ?',
  connections: 'connections WHERE tenant = ?',
  connectionGrants: 'connection_grants WHERE connection IN (SELECT id FROM connections WHERE tenant = ?)',
  pushTokens: PUSH_TOKENS,
  builders: 'staff WHERE tenant = ?',
  identities: 'tenant_identities WHERE tenant = ?',
  entitlements: 'entitlements WHERE tenant = ?',
  secrets: 'vertical_secrets WHERE vertical IN (SELECT slug FROM verticals WHERE owner_tenant = ?)',
  previews: 'previews WHERE tenant = ?',
  // Includes the backups of scopes that were reaped, or lost by a restore of the directory.
  backups: 'backups WHERE tenant = ?',
};

export function countErasure(db: SqlDatabase, tenant: string): TenantErasure {
  const counts = Object.entries(ERASED).map(([name, from]) => {
    const row = db.get<{ count: number }>(`SELECT COUNT(*) AS count FROM ${from}`, tenant);
    return [name, row?.count ?? 0] as const;
  });
  return Object.fromEntries(counts) as TenantErasure;
}

export function planErasure(db: SqlDatabase, { id, slug }: TenantRow): TenantReapPlan {
  const counts = countErasure(db, id);
  const named = <T extends Readonly<Record<string, SqlValue>>>(
    columns: string,
    from: string,
    order: string,
  ): T[] => db.all<T>(`SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ?`, id, REAP_PLAN_NAMES_MAX);
  const hostnames = named<{ hostname: string }>('hostname', ERASED.hostnames, 'hostname');
  return {
    dryRun: true,
    tenant: id,
    slug,
    counts,
    scopes: named('id, slug, vertical, status', ERASED.scopes, 'id'),
    hostnames: hostnames.map(({ hostname }) => hostname),
    connections: named('id, provider, state', ERASED.connections, 'id'),
    pushTokens: named('id, name', PUSH_TOKENS, 'id'),
    truncated: [counts.scopes, counts.hostnames, counts.connections, counts.pushTokens].some(
      (each) => each > REAP_PLAN_NAMES_MAX,
    ),
  };
}

/** Erases the directory's rows of a scope that its vertical has deleted; a tombstone stays. */
export function eraseScope(
  db: SqlDatabase,
  { scope, revision, nowMs }: { readonly scope: string; readonly revision: number; readonly nowMs: number },
): void {
  for (const table of [
    ...['hostnames', 'snapshots', 'entitlement_outbox', 'role_outbox'],
    ...['scope_versions', 'scope_migrations'],
  ])
    db.run(`DELETE FROM ${table} WHERE scope = ?`, scope);
  db.run(
    "UPDATE scopes SET status = 'reaped', revision = ?, updated_at = ? WHERE id = ? AND status <> 'reaped'",
    ...[revision, nowMs, scope],
  );
}

/** Erases a connection with its sealed credential, grants and activity. */
export function eraseConnection(db: SqlDatabase, connection: string): void {
  db.run('DELETE FROM connection_credentials WHERE connection = ?', connection);
  db.run('DELETE FROM connection_grants WHERE connection = ?', connection);
  db.run('DELETE FROM connection_activity WHERE connection = ?', connection);
  db.run('DELETE FROM connections WHERE id = ?', connection);
}

/** Erases the secrets of the verticals that a tenant owns. Returns these verticals. */
export function eraseSecrets(db: SqlDatabase, tenant: string): string[] {
  const erased = db.all<{ vertical: string }>(`DELETE FROM ${ERASED.secrets} RETURNING vertical`, tenant);
  return [...new Set(erased.map(({ vertical }) => vertical))];
}

/** Erases a reaped tenant again after a restored directory brought its rows back. */
export function eraseAgain(db: SqlDatabase, { tenant, revision, nowMs }: Erasing): void {
  for (const { id } of db.all<{ id: string }>('SELECT id FROM connections WHERE tenant = ?', tenant))
    eraseConnection(db, id);
  for (const { id } of db.all<{ id: string }>('SELECT id FROM scopes WHERE tenant = ?', tenant))
    eraseScope(db, { scope: id, revision, nowMs });
  eraseSecrets(db, tenant);
  eraseRest(db, { tenant, revision, nowMs });
}

interface Erasing {
  readonly tenant: string;
  readonly revision: number;
  readonly nowMs: number;
}

/** Erases the rest beside scopes, connections and secrets. */
export function eraseRest(db: SqlDatabase, { tenant, revision, nowMs }: Erasing): void {
  for (const table of [
    'hostnames',
    'hostname_attempts',
    'tenant_identities',
    'entitlement_outbox',
    'entitlement_sets',
    'entitlements',
    'connect_rounds',
    // Their data went before; a restore of the directory brings rows back.
    'previews',
    // Builders are people of the tenant; their sessions and tokens go with them.
    'staff',
  ])
    db.run(`DELETE FROM ${table} WHERE tenant = ?`, tenant);
  db.run(
    `UPDATE tokens SET revoked_at = ?, revision = ? WHERE tenant = ? AND kind = 'push' AND revoked_at IS NULL`,
    ...[nowMs, revision, tenant],
  );
}
