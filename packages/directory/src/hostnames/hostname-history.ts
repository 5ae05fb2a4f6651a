/**
 * Who ever held a host name. A name that somebody held may still lead to this platform long after they left: whoever binds
 * it then could prove it by the document, which the platform answers by itself. So it is remembered for good, beyond
 * unbinding, reaping and restoring.
 */
import type { SqlDatabase } from '@freehold/store';

/** Remembers a tenant as a holder. */
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

/** Remembers whoever holds a name now: a restored directory may come from before they were remembered. */
export function rememberHolders(db: SqlDatabase): void {
  db.run(
    `INSERT INTO hostname_holders (hostname, tenant, since)
     SELECT hostname, tenant, coalesce(verified_at, updated_at) FROM hostnames WHERE status IN ('active', 'disabled')
     ON CONFLICT DO NOTHING`,
  );
}

export const HELD_BY_OTHER = 'SELECT 1 FROM hostname_holders WHERE hostname = ? AND tenant <> ? LIMIT 1';

/** Whether any other tenant holds a name, or ever held it. */
export function wasHeldByOther(
  db: SqlDatabase,
  { hostname, tenant }: { readonly hostname: string; readonly tenant: string },
): boolean {
  return db.get(HELD_BY_OTHER, hostname, tenant) !== undefined;
}
