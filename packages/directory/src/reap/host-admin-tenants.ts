/**
 * The effect of reaping a tenant: backups first, if the call asks for them; after the point of no return its connections at
 * their providers, its scopes in their applications, and last its keys. Every step lists what is left to do, so that the
 * work resumes after a crash, and a second call goes on where the first one failed.
 */
import { ID_PREFIXES } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { type BackupDeps, requireStore, writeBackup } from '../backups/backup-store.ts';
import type { BackupMethods } from '../backups/operations.ts';
import { disconnectCall } from '../connections/disconnect.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { TenantReaped } from '../declarations/tenants.ts';
import type { Effect } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import type { LongEffect, LongRun } from '../long-work/effects.ts';
import type { ErasePreviews } from '../previews/make-previews.ts';
import type { VerticalRuntime } from '../vertical-registry/deploy.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import { deleteInVertical } from './host-admin-scopes.ts';
import type { ReapFacts, ReapWork, reapMethods, tenantsReap } from './tenants.ts';

type Kept = TenantReaped['backups'][number];

interface ReapDeps extends BackupDeps {
  readonly directory: UnitStub<
    ReturnType<typeof reapMethods> & Pick<BackupMethods, 'keepBackup' | 'forgetBackup'>
  >;
}

/** The parts of the host administration that a reap uses. */
export interface ReapMeans {
  /** Revokes a connection at its provider. A refusal of the provider does not stop the reap. */
  readonly disconnect: Effect | undefined;
  /** Ends previews of the tenant's scopes and applications: they hold copies. */
  readonly erasePreviews: ErasePreviews;
  /** Destroys the keys of a tenant. Called once all its scopes are gone, and again after a crash. */
  readonly destroyTenantKeys: (tenant: string) => Promise<void>;
  /** The processes of deployed verticals, which have the secrets of theirs. */
  readonly runtime: Pick<VerticalRuntime, 'settingsChanged'> | undefined;
  /** Reports an unexpected error of the named method. */
  readonly incident: (method: string) => (error: unknown) => void;
  readonly newId: (prefix: string) => string;
}

export function makeReapEffect(reap: ReapMeans): LongEffect<ReapWork, ReapFacts, ReapDeps> {
  return {
    check: async (deps, call) => {
      const { params, body } = call as unknown as CallOf<typeof tenantsReap>;
      if (body.backup) requireStore(deps.backups);
      for await (const { vertical } of scopesLeft(deps, params.tenant))
        requireKnownVertical(deps.gateway, vertical);
      // Without the store its backups would stay.
      const { tenant } = params;
      if (!body.backup && (await deps.directory.backupsToErase({ tenant })).length > 0)
        requireStore(deps.backups);
    },
    run: async (deps, { tenant, backup }, run) => {
      // Journaled as a whole too: after the erasure there is nothing left to list.
      const backups = backup ? await run.step('backups', () => backUpAll(deps, reap, tenant, run)) : [];
      await run.commit();
      await reap.erasePreviews({ tenant });
      await eraseConnections(deps, reap, tenant, run);
      await eraseScopes(deps, { tenant, backup }, run);
      await eraseSecrets(deps, reap, tenant, run);
      if (!backup) await eraseBackups(deps, { tenant });
      await run.step('keys', () => reap.destroyTenantKeys(tenant));
      return { backups };
    },
  };
}

async function backUpAll(deps: ReapDeps, reap: ReapMeans, tenant: string, run: LongRun): Promise<Kept[]> {
  const copies: Kept[] = [];
  for await (const scope of scopesLeft(deps, tenant)) {
    // The id is journaled first, so that a second attempt makes the same backup.
    const id = await run.step(`order:${scope.id}`, async () => reap.newId(ID_PREFIXES.backup));
    copies.push(await run.step(`backup:${scope.id}`, () => backUp(deps, scope, id, run)));
  }
  return copies;
}

async function backUp(deps: ReapDeps, scope: ScopeRecord, id: string, run: LongRun): Promise<Kept> {
  const copy = await openScopeCopy(deps, scope, undefined);
  const order = { id, address: `scopes/${scope.id}/${id}.${copy.format}` };
  const written = await writeBackup(requireStore(deps.backups), order, copy, {
    // Progress counts scopes; here a stop is noticed.
    progress: () => run.signal.throwIfAborted(),
  });
  await deps.directory.keepBackup({ scope, written });
  return { scope: scope.id, address: written.address, bytes: written.bytes };
}

async function eraseConnections(
  deps: ReapDeps,
  { disconnect }: ReapMeans,
  tenant: string,
  run: LongRun,
): Promise<void> {
  const { directory } = deps;
  for (;;) {
    const connections = await directory.connectionsToErase({ tenant });
    if (connections.length === 0) return;
    for (const connection of connections) {
      run.signal.throwIfAborted();
      if (connection.sealed !== null)
        await disconnect?.run(deps, disconnectCall(run, connection), connection);
      await directory.connectionErased({ connection: connection.connection });
    }
  }
}

/** Erases the secrets of the tenant's applications. An instance that could not be told has them until its process ends. */
async function eraseSecrets(
  { directory }: ReapDeps,
  { runtime, incident }: ReapMeans,
  tenant: string,
  run: LongRun,
): Promise<void> {
  for (const vertical of await directory.secretsErased({ run: run.id, tenant }))
    await runtime?.settingsChanged(vertical).catch(incident('settingsChanged'));
}

/** Erases the scopes. A failure does not stop the others; the work then fails with the first of them. */
async function eraseScopes(
  deps: ReapDeps,
  { tenant, backup }: Omit<ReapWork, 'counts'>,
  run: LongRun,
): Promise<void> {
  const failures: unknown[] = [];
  let done = 0;
  for await (const scope of scopesLeft(deps, tenant)) {
    run.signal.throwIfAborted();
    try {
      await deleteInVertical(deps, scope);
      if (!backup) await eraseBackups(deps, { tenant, scope: scope.id });
    } catch (error) {
      failures.push(error);
      continue;
    }
    await deps.directory.scopeErased({ run: run.id, tenant, scope: scope.id });
    done += 1;
    run.progress({ done });
  }
  if (failures.length > 0) throw failures[0];
}

/** Deletes the backups of one scope, or all of the tenant, those of reaped scopes included. */
async function eraseBackups(
  { directory, backups }: ReapDeps,
  of: { readonly tenant: string; readonly scope?: string },
): Promise<void> {
  for (;;) {
    const copies = await directory.backupsToErase(of);
    if (copies.length === 0) return;
    for (const { id, address } of copies) {
      await requireStore(backups).delete(address);
      await directory.forgetBackup({ id });
    }
  }
}

/** Yields the scopes that are left, page by page. */
async function* scopesLeft({ directory }: ReapDeps, tenant: string): AsyncGenerator<ScopeRecord, void> {
  for (let after = ''; ; ) {
    const page = await directory.scopesToErase({ tenant, after });
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    after = last.id;
  }
}
