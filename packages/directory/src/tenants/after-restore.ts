/**
 * What a directory that was replaced by an earlier state of itself must not bring back, in the transaction that replaces
 * it: what belonged to tenants and scopes that were reaped since, whatever was taken away since, credentials that were
 * exchanged since, and entitlements and roles that scopes know to have changed.
 */
import { commonSequence } from '../backups/restore-directory.ts';
import { rememberConnections } from '../connections/after-restore.ts';
import { enqueueAll } from '../entitlements/outbox.ts';
import { rememberHolders } from '../hostnames/hostname-history.ts';
import type { LongHandler } from '../long-work/handlers.ts';
import { reapplyRevocations } from '../revocations/store.ts';
import { enqueueEveryScope } from '../roles/outbox.ts';
import { forgetScope } from '../scopes/forget-scope.ts';
import { deriveOwners } from '../tokens/store.ts';
import { eraseAgain } from './erasure.ts';

/** Adds all of it to the handler of the restore. */
export function afterRestore(handler: LongHandler): LongHandler {
  return {
    ...handler,
    settle: (context, work, facts) => {
      const { db, revision } = context;
      const nowMs = context.now();
      const keepConnections = rememberConnections(db);
      const hasRoles = () => db.get('SELECT 1 FROM role_set') !== undefined;
      const hadRoles = hasRoles();
      const since = commonSequence(db);
      const { result, audit, ...ending } = handler.settle(context, work, facts);
      keepConnections();
      deriveOwners(db);
      // Before any of it is taken away again: whoever held a name held it.
      rememberHolders(db);
      const keptAway = reapplyRevocations(db, { since, revision, nowMs });
      const reaped = db.all<{ id: string }>("SELECT id FROM tenants WHERE status = 'reaped' ORDER BY id");
      for (const { id } of reaped) eraseAgain(db, { tenant: id, revision, nowMs });
      for (const { id } of db.all<{ id: string }>(
        "SELECT id FROM scopes WHERE status = 'reaped' ORDER BY id",
      ))
        forgetScope(db, { scope: id, revision, nowMs });
      enqueueAll(context, revision);
      if (hadRoles || hasRoles()) enqueueEveryScope(context, revision);
      return {
        ...ending,
        result: { ...(result as object), keptAway },
        audit: { ...audit, after: { ...audit.after, keptAway } },
      };
    },
  };
}
