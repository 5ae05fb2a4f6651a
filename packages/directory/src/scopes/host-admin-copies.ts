/** What taking, restoring and deleting copies, and going back in time, do in the vertical. */
import {
  EXPORT_MEDIA_TYPES,
  PlatformError,
  restoreResponse,
  rewindResponse,
  type ScopeSnapshots,
  snapshotRecord,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { scopesRestore, scopesRewind, snapshotsDelete, snapshotsTake } from '../declarations/scopes.ts';
import type { VerticalGateway } from '../gateway.ts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import { askScope } from '../verticals/ask-scope.ts';
import { noVertical, requireKnownVertical } from '../verticals/reach.ts';
import { scopeRefOf } from './target.ts';

/** How long a vertical may take over a whole database. Shorter than the lease of the intent, so that nobody takes it up meanwhile. */
const COPY_TIMEOUT_MS = 110_000;

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
};

/** The bytes go from where the snapshot lies to the vertical as they come. */
export const restoreEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    void snapshotsOf(gateway, (await target(call)).scope.vertical, 'opens none'),
  run: async (deps, call, scope) => {
    const { snapshot } = (call as unknown as CallOf<typeof scopesRestore>).body.from;
    const keeper = snapshotsOf(deps.gateway, scope.vertical, 'opens none');
    const { format, body } = await keeper.openSnapshotLocal({ ...scopeRefOf(scope), snapshot });
    try {
      const restored = await askScope(deps, scope, {
        path: 'restore',
        query: { format },
        content: { mediaType: EXPORT_MEDIA_TYPES[format], body },
        answer: restoreResponse,
        timeoutMs: COPY_TIMEOUT_MS,
        local: (host, ref) => host.restoreScopeLocal({ ...ref, format }, body),
      });
      return { facts: restored };
    } finally {
      // What a vertical left unread holds a file open. One that is still reading is not interrupted: it has the lock.
      await body.cancel().catch(() => undefined);
    }
  },
};

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
