/**
 * What a directory that was replaced by an earlier state of itself must not bring back, in the transaction that replaces
 * it: what belonged to tenants that were reaped since, and entitlements that scopes know to have changed.
 */

import { oweEverybody } from '../entitlements/outbox.ts';
import type { LongHandler } from '../long-work/handlers.ts';
import { eraseAgain } from './erasure.ts';

/** Adds both to the handler of the restore. */
export function afterRestore(handler: LongHandler): LongHandler {
  return {
    ...handler,
    settle: (context, work, facts) => {
      const ending = handler.settle(context, work, facts);
      const { db, revision } = context;
      const nowMs = context.now();
      const reaped = db.all<{ id: string }>("SELECT id FROM tenants WHERE status = 'reaped' ORDER BY id");
      for (const { id } of reaped) eraseAgain(db, { tenant: id, revision, nowMs });
      oweEverybody(context, revision);
      return ending;
    },
  };
}
