/** What backups are made of, and where they go: the halves of these operations that lie outside of the directory. */
import {
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  ID_PREFIXES,
  PlatformError,
  type ScopeExport,
} from '@freehold/contracts';
import type { AdminCall } from '../actors.ts';
import type { BackupRecord, importsCreate } from '../declarations/backups.ts';
import type { Effect, EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongDeps, LongEffect, LongRun } from '../long-work/handlers.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import type { BackupStore } from './backup-store.ts';
import { dropCopy } from './incoming.ts';
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

/**
 * Takes the bytes of a copy that comes from outside, and answers the call that makes them known. Whoever performs it
 * calls `drop` when that fails.
 */
export async function receiveImport(
  { target, backups, newId, directory }: EffectDeps & ImportDeps,
  call: AdminCall,
): Promise<{ readonly call: AdminCall; readonly drop: () => Promise<void> }> {
  const { params } = call as unknown as CallOf<typeof importsCreate>;
  const { upload } = call;
  if (!upload) throw new TypeError('an import came without its bytes');
  try {
    const store = requireStore(backups);
    await target(call);
    const format = formatOf(upload.mediaType);
    const id = newId(ID_PREFIXES.backup);
    const order = { id, address: `scopes/${params.scope}/${id}.${format}` };
    const copy: ScopeExport = { format, bookmark: null, body: upload.body };
    await directory.expectCopy(order);
    const written = await writeBackup(store, order, copy, { progress: () => undefined });
    const { upload: _bytes, ...input } = call;
    const { id: _id, address: _address, ...about } = written;
    return {
      call: { ...input, body: about, stored: { id: written.id, address: written.address } },
      drop: () => dropCopy({ directory, store }, order),
    };
  } finally {
    await upload.body.cancel().catch(() => undefined);
  }
}

export interface ImportDeps {
  readonly directory: LongDeps['directory'];
  readonly backups: BackupStore | null;
  readonly newId: (prefix: string) => string;
}

function formatOf(mediaType: string): ExportFormat {
  const formats = Object.keys(EXPORT_MEDIA_TYPES) as ExportFormat[];
  const format = formats.find((each) => EXPORT_MEDIA_TYPES[each] === mediaType);
  if (format) return format;
  throw new PlatformError('unsupported_media_type', 'An export is of another media type.');
}

/** @throws PlatformError `unsupported` (501), reason `engine_cannot`. */
function requireDirectoryCopy({ copyDirectory }: LongDeps): NonNullable<LongDeps['copyDirectory']> {
  if (copyDirectory) return copyDirectory;
  throw new PlatformError('unsupported', 'The engine that this platform runs on copies no database.', {
    reason: 'engine_cannot',
  });
}
