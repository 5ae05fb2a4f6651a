/**
 * Remembers for good which tenants held a host name, beyond unbinding, reaping and restoring. A name may lead to this
 * platform long after its holder left; the next tenant could then prove it by the document, which the platform itself
 * answers.
 */
import type { SqlDatabase } from '@freehold/store';

export function rememberHolder(
  db: SqlDatabase,
  {
    hostname,
    tenant,
    sinceMs,
  }: { readonly hostname: string; readonly tenant: string; readonly sinceMs: number },
): void {
  db.run(
    'INSERT INTO hostname_holders (hostname, tenant, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ...[hostname, tenant, sinceMs],
  );
}

/** Remembers the present holders: a restored directory may be older than the memory of them. */
export function rememberHolders(db: SqlDatabase): void {
  db.run(
    `INSERT INTO hostname_holders (hostname, tenant, since)
     SELECT hostname, tenant, coalesce(verified_at, updated_at) FROM hostnames WHERE status IN ('active', 'disabled')
     ON CONFLICT DO NOTHING`,
  );
}

export const HELD_BY_OTHER = 'SELECT 1 FROM hostname_holders WHERE hostname = ? AND tenant <> ? LIMIT 1';

/** Whether another tenant holds a name, or ever held it. */
export function wasHeldByOther(
  db: SqlDatabase,
  { hostname, tenant }: { readonly hostname: string; readonly tenant: string },
): boolean {
  return db.get(HELD_BY_OTHER, hostname, tenant) !== undefined;
}

export const HELD_BY = 'SELECT 1 FROM hostname_holders WHERE hostname = ? AND tenant = ?';

/** Whether a tenant holds a name, or ever held it. */
export function wasHeldBy(
  db: SqlDatabase,
  { hostname, tenant }: { readonly hostname: string; readonly tenant: string },
): boolean {
  return db.get(HELD_BY, hostname, tenant) !== undefined;
}
