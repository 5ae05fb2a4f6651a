/**
 * The effects of operations, by name: what is done outside of the directory, in verticals, at providers and in stores. What
 * the directory writes down before and after is with each family (`operations.ts`).
 */
import type { UnitStub } from '@freehold/store';
import type { BackupStore } from './backups/backup-store.ts';
import { restoreDirectoryEffect } from './backups/host-admin-restore.ts';
import { directoryBackupEffect, makeDeleteBackupEffect, scopeBackupEffect } from './backups/operations.ts';
import { shredEffect } from './erasure/host-admin-erasure.ts';
import { migrateFleetEffect } from './fleet/operations.ts';
import type { HostnameProbes } from './hostnames/look-up.ts';
import { makeVerifyEffect } from './hostnames/verify.ts';
import type { Effect } from './lib/effects.ts';
import { mergeDisjoint } from './lib/merge-disjoint.ts';
import type { LongEffect } from './long-work/handlers.ts';
import type { makeProjections } from './make-projections.ts';
import { ownerClaimEffect, ownerRecoveryEffect } from './owner-seat/host-admin-owner-seat.ts';
import { retryDeadLetterEffect } from './scope-data/retry.ts';
import {
  deleteSnapshotEffect,
  restoreEffect,
  rewindEffect,
  snapshotEffect,
} from './scopes/host-admin-copies.ts';
import { makeReapScopeEffect } from './scopes/host-admin-reap.ts';
import { configureEffect, provisionEffect } from './scopes/host-admin-scopes.ts';
import { sessionSecretEffect } from './session-secret/operations.ts';
import { makeReapEffect, type ReapDeps } from './tenants/host-admin-reap.ts';
import type { DirectoryMethods } from './unit.ts';
import { makeDeployEffects, type VerticalRuntime } from './vertical-registry/deploy.ts';

type Effects = Readonly<Record<string, Effect>>;

/** What the effects need that not every platform has. */
export interface EffectWorld {
  readonly directory: UnitStub<DirectoryMethods>;
  /** Those of connections, by operation. */
  readonly connectionEffects: Effects;
  readonly runtime: VerticalRuntime | undefined;
  readonly backups: BackupStore | null;
  readonly probes: HostnameProbes | undefined;
  readonly incident: (method: string) => (error: unknown) => void;
}

/** Effects that a call waits for. @throws TypeError for an operation with two. */
export function makeEffects({ connectionEffects, backups, probes, ...world }: EffectWorld): Effects {
  const deleteBackup = makeDeleteBackupEffect(backups);
  return mergeDisjoint<Effect>([
    {
      'scopes.provision': provisionEffect,
      'scopes.configure': configureEffect,
      'scopes.rewind': rewindEffect,
      'snapshots.take': snapshotEffect,
      'snapshots.delete': deleteSnapshotEffect,
      'scope-backups.delete': deleteBackup,
      'directory-backups.delete': deleteBackup,
      'owner-claim.mint': ownerClaimEffect,
      'owner-recovery.mint': ownerRecoveryEffect,
      'session-secret.rotate': sessionSecretEffect,
      'subjects.shred': shredEffect,
      'dead-letters.retry': retryDeadLetterEffect,
      'hostnames.verify': makeVerifyEffect(probes),
    },
    connectionEffects,
    makeDeployEffects(world),
  ]);
}

export interface LongEffectWorld extends Omit<ReapDeps, 'disconnect'> {
  readonly connectionEffects: Effects;
  readonly reprojectAfter: ReturnType<typeof makeProjections>['reprojectAfter'];
}

/** What long work does, in the background. */
export function makeLongEffects({
  connectionEffects,
  reprojectAfter,
  ...reap
}: LongEffectWorld): Readonly<Record<string, LongEffect>> {
  const disconnect = connectionEffects['connections.disconnect'];
  return {
    'scopes.restore': reprojectAfter(restoreEffect),
    'scopes.reap': makeReapScopeEffect(disconnect),
    'tenants.reap': makeReapEffect({ ...reap, disconnect }),
    'scope-backups.create': scopeBackupEffect,
    'directory-backups.create': directoryBackupEffect,
    'directory.restore': restoreDirectoryEffect,
    'fleet-migrations.run': migrateFleetEffect,
  };
}
