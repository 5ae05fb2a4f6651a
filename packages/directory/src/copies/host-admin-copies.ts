/** The effects of copies and rewinds in the vertical. */
import {
  EXPORT_MEDIA_TYPES,
  PlatformError,
  type Restored,
  restoreResponse,
  rewindResponse,
  type ScopeSnapshots,
  snapshotDeleted,
  snapshotRecord,
  type VerticalScopeHost,
} from '@freehold/contracts';
import { requireStore, verifyBackup } from '../backups/backup-store.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, Effects } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongEffect } from '../long-work/effects.ts';
import { askScope } from '../verticals/client.ts';
import { ifMissing, presenceOf } from '../verticals/examine-copy.ts';
import { snapshotsStay } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import { openCopy, orSnapshotsStay } from './copy-source.ts';
import type {
  RestoreWork,
  scopesRestore,
  scopesRewind,
  snapshotsDelete,
  snapshotsTake,
} from './operations.ts';
import { planRestore, planRewind, type RestoreDeps } from './plans.ts';

/** The time limit for a whole database. Shorter than the lease of the intent, so that no other call resumes it meanwhile. */
const COPY_TIMEOUT_MS = 110_000;
/** The same for long work, which keeps its lease. */
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

const rewindEffect: Effect<ScopeRecord> = {
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
 * The bytes stream from the store to the vertical. A backup is verified before, so that a damaged one never reaches the
 * vertical.
 */
export const restoreEffect: LongEffect<RestoreWork, Restored, RestoreDeps> = {
  check: async ({ gateway, backups, target }, call) => {
    const { from } = (call as unknown as CallOf<typeof scopesRestore>).body;
    const { vertical } = (await target(call)).scope;
    if (from.snapshot === undefined) requireStore(backups);
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
      const query = { format, ...ifMissing(await presenceOf(deps, scope)) };
      await run.commit();
      return await askScope(deps, scope, {
        path: 'restore',
        query,
        content: { mediaType: EXPORT_MEDIA_TYPES[format], body },
        answer: restoreResponse,
        timeoutMs: RESTORE_TIMEOUT_MS,
        local: (host, ref) => host.restoreScopeLocal({ ...ref, ...query }, body),
      });
    } finally {
      // Unread bytes hold a file open. A vertical that is still reading has the lock and is not interrupted.
      await body.cancel().catch(() => undefined);
    }
  },
  // Members may have worked in the restored scope: a second restore would lose their changes.
  repeatable: false,
};

const deleteSnapshotEffect: Effect<ScopeRecord> = {
  check: async ({ gateway, target }, call) =>
    requireKnownVertical(gateway, (await target(call)).scope.vertical),
  run: async (deps, call, scope) => {
    const { snapshot } = (call as unknown as CallOf<typeof snapshotsDelete>).params;
    const asked = askScope(deps, scope, {
      path: 'snapshot/delete',
      body: { snapshot },
      answer: snapshotDeleted,
      local: async (host: VerticalScopeHost & Partial<ScopeSnapshots>, ref) => {
        if (!host.deleteSnapshotLocal) throw snapshotsStay(scope.vertical);
        await host.deleteSnapshotLocal({ ...ref, snapshot });
        return { snapshot };
      },
    });
    await orSnapshotsStay(scope, asked).catch((error: unknown) => {
      // An earlier call may have deleted it, and its answer was lost.
      if (!(error instanceof PlatformError && error.reason === 'unknown_snapshot')) throw error;
    });
    return { facts: null };
  },
};

/** The effects of copies, by operation. */
export const copyEffects: Effects = {
  'scopes.rewind': rewindEffect,
  'snapshots.take': snapshotEffect,
  'snapshots.delete': deleteSnapshotEffect,
};
