/** Where the bytes of a copy come from: the place of backups, or a vertical's own snapshots. */
import {
  PlatformError,
  type ScopeExport,
  type ScopeSnapshots,
  type VerticalScopeHost,
} from '@freehold/contracts';
import { type BackupDeps, openBackup, requireStore } from '../backups/backup-store.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { scopeRefOf } from '../scopes/target.ts';
import type { VerticalGateway } from '../verticals/gateway.ts';
import { noVertical } from '../verticals/reach.ts';
import type { RestoreWork } from './operations.ts';

/** Opens a copy for a restore. */
export async function openCopy(
  { gateway, backups }: BackupDeps,
  scope: ScopeRecord,
  from: RestoreWork['from'],
): Promise<Pick<ScopeExport, 'format' | 'body'>> {
  if ('backup' in from)
    return { format: from.backup.format, body: await openBackup(requireStore(backups), from.backup) };
  const keeper = snapshotsOf(gateway, scope.vertical, 'opens none');
  return keeper.openSnapshotLocal({ ...scopeRefOf(scope), snapshot: from.snapshot });
}

/**
 * The host that opens and deletes a vertical's snapshots. By the management contract a worker only takes them.
 * @throws PlatformError `unsupported` (501): reason `no_vertical`, or `snapshots_stay` for a vertical without such a host.
 */
export function snapshotsOf(gateway: VerticalGateway, vertical: string, what: string): ScopeSnapshots {
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
