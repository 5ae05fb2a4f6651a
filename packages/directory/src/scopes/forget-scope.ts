/**
 * What the directory knows of a scope, and forgets when the scope is gone. What stays is its record as a tombstone, the
 * logs, what is billed, the list of its backups and the receipts of erasures.
 *
 * A connection was made in one scope, and may be let into others. One that acts in another scope goes on working there,
 * and belongs to it from then on; one that acts nowhere else has nobody left whom it could serve, and is gone: its
 * credential was revoked before, where the provider takes that.
 */
import type { SqlDatabase } from '@freehold/store';
import { actsElsewhere, connectionsOfScope, moveConnection } from '../connections/store.ts';
import { eraseConnection } from '../tenants/erasure.ts';
import { forgetSnapshots } from './snapshot-store.ts';

export interface ForgottenConnections {
  /** Erased with their credentials and grants. */
  readonly erased: readonly string[];
  /** Let go of this scope, and at home in another one now. */
  readonly moved: readonly string[];
}

/** Tables whose rows belong to one scope, by their column `scope`. Each has an index of it. */
export const OF_SCOPE = [
  ...['hostnames', 'scope_versions', 'scope_migrations', 'entitlement_outbox', 'role_outbox'],
  ...['connection_grants', 'connect_rounds'],
] as const;

/** Forgets all of it. Doing it again does nothing. */
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
