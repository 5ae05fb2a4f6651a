/** The place of a preview beside its database: accounts, keys and attachments of its own, below its folder. */
import { mkdirSync } from 'node:fs';
import { makeIdentityDirectory } from '@freehold/auth';
import { makeNodeBlobStore, openNodeEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit, type Vault } from '@freehold/kernel';
import type { PreviewPlace } from '@freehold/runtime-workerd';
import type { IncidentSink, Keyring } from '@freehold/store';

export interface PreviewPlaceOptions {
  readonly keyring: Keyring;
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

/** A preview has few databases, and no history: its end is near. */
const OPEN_UNITS_MAX = 8;

/** Opens a place. It is in no archive. */
export function openPreviewPlace(
  dataDirectory: string,
  { keyring, now, onIncident }: PreviewPlaceOptions,
): PreviewPlace {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const engine = openNodeEngine({
    dataDirectory,
    historyMs: 0,
    openUnitsMax: OPEN_UNITS_MAX,
    now,
    onIncident,
  });
  const vaultUnit = makeVaultUnit(keyring);
  return {
    engine,
    identity: makeIdentityDirectory({ sealing: keyring }),
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }), { now }),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
    close: () => engine.close(),
  };
}

/**
 * The vault of the live instances, which ends the previews of a scope before a person is erased from it: their copies have
 * what no key seals.
 */
export function endingPreviews(
  vault: Vault,
  endOf: (of: { readonly scope: string }) => Promise<void>,
): Vault {
  return {
    ...vault,
    shred: async (scope, ...about) => {
      await endOf({ scope: scope.scopeId });
      return vault.shred(scope, ...about);
    },
  };
}
