/**
 * Measuring what tenants keep: the database files and the attachments of their live scopes, once each day of UTC. Nothing
 * is opened for it: the sizes are those of files.
 */
import type { GaugeInput } from '@freehold/directory';
import type { BlobStore } from '@freehold/store';
import type { Fleet, FleetScope } from '../applications/fleet.ts';
import type { MeteredScope } from './meters.ts';
import type { JobTotals } from './runner.ts';

export interface StorageMeter {
  /**
   * Measures, unless everything was measured today, and answers of how many tenants. A measure that is repeated takes the
   * place of the one before.
   */
  measure(signal: AbortSignal): Promise<JobTotals>;
}

export interface StorageMeterOptions {
  readonly fleet: Pick<Fleet, 'scopes'>;
  /** The size of a scope's database file; null where this process has none. */
  readonly databaseBytes: (scope: FleetScope) => Promise<number | null>;
  readonly blobs: (scopeId: string) => Pick<BlobStore, 'list'>;
  readonly isLive: (ref: MeteredScope) => Promise<boolean>;
  /** Writes a tenant's figure down as that of today. */
  readonly set: (readings: readonly GaugeInput[]) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told of each tenant of whom there is no figure today. */
  readonly onError: (error: unknown, tenant: string) => void;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const NOTHING: JobTotals = { done: 0, failed: 0 };

export function makeStorageMeter(options: StorageMeterOptions): StorageMeter {
  const { fleet, databaseBytes, blobs, isLive, set, now, onError } = options;
  let measuredDay: number | null = null;

  /** Null for what is not billed, or not kept here. */
  const bytesOf = async (scope: FleetScope): Promise<number | null> => {
    if (!(await isLive(scope))) return null;
    const database = await databaseBytes(scope);
    if (database === null) return null;
    let bytes = database;
    for await (const blob of blobs(scope.scope).list()) bytes += blob.bytes;
    return bytes;
  };

  const measureAll = async (signal: AbortSignal): Promise<JobTotals> => {
    const sums = new Map<string, number>();
    // A part of what somebody keeps is no figure: who has one scope that cannot be measured has none today.
    const failed = new Map<string, unknown>();
    for await (const scope of fleet.scopes()) {
      if (signal.aborted) return NOTHING;
      try {
        const bytes = await bytesOf(scope);
        if (bytes !== null) sums.set(scope.tenant, (sums.get(scope.tenant) ?? 0) + bytes);
      } catch (error) {
        failed.set(scope.tenant, error);
      }
    }
    for (const [tenant, quantity] of sums) {
      if (failed.has(tenant)) continue;
      await set([{ tenant: tenant as never, meter: 'storage.bytes', quantity }]).catch((error: unknown) =>
        failed.set(tenant, error),
      );
    }
    for (const [tenant, error] of failed) onError(error, tenant);
    return { done: new Set([...sums.keys(), ...failed.keys()]).size, failed: failed.size };
  };

  return {
    measure: async (signal) => {
      const day = Math.floor(now() / DAY_MS);
      if (day === measuredDay) return NOTHING;
      const totals = await measureAll(signal);
      if (!signal.aborted) measuredDay = day;
      return totals;
    },
  };
}
