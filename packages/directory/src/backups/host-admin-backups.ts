/** The effects of backups: copies into the place of backups, and their deletion there. */
import { PlatformError, type ScopeExport } from '@freehold/contracts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { Effect } from '../lib/effects.ts';
import type { LongEffect, LongRun } from '../long-work/effects.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import {
  type BackupDeps,
  type BackupStore,
  requireStore,
  type WrittenBackup,
  writeBackup,
} from './backup-store.ts';
import type { DirectoryBackupWork, ScopeBackupWork } from './operations.ts';

export const scopeBackupEffect: LongEffect<ScopeBackupWork, WrittenBackup, BackupDeps> = {
  check: async ({ backups, gateway, target }, call) => {
    requireStore(backups);
    requireKnownVertical(gateway, (await target(call)).scope.vertical);
  },
  run: (deps, work, run) => run.step('backup', () => backUp(deps, work, run)),
  cleanUp: ({ backups }, { order }) => requireStore(backups).delete(order.address),
};

/** Copies the directory itself, as text; null where the engine cannot. */
type CopyDirectory = (() => Promise<ScopeExport>) | null;

export const directoryBackupEffect: LongEffect<
  DirectoryBackupWork,
  WrittenBackup,
  BackupDeps & { readonly copyDirectory: CopyDirectory }
> = {
  check: async (deps) => {
    requireStore(deps.backups);
    requireDirectoryCopy(deps.copyDirectory);
  },
  run: (deps, order, run) =>
    run.step('backup', async () =>
      writeBackup(requireStore(deps.backups), order, await requireDirectoryCopy(deps.copyDirectory)(), run),
    ),
  cleanUp: ({ backups }, { address }) => requireStore(backups).delete(address),
};

/** Copies one scope into the backup store. Repeating it makes the same backup. */
export async function backUp(
  deps: BackupDeps,
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
function requireDirectoryCopy(copyDirectory: CopyDirectory): NonNullable<CopyDirectory> {
  if (copyDirectory) return copyDirectory;
  throw new PlatformError('unsupported', 'The engine that this platform runs on copies no database.', {
    reason: 'engine_cannot',
  });
}
