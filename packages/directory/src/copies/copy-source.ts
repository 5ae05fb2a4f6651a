/** Where the bytes of a copy come from: the place of backups, or a vertical's own snapshots. */
import type { PlatformError, ScopeExport } from '@freehold/contracts';
import { type BackupDeps, openBackup, requireStore } from '../backups/backup-store.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { openSnapshot, snapshotsStay } from '../verticals/open-copy.ts';
import type { RestoreWork } from './operations.ts';

/** Opens a copy for a restore. */
export async function openCopy(
  deps: BackupDeps,
  scope: ScopeRecord,
  from: RestoreWork['from'],
): Promise<Pick<ScopeExport, 'format' | 'body'>> {
  if ('backup' in from)
    return {
      format: from.backup.format,
      body: await openBackup(requireStore(deps.backups), from.backup),
    };
  return orSnapshotsStay(scope, openSnapshot(deps, scope, from.snapshot));
}

/** Says of a worker that lacks the routes of snapshots, as those of an earlier version do, what that means. */
export async function orSnapshotsStay<T>({ vertical }: ScopeRecord, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const { code, reason } = error as Partial<PlatformError>;
    const lacksRoute = code === 'not_found' && reason !== 'unknown_snapshot' && reason !== 'unknown_scope';
    throw lacksRoute || reason === 'host_cannot' ? snapshotsStay(vertical) : error;
  }
}
