/** Where everything is kept: the engine over the data directory, its archive, the vault, and the bytes of attachments. */

import { makeNodeBlobStore, type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { generateIssuerKeys } from '@freehold/issuer';
import {
  ledgerUnit,
  makeUnitLedger,
  makeUnitVault,
  makeVaultUnit,
  type Vault,
  type VaultUnit,
} from '@freehold/kernel';
import type { BlobStore, IncidentSink, Keyring } from '@freehold/store';
import { openArchive } from '../settings/archive-settings.ts';
import type { Settings } from '../settings/settings.ts';
import { within } from '../within.ts';
import { type BlobArchive, makeBlobArchive } from './blob-archive.ts';
import { openKeyring } from './seal-keys.ts';
import { loadSecrets, type Secrets } from './secrets.ts';

/** How long a shutdown waits for attachments on their way to the archive; the engine waits as long for the rest. */
const FLUSH_MS = 5_000;

export interface Storage {
  readonly engine: NodeEngine;
  readonly secrets: Secrets;
  /** What secrets of tenants, and the keys of persons, are sealed under. */
  readonly keyring: Keyring;
  /** The keys of persons. */
  readonly vault: Vault;
  readonly vaultUnit: VaultUnit;
  readonly blobs: (scopeId: string) => BlobStore;
  /** Null without an archive. */
  readonly blobArchive: BlobArchive | null;
  close(): Promise<void>;
}

/** Opens it. @throws SettingsError or PlatformError, with one sentence. */
export async function openStorage(
  settings: Settings,
  { now, onIncident }: { readonly now: () => number; readonly onIncident: IncidentSink },
): Promise<Storage> {
  const { dataDirectory, historyMs } = settings;
  const archive = settings.archive && openArchive(settings.archive);
  const engine = openNodeEngine({
    dataDirectory,
    historyMs,
    onIncident,
    ...(archive === null ? {} : { archive: { archive } }),
  });
  try {
    const secrets = await loadSecrets(dataDirectory, generateIssuerKeys);
    const keyring = await openKeyring({ engine, dataDirectory, given: settings.sealKeys });
    const vaultUnit = makeVaultUnit(keyring);
    const storeOf = (scopeId: string): BlobStore => makeNodeBlobStore({ dataDirectory, scopeId, now });
    const isOurs = (): boolean => {
      const { state, shippedAtMs } = engine.archiveStatus();
      return state !== 'refused' && shippedAtMs !== null;
    };
    const blobArchive =
      archive &&
      makeBlobArchive({
        archive,
        storeOf,
        now,
        onIncident,
        isOurs,
      });
    return {
      engine,
      secrets,
      keyring,
      vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }), {
        ledger: makeUnitLedger(
          (tenantId, options) => engine.unit(ledgerUnit, tenantId, options),
          (tenantId) => engine.archived(ledgerUnit, tenantId),
        ),
        archived: (tenantId) => engine.archived(vaultUnit, tenantId),
        now,
      }),
      vaultUnit,
      blobs: blobArchive ? blobArchive.blobs : storeOf,
      blobArchive,
      close: async () => {
        // Whatever does not arrive in time is sent after the next start.
        if (blobArchive) await within(FLUSH_MS, shipAll(engine, blobArchive));
        await engine.close();
      },
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** The databases first: they find out whose the archive is. Their failures are told by the engine. */
async function shipAll(engine: NodeEngine, blobArchive: BlobArchive): Promise<void> {
  await engine.flushArchive().catch(() => undefined);
  await blobArchive.flush();
}
