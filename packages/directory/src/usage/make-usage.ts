/** What the host administration does for usage: collecting lines, adding to meters, and the margin of a read. */
import { parseInput, tenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import { type ModelUsageRecord, modelUsageList } from '../declarations/usage.ts';
import { found, type Performers } from '../lib/host-admin-performers.ts';
import type { DirectoryMethods } from '../unit.ts';
import { type CollectDeps, type CollectedUsage, makeCollect } from './collect.ts';
import type { UsageFold } from './fold-store.ts';
import { usdText, usdWithMargin } from './money.ts';
import type { UsageScope } from './operations.ts';

export interface UsageIntake {
  /**
   * Brings in the usage lines that wait in a scope, at most 1000 at a time. Fit to be repeated after any failure. One
   * collection of a scope runs at a time; a second call joins it.
   * @throws PlatformError `not_found`; `unsupported` where nothing answers for the vertical; what the vertical said.
   */
  collectModelUsage(scope: UsageScope): Promise<CollectedUsage>;
  /** Adds to meters of today that do not follow from usage lines. Each call counts: it is not to be repeated. */
  addToMeters(readings: readonly MeterInput[]): Promise<void>;
  /** Makes these the figures of today of meters that are measured. Each call replaces: it may be repeated. */
  setMeters(readings: readonly GaugeInput[]): Promise<void>;
}

const meterInput = z.strictObject({
  tenant: tenantId,
  meter: z.enum(['http.requests', 'operations.invoked']),
  quantity: z.int().min(0).max(1_000_000_000),
});
export type MeterInput = z.input<typeof meterInput>;

/** A petabyte: such days add up within an integer for twenty years. */
const GAUGE_MAX = 10 ** 15;
const gaugeInput = z.strictObject({
  tenant: tenantId,
  meter: z.enum(['storage.bytes']),
  quantity: z.int().min(0).max(GAUGE_MAX),
});
export type GaugeInput = z.input<typeof gaugeInput>;

export interface UsageDeps extends Omit<CollectDeps, 'directory'> {
  readonly directory: UnitStub<DirectoryMethods>;
  readonly marginBasisPoints: number;
}

/** @throws RangeError for a margin that is not a whole number of basis points, or negative. */
export function makeUsage({ directory, marginBasisPoints, ...deps }: UsageDeps): {
  readonly intake: UsageIntake;
  /** The read that needs the margin. */
  readonly performers: Performers;
} {
  if (!Number.isSafeInteger(marginBasisPoints) || marginBasisPoints < 0)
    throw new RangeError('a margin is a whole number of basis points, and not negative');
  const collect = makeCollect({ ...deps, directory });
  const running = new Map<string, Promise<CollectedUsage>>();

  return {
    intake: {
      collectModelUsage: (ref) => {
        const key = `${ref.tenant} ${ref.scope}`;
        const present = running.get(key);
        if (present) return present;
        const collection = collect(ref).finally(() => running.delete(key));
        running.set(key, collection);
        return collection;
      },
      addToMeters: async (inputs) => {
        const readings = parseInput('The readings', z.array(meterInput).max(1000), inputs);
        await directory.addMeters({ readings });
      },
      setMeters: async (inputs) => {
        const readings = parseInput('The readings', z.array(gaugeInput).max(1000), inputs);
        await directory.setMeters({ readings });
      },
    },
    performers: {
      [modelUsageList.name]: async (call) => {
        const { items, ...page } = await directory.modelUsage({ call });
        const priced = items.map((fold) => withMargin(fold, marginBasisPoints));
        return found({ ...page, marginBasisPoints, items: priced });
      },
    },
  };
}

function withMargin(fold: UsageFold, marginBasisPoints: number): ModelUsageRecord {
  const { listPicodollars: list, billablePicodollars: billable, ...counts } = fold;
  return {
    ...counts,
    listUsd: list === null ? null : usdText(BigInt(list)),
    billedUsd: billable === null ? null : usdWithMargin(BigInt(billable), marginBasisPoints),
  };
}
