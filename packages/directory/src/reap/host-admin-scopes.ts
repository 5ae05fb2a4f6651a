/**
 * The effect of reaping a scope: a full backup; then the deletion in the vertical, and the revocation of the connections that
 * go with the scope at their providers.
 */
import { deleteScopeResponse, PlatformError } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { type BackupDeps, requireStore } from '../backups/backup-store.ts';
import { backUp } from '../backups/host-admin-backups.ts';
import type { BackupMethods, ScopeBackupWork } from '../backups/operations.ts';
import { disconnectCall } from '../connections/disconnect.ts';
import type { BackupRecord } from '../declarations/backups.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect, EffectDeps } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongEffect, LongRun } from '../long-work/effects.ts';
import type { ErasePreviews } from '../previews/make-previews.ts';
import { askScope } from '../verticals/client.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import type { ReapScopeFacts, ReapScopeWork, reapScopeMethods, scopesReap } from './scopes.ts';

/** The time limit for deleting one scope with its history and its attachments. */
const DELETE_TIMEOUT_MS = 110_000;

interface ReapScopeDeps extends BackupDeps {
  readonly directory: UnitStub<
    ReturnType<typeof reapScopeMethods> & Pick<BackupMethods, 'keepBackup' | 'forgetBackup'>
  >;
}

/** The parts of the host administration that a reap uses. */
export interface ReapScopeMeans {
  /** Revokes a connection at its provider; undefined where there are no connections. */
  readonly disconnect: Effect | undefined;
  /** Ends previews of the scope: they hold copies. */
  readonly erasePreviews: ErasePreviews;
}

export function makeReapScopeEffect({
  disconnect,
  erasePreviews,
}: ReapScopeMeans): LongEffect<ReapScopeWork, ReapScopeFacts, ReapScopeDeps> {
  return {
    check: async ({ backups, gateway, target }, call) => {
      const { body } = call as unknown as CallOf<typeof scopesReap>;
      if (body.backup) requireStore(backups, ' Say { "backup": false } to delete without one.');
      requireKnownVertical(gateway, (await target(call)).scope.vertical);
    },
    run: async (deps, { scope, backup: order }, run) => {
      const backup = order === null ? null : await run.step('backup', () => backUpFirst(deps, order, run));
      await run.commit();
      await erasePreviews({ scope: scope.id });
      await run.step('delete', () => deleteInVertical(deps, scope));
      const disconnected = await run.step('connections', async () => {
        const leaving = await deps.directory.connectionsLeaving({ scope: scope.id });
        for (const connection of leaving)
          if (connection.sealed !== null)
            await disconnect?.run(deps, disconnectCall(run, connection), connection);
        return leaving.map(({ connection }) => connection);
      });
      return { backup, disconnected };
    },
    cleanUp: async ({ backups, directory }, { backup }) => {
      if (backup === null) return;
      await requireStore(backups).delete(backup.order.address);
      await directory.forgetBackup({ id: backup.order.id });
    },
  };
}

/** Deletes a scope in its vertical. A scope that is unknown there counts as deleted. */
export async function deleteInVertical(
  deps: Pick<EffectDeps, 'gateway' | 'deadline'>,
  scope: ScopeRecord,
): Promise<null> {
  try {
    await askScope(deps, scope, {
      path: 'delete-scope',
      body: {},
      // An answer about another scope proves nothing about this one.
      answer: deleteScopeResponse.refine(({ scopeId }) => scopeId === scope.id),
      timeoutMs: DELETE_TIMEOUT_MS,
      local: async (host, ref) => {
        await host.deleteScopeLocal({ ...ref, ifMissing: 'clear' });
        return { scopeId: ref.scopeId };
      },
    });
  } catch (error) {
    if (!(error instanceof PlatformError && error.reason === 'unknown_scope')) throw error;
  }
  return null;
}

/** Makes the backup and its record, so that it is not lost when a later step fails. */
async function backUpFirst(deps: ReapScopeDeps, order: ScopeBackupWork, run: LongRun): Promise<BackupRecord> {
  try {
    const written = await backUp(deps, order, run);
    return await deps.directory.keepBackup({ scope: order.scope, written });
  } catch (cause) {
    if (run.signal.aborted) throw cause;
    const detail = cause instanceof PlatformError ? ` ${cause.message}` : '';
    throw new PlatformError('runtime_fault', `The backup failed, and the scope is as it was.${detail}`, {
      reason: 'backup_failed',
      cause,
    });
  }
}
