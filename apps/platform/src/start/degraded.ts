/** The faults of a platform that takes requests, for `/readyz`: open to everybody, so that no tenant and no path is named. */
import type { Degradation } from '@freehold/control-plane';
import type { NodeEngine } from '@freehold/engine-node';

const FAULTS = {
  storage_full: 'The disk of the data directory is full: nothing is stored, and reads go on.',
  storage_read_only: 'The data directory cannot be written: nothing is stored, and reads go on.',
  too_many_open_files: 'The process has as many files open as it may.',
} as const;

/** Returns what keeps the engine from storing or reading. */
export function degradationsOf(engine: Pick<NodeEngine, 'storageStatus'>): readonly Degradation[] {
  const { fault, unreadable } = engine.storageStatus();
  return [
    ...(fault === null ? [] : [{ reason: fault.reason, detail: FAULTS[fault.reason] }]),
    ...(unreadable.length === 0
      ? []
      : [
          {
            reason: 'unit_unreadable',
            detail: `${unreadable.length === 1 ? '1 database' : `${unreadable.length} databases`} cannot be read; all others are served. The log of the platform names each.`,
          },
        ]),
  ];
}
