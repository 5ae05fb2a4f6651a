/** Opens the engine over the data directory, its archive, the vault and the bytes of attachments; erases a tenant's units. */

import type { IdentityDirectoryUnit } from '@freehold/auth';
import {
  type Archive,
  type ArchiveStatus,
  type FileBudget,
  fileBudgetOf,
  makeNodeBlobStore,
  type NodeEngine,
  openFilesLimit,
  openNodeEngine,
} from '@freehold/engine-node';
import { generateIssuerKeys } from '@freehold/issuer';
import {
  ledgerUnit,
  makeUnitLedger,
  makeUnitVault,
  makeVaultUnit,
  type Vault,
  type VaultUnit,
} from '@freehold/kernel';
import type { CopiesStatus } from '@freehold/runtime-workerd';
import type { BlobStore, Engine, EngineTools, IncidentSink, Keyring } from '@freehold/store';
import { nameOfArchive, openArchive } from '../settings/archive-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { BlobArchive } from './blob-archive.ts';
import { BlobJournal } from './blob-journal.ts';
import { openKeyring } from './seal-keys.ts';
import { loadSecrets, type Secrets } from './secrets.ts';
import { Vaults } from './vaults.ts';

/** The time that a shutdown waits for attachments on their way to the archive; the engine waits as long for the rest. */
const FLUSH_MS = 5_000;

export interface Storage {
  readonly engine: NodeEngine;
  readonly secrets: Secrets;
  /** Seals the secrets of tenants and the keys of persons. */
  readonly keyring: Keyring;
  readonly vault: Vault;
  readonly vaultUnit: VaultUnit;
  readonly vaults: Vaults;
  /** Warnings for the operator, a sentence each. */
  readonly warnings: readonly string[];
  readonly blobs: (scopeId: string) => BlobStore;
  /** Null without an archive. */
  readonly archive: Archive | null;
  /** Null without an archive. */
  readonly blobArchive: BlobArchive | null;
  /** The state of the archive, with what is on its way from deployed instances. */
  readonly archiveStatus: () => ArchiveStatus;
  /** Counts what is on its way from deployed instances to the platform's own units. */
  readonly followCopies: (status: () => CopiesStatus) => void;
  /** The division of the limit of open files. */
  readonly files: FileBudget;
  /** Registers what is done when a derived unit of this kind was damaged and is made anew. */
  readonly onRenewed: (kind: string, task: () => void) => void;
  close(): Promise<void>;
}

