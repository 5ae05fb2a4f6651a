/** What taking, restoring and deleting copies, and going back in time, do in the vertical. */
import {
  EXPORT_MEDIA_TYPES,
  PlatformError,
  type Restored,
  restoreResponse,
  rewindResponse,
  type ScopeExport,
  type ScopeSnapshots,
  snapshotRecord,
  type VerticalScopeHost,
} from '@freehold/contracts';
import { openBackup, requireStore, verifyBackup } from '../backups/backup-store.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { VerticalGateway } from '../gateway.ts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongDeps, LongEffect } from '../long-work/handlers.ts';
import { askScope } from '../verticals/client.ts';
import { noVertical, requireKnownVertical } from '../verticals/reach.ts';
import type { RestoreWork, scopesRestore, scopesRewind, snapshotsDelete, snapshotsTake } from './copies.ts';
import { planRestore, planRewind } from './copies-plan.ts';
import { scopeRefOf } from './target.ts';

/** How long a vertical may take over a whole database. Shorter than the lease of the intent, so that nobody takes it up meanwhile. */
const COPY_TIMEOUT_MS = 110_000;
/** The same for long work, which nobody takes up meanwhile. */
const RESTORE_TIMEOUT_MS = 60 * 60 * 1000;

export const snapshotEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, scope) => {
    const { body } = call as unknown as CallOf<typeof snapshotsTake>;
    const snapshot = await askScope(deps, scope, {
      path: 'snapshot',
      body,
      answer: snapshotRecord,
      timeoutMs: COPY_TIMEOUT_MS,
      local: (host, ref) => host.snapshotScopeLocal({ ...ref, ...body }),
    });
    return { facts: snapshot };
  },
};

export const rewindEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, scope) => {
    const { body } = call as unknown as CallOf<typeof scopesRewind>;
    const rewound = await askScope(deps, scope, {
      path: 'rewind',
      body,
      answer: rewindResponse,
      timeoutMs: COPY_TIMEOUT_MS,
      local: (host, ref) => host.rewindScopeLocal({ ...ref, ...body }),
    });
    return { facts: rewound };
  },
  plan: planRewind,
};

/**
 * The bytes go from where the copy lies to the vertical as they come. A backup is read through before: what is damaged
 * never gets as far as the vertical.
 */
export const restoreEffect: LongEffect<RestoreWork, Restored> = {
  check: async ({ gateway, backups, target }, call) => {
    const { from } = (call as unknown as CallOf<typeof scopesRestore>).body;
    const { vertical } = (await target(call)).scope;
    if (from.snapshot !== undefined) return void snapshotsOf(gateway, vertical, 'opens none');
    requireStore(backups);
    requireKnownVertical(gateway, vertical);
  },
  plan: planRestore,
  run: async (deps, { scope, from }, run) => {
    if ('backup' in from)
      await run.step('verify', async () => {
        await verifyBackup(requireStore(deps.backups), from.backup, run);
        return null;
      });
    const { format, body } = await openCopy(deps, scope, from);
    try {
      await run.commit();
      return await askScope(deps, scope, {
        path: 'restore',
        query: { format },
        content: { mediaType: EXPORT_MEDIA_TYPES[format], body },
        answer: restoreResponse,
        timeoutMs: RESTORE_TIMEOUT_MS,
        local: (host, ref) => host.restoreScopeLocal({ ...ref, format }, body),
      });
    } finally {
      // What a vertical left unread holds a file open. One that is still reading is not interrupted: it has the lock.
      await body.cancel().catch(() => undefined);
    }
  },
  // People may have gone on working in a scope that was restored: what they wrote since would be lost.
  repeatable: false,
};

async function openCopy(
  { gateway, backups }: LongDeps,
  scope: ScopeRecord,
  from: RestoreWork['from'],
): Promise<Pick<ScopeExport, 'format' | 'body'>> {
  if ('backup' in from)
    return { format: from.backup.format, body: await openBackup(requireStore(backups), from.backup) };
  const keeper = snapshotsOf(gateway, scope.vertical, 'opens none');
  return keeper.openSnapshotLocal({ ...scopeRefOf(scope), snapshot: from.snapshot });
}

export const deleteSnapshotEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    void snapshotsOf(gateway, (await target(call)).scope.vertical, 'deletes none'),
  run: async ({ gateway }, call, scope) => {
    const { snapshot } = (call as unknown as CallOf<typeof snapshotsDelete>).params;
    const keeper = snapshotsOf(gateway, scope.vertical, 'deletes none');
    await keeper.deleteSnapshotLocal({ ...scopeRefOf(scope), snapshot }).catch((error: unknown) => {
      // A call before this one may have deleted it, and its answer was lost.
      if (!(error instanceof PlatformError && error.reason === 'unknown_snapshot')) throw error;
    });
    return { facts: null };
  },
};

/**
 * Where a vertical's snapshots can be opened and deleted: the management contract lets a worker take one and no more.
 * @throws PlatformError `unsupported` (501): reason `no_vertical`, or `snapshots_stay` where nobody can.
 */
function snapshotsOf(gateway: VerticalGateway, vertical: string, what: string): ScopeSnapshots {
  const host: (VerticalScopeHost & Partial<ScopeSnapshots>) | null = gateway.local(vertical);
  if (host?.openSnapshotLocal && host.deleteSnapshotLocal && host.listSnapshotsLocal)
    return host as VerticalScopeHost & ScopeSnapshots;
  if (!host && !gateway.bound(vertical)) throw noVertical(vertical);
  throw new PlatformError(
    'unsupported',
    `The vertical ${vertical} keeps its snapshots to itself: it ${what} for the platform. An export can be kept outside.`,
    { reason: 'snapshots_stay' },
  );
}
