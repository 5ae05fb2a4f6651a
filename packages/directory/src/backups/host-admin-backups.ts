/** What backups are made of, and where they go: the halves of these operations that lie outside of the directory. */
import { PlatformError } from '@freehold/contracts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { Effect } from '../lib/effects.ts';
import type { LongDeps, LongEffect, LongRun } from '../long-work/handlers.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import type { BackupStore } from './backup-store.ts';
import type { DirectoryBackupWork, ScopeBackupWork } from './operations.ts';
import { requireStore, type WrittenBackup, writeBackup } from './write-backup.ts';

export const scopeBackupEffect: LongEffect<ScopeBackupWork, WrittenBackup> = {
  check: async ({ backups, gateway, target }, call) => {
    requireStore(backups);
    requireKnownVertical(gateway, (await target(call)).scope.vertical);
  },
  run: (deps, work, run) => run.step('backup', () => backUp(deps, work, run)),
  cleanUp: ({ backups }, { order }) => requireStore(backups).delete(order.address),
};

export const directoryBackupEffect: LongEffect<DirectoryBackupWork, WrittenBackup> = {
  check: async (deps) => {
    requireStore(deps.backups);
    requireDirectoryCopy(deps);
  },
  run: (deps, order, run) =>
    run.step('backup', async () =>
      writeBackup(requireStore(deps.backups), order, await requireDirectoryCopy(deps)(), run),
    ),
  cleanUp: ({ backups }, { address }) => requireStore(backups).delete(address),
};

/** Copies one scope into the backup store. It may be done again: the same backup comes of it. */
export async function backUp(
  deps: LongDeps,
  { scope, order, format }: ScopeBackupWork,
  run: LongRun,
): Promise<WrittenBackup> {
  const store = requireStore(deps.backups);
  return writeBackup(store, order, await openScopeCopy(deps, scope, format), run);
}

export const makeDeleteBackupEffect = (backups: BackupStore | null): Effect<BackupRecord> => ({
  check: async () => void requireStore(backups),
  run: async (_deps, _call, { address }) => {
    await requireStore(backups).delete(address);
    return { facts: null };
  },
});

/** @throws PlatformError `unsupported` (501), reason `engine_cannot`. */
function requireDirectoryCopy({ copyDirectory }: LongDeps): NonNullable<LongDeps['copyDirectory']> {
  if (copyDirectory) return copyDirectory;
  throw new PlatformError('unsupported', 'The engine that this platform runs on copies no database.', {
    reason: 'engine_cannot',
  });
}