/** @throws SettingsError or PlatformError, with one sentence. */
export async function openStorage(
  settings: Settings,
  { now, onIncident }: { readonly now: () => number; readonly onIncident: IncidentSink },
): Promise<Storage> {
  const { dataDirectory, historyMs } = settings;
  const archive = settings.archive && openArchive(settings.archive);
  const files = fileBudgetOf(openFilesLimit());
  const onRenewal = new Map<string, () => void>();
  let copies: () => CopiesStatus = () => ({ waiting: 0, lagMs: 0 });
  const engine = openNodeEngine({
    dataDirectory,
    historyMs,
    openUnitsMax: files.openUnits,
    onIncident,
    onRenew: ({ kind }) => onRenewal.get(kind)?.(),
    ...(archive === null ? {} : { archive: { archive } }),
  });
  try {
    const secrets = await loadSecrets(dataDirectory, generateIssuerKeys);
    const keyring = await openKeyring({ engine, dataDirectory, given: settings.sealKeys });
    const vaultUnit = makeVaultUnit(keyring);
    const vaults = new Vaults({ engine, vaultUnit, dataDirectory, onIncident });
    const storeOf = (scopeId: string): BlobStore => makeNodeBlobStore({ dataDirectory, scopeId, now });
    const isOurs = (): Promise<boolean> => engine.ownsArchive();
    const journal = new BlobJournal(dataDirectory);
    if (archive === null) journal.forgetArchive();
    const blobArchive =
      archive &&
      settings.archive &&
      new BlobArchive({
        archive,
        name: nameOfArchive(settings.archive),
        journal,
        storeOf,
        now,
        onIncident,
        isOurs,
      });
    return {
      engine,
      secrets,
      keyring,
      vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId), {
        admit: (tenantId) => vaults.admit(tenantId),
        ledger: makeUnitLedger(
          (tenantId, options) => engine.unit(ledgerUnit, tenantId, options),
          (tenantId) => engine.archived(ledgerUnit, tenantId),
        ),
        archived: (tenantId) => engine.archived(vaultUnit, tenantId),
        now,
      }),
      vaultUnit,
      archive,
      vaults,
      warnings: await vaults.check(),
      blobs: blobArchive ? blobArchive.blobs : storeOf,
      blobArchive,
      files,
      archiveStatus: () => withCopies(engine.archiveStatus(), copies()),
      followCopies: (status) => {
        copies = status;
      },
      onRenewed: (kind, task) => void onRenewal.set(kind, task),
      close: async () => {
        // An attachment that does not arrive in time is sent after the next start.
        if (blobArchive) await within(FLUSH_MS, shipAll(engine, blobArchive));
        await engine.close();
      },
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** A change of a deployed instance waits for its copy first, and then for the archive. */
export function withCopies(status: ArchiveStatus, { waiting, lagMs }: CopiesStatus): ArchiveStatus {
  if (status.state === 'off' || waiting === 0) return status;
  return {
    ...status,
    state: status.state === 'current' ? 'shipping' : status.state,
    units: status.units + waiting,
    lagMs: Math.max(status.lagMs, lagMs),
  };
}

/** The changes that the archive has yet to receive. */
export interface ArchiveLag {
  readonly state: ArchiveStatus['state'];
  /** The age of the oldest change that it lacks. */
  readonly lagSeconds: number;
  /** Databases with such changes. */
  readonly databases: number;
  /** Attachments that have not arrived. */
  readonly attachments: number;
}

/** For the monitoring of the platform. Empty without an archive. */
export function lagOfArchive({
  archiveStatus,
  blobArchive,
}: {
  readonly archiveStatus: () => ArchiveStatus;
  readonly blobArchive: Pick<BlobArchive, 'status'> | null;
}): { readonly archive?: ArchiveLag } {
  const { state, units, lagMs } = archiveStatus();
  if (state === 'off') return {};
  const { waiting = 0, lagMs: blobsLagMs = 0 } = blobArchive?.status() ?? {};
  const isCurrent = state === 'current' && waiting > 0;
  return {
    archive: {
      state: isCurrent ? 'shipping' : state,
      lagSeconds: Math.max(lagMs, blobsLagMs) / 1_000,
      databases: units,
      attachments: waiting,
    },
  };
}

/** Databases first, because they find out whose the archive is. The engine reports their failures. */
async function shipAll(engine: NodeEngine, blobArchive: BlobArchive): Promise<void> {
  await engine.flushArchive().catch(() => undefined);
  await blobArchive.flush();
}

export interface TenantErasureOptions {
  readonly engine: Engine & EngineTools;
  readonly vaultUnit: VaultUnit;
  readonly vaults: Pick<Vaults, 'forget'>;
  /** Each application may have an identity directory for the tenant. */
  readonly identityUnits: () => readonly IdentityDirectoryUnit[];
  /** Removes the tenant from the copies of before upgrades. */
  readonly forgetCopies: (tenant: string) => void;
}

/**
 * Returns the last step of the reap of a tenant, which may be repeated: it removes the sign-ins first, and then the keys,
 * without which no sealed data opens.
 */
export function makeTenantErasure(options: TenantErasureOptions): (tenant: string) => Promise<void> {
  const { engine, vaultUnit, vaults, identityUnits } = options;
  return async (tenant) => {
    for (const unit of identityUnits()) await engine.tools(unit, tenant).remove();
    await engine.tools(vaultUnit, tenant).remove();
    await engine.tools(ledgerUnit, tenant).remove();
    await vaults.forget(tenant);
    options.forgetCopies(tenant);
  };
}

/** Resolves with the promise's value, or with undefined once the time is over. Rejects as the promise does until then. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
