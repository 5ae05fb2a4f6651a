/**
 * Ends a restore of the directory, in its transaction: keeps the credentials of connections, applies the revocations,
 * erases reaped tenants and scopes again, and enqueues the restored entitlements and roles for every scope.
 */

import { rememberConnections } from '../connections/connection-record.ts';
import { entitlementProjection } from '../entitlements/projection.ts';
import { completeAreas } from '../hostnames/given-names.ts';
import { rememberHolders } from '../hostnames/hostname-history.ts';
import type { LongHandler } from '../lib/handlers.ts';
import { enqueueChange } from '../projector/outbox.ts';
import { eraseAgain } from '../reap/erasure.ts';
import { forgetScope } from '../reap/forget-scope.ts';
import { reapplyRevocations } from '../revocations/store.ts';
import { roleProjection } from '../roles/projection.ts';
import { completeRestoredTokens } from '../tokens/store.ts';
import { commonSequence } from './operations.ts';

/** Extends the handler of the restore. */
export function afterRestore(handler: LongHandler): LongHandler {
  return {
    ...handler,
    settle: (context, work, facts) => {
      const { db, revision } = context;
      const nowMs = context.now();
      const keepConnections = rememberConnections(db);
      const hadRoles = roleProjection.revision(db, '') > 0;
      const since = commonSequence(db);
      const { result, audit, ...ending } = handler.settle(context, work, facts);
      keepConnections();
      completeRestoredTokens(db);
      completeAreas(db);
      // Before revocations unbind names: a tenant that held a name stays in its history.
      rememberHolders(db);
      const keptAway = reapplyRevocations(db, { since, revision, nowMs });
      const reaped = db.all<{ id: string }>("SELECT id FROM tenants WHERE status = 'reaped' ORDER BY id");
      for (const { id } of reaped) eraseAgain(db, { tenant: id, revision, nowMs });
      for (const { id } of db.all<{ id: string }>(
        "SELECT id FROM scopes WHERE status = 'reaped' ORDER BY id",
      ))
        forgetScope(db, { scope: id, revision, nowMs });
      // Scopes have confirmed newer revisions than the restored ones.
      const change = { tenant: null, revision };
      enqueueChange(context, entitlementProjection, change);
      if (hadRoles || roleProjection.revision(db, '') > 0) enqueueChange(context, roleProjection, change);
      return {
        ...ending,
        result: { ...(result as object), keptAway },
        audit: { ...audit, after: { ...audit.after, keptAway } },
      };
    },
  };
}
