/** Usage in the host administration: collecting lines, meters, and the margin of the read of model usage. */

import { pageOf, parseInput, tenantId } from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { count, covered, query, tag } from '../declarations/usage.ts';
import { found, type Performers } from '../lib/performers.ts';
import { type CollectDeps, type CollectedUsage, makeCollect } from './collect.ts';
import type { UsageFold } from './fold-store.ts';
import { usdText, usdWithMargin } from './money.ts';
import type { UsageMethods, UsageScope } from './operations.ts';

const usd = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .nullable();

const modelUsageRecord = z
  .object({
    tenant: tenantId,
    model: z.string().describe('As the caller named it: openai:gpt-5-mini'),
    calls: count,
    inputTokens: count,
    cachedInputTokens: count,
    cacheWriteTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    listUsd: usd.describe('US dollars by the list, exact; null when no call of it is priced'),
    billedUsd: usd.describe('listUsd with the margin, exact, without the calls of test scopes'),
    unpricedCalls: count.describe('In no sum of dollars: no list price was known. They are not free.'),
    unreportedCalls: count.describe('Their counts are the least that it was: the provider left some out'),
    testCalls: count.describe('Calls of test scopes, which are never billed'),
  })
  .meta({ id: 'ModelUsage' });

export type ModelUsageRecord = z.infer<typeof modelUsageRecord>;

export const modelUsageList = adminOperation({
  name: 'model-usage.list',
  summary: 'Fold the model calls per tenant by model',
  description:
    'Lines are kept at list price; the margin is the one that this platform has when you ask. Amounts are exact decimals.',
  tag,
  method: 'GET',
  path: '/model-usage',
  input: { query },
  output: z.object({
    ...covered,
    marginBasisPoints: count.describe('10000 is as much again as the list price'),
    ...pageOf(modelUsageRecord).shape,
  }),
});

export interface UsageIntake {
  /**
   * Brings in the usage lines that wait in a scope, at most 1000 at a time. It may be repeated after any failure. One
   * collection of a scope runs at a time; a second call joins it.
   * @throws PlatformError `not_found`; `unsupported` where nothing answers for the vertical; the vertical's own refusal.
   */
  collectModelUsage(scope: UsageScope): Promise<CollectedUsage>;
  /** Adds to today's meters that do not follow from usage lines. Each call counts: do not repeat it. */
  addToMeters(readings: readonly MeterInput[]): Promise<void>;
  /** Replaces today's figures of measured meters. It may be repeated. */
  setMeters(readings: readonly GaugeInput[]): Promise<void>;
}

const meterInput = z.strictObject({
  tenant: tenantId,
  meter: z.enum(['http.requests', 'operations.invoked']),
  quantity: z.int().min(0).max(1_000_000_000),
});
export type MeterInput = z.input<typeof meterInput>;

/** A petabyte: days of that size add up within an integer for twenty years. */
const GAUGE_MAX = 10 ** 15;
const gaugeInput = z.strictObject({
  tenant: tenantId,
  meter: z.enum(['storage.bytes']),
  quantity: z.int().min(0).max(GAUGE_MAX),
});
export type GaugeInput = z.input<typeof gaugeInput>;

interface UsageDeps extends Omit<CollectDeps, 'directory'> {
  readonly directory: UnitStub<UsageMethods>;
  readonly marginBasisPoints: number;
}

/** @throws RangeError for a margin that is not a whole number of basis points, or negative. */
export function makeUsage({ directory, marginBasisPoints, ...deps }: UsageDeps): {
  readonly intake: UsageIntake;
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
