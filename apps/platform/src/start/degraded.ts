/** The faults of a platform that takes requests, for `/readyz`: open to everybody, so that no tenant and no path is named. */
import type { Degradation } from '@freehold/control-plane';
import type { NodeEngine } from '@freehold/engine-node';
import type { Vaults } from '../storage/vaults.ts';

const FAULTS = {
  storage_full: 'The disk of the data directory is full: nothing is stored, and reads go on.',
  storage_read_only: 'The data directory cannot be written: nothing is stored, and reads go on.',
  too_many_open_files: 'The process has as many files open as it may.',
} as const;

export interface Watched {
  readonly engine: Pick<NodeEngine, 'storageStatus'>;
  readonly vaults: Pick<Vaults, 'missing'>;
}

/**
 * Returns the faults that keep the engine from storing or reading, the number of vaults that are gone, and of what is
 * deployed the instances whose database cannot be read and the verticals whose process fails again and again.
 */
export function degradationsOf(
  { engine, vaults }: Watched,
  deployed: { readonly failing: number; readonly unreadable: number },
): readonly Degradation[] {
  const { fault, unreadable: units } = engine.storageStatus();
  const unreadable = units.length + deployed.unreadable;
  const { failing } = deployed;
  const missing = vaults.missing();
  return [
    ...(fault === null ? [] : [{ reason: fault.reason, detail: FAULTS[fault.reason] }]),
    ...(unreadable === 0
      ? []
      : [
          {
            reason: 'unit_unreadable',
            detail: `${unreadable === 1 ? '1 database' : `${unreadable} databases`} cannot be read; all others are served. The log of the platform names each.`,
          },
        ]),
    ...(missing === 0
      ? []
      : [
          {
            reason: 'vault_missing',
            detail: `${missing === 1 ? '1 vault is' : `${missing} vaults are`} gone: what is sealed about people of ${missing === 1 ? 'its tenant' : 'their tenants'} does not open, and nothing new about them is stored. The log of the platform names each.`,
          },
        ]),
    ...(failing === 0
      ? []
      : [
          {
            reason: 'vertical_failing',
            detail: `${failing === 1 ? '1 deployed vertical fails' : `${failing} deployed verticals fail`} again and again; all others are served. An issue names each.`,
          },
        ]),
  ];
}
