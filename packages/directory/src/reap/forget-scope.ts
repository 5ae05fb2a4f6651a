/**
 * Forgets a reaped scope. Its record stays as a tombstone, and so do the logs, the usage lines, the list of its backups and
 * the receipts of erasures.
 *
 * A connection was made in one scope and may have grants in others. With a grant elsewhere it goes on working and belongs to
 * that scope; without one it is erased. Its credential was revoked before, where the provider supports that.
 */
import type { SqlDatabase } from '@freehold/store';
import { actsElsewhere, connectionsOfScope, moveConnection } from '../connections/store.ts';
import { forgetSnapshots } from '../copies/snapshot-store.ts';
import { eraseConnection } from './erasure.ts';

export interface ForgottenConnections {
  /** Erased with their credentials and grants. */
  readonly erased: readonly string[];
  /** Moved to another scope in which they have grants. */
  readonly moved: readonly string[];
}

/** Tables whose rows belong to one scope, by their column `scope`. Each has an index of it. */
export const OF_SCOPE = [
  ...['hostnames', 'scope_versions', 'scope_migrations', 'entitlement_outbox', 'role_outbox'],
  ...['connection_grants', 'connect_rounds'],
] as const;

/** Forgets the scope. Repeating it does nothing. */
export function forgetScope(
  db: SqlDatabase,
  { scope, revision, nowMs }: { readonly scope: string; readonly revision: number; readonly nowMs: number },
): ForgottenConnections {
  const erased: string[] = [];
  const moved: string[] = [];
  for (const { connection } of connectionsOfScope(db, scope)) {
    const to = actsElsewhere(db, { connection, scope });
    if (to === null) eraseConnection(db, connection);
    else moveConnection(db, { connection, to, revision, nowMs });
    (to === null ? erased : moved).push(connection);
  }
  forgetSnapshots(db, scope);
  for (const table of OF_SCOPE) db.run(`DELETE FROM ${table} WHERE scope = ?`, scope);
  return { erased, moved };
}
