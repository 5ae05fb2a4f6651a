/** What tenants use: meters, and the model calls of their scopes with what these cost (spec 2.8, 4.3.13). */
import { pageOf, pageQuery, tenantId } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from './admin-operation.ts';

const tag = 'Usage';

const day = z.iso.date();
const period = {
  since: day.optional().describe('The first day, in UTC. Default: 29 days before the last'),
  until: day.optional().describe('The last day, in UTC. Default: today'),
};
const query = z.strictObject({
  tenant: tenantId.optional().describe('Only this tenant'),
  ...period,
  ...pageQuery,
});
const covered = { since: day, until: day };

const usd = z
  .string()
  .regex(/^\d+(\.\d+)?$/)
  .nullable();
const count = z.int().min(0);

export const modelUsageRecord = z
  .object({
    tenant: tenantId,
    model: z.string().describe('As it was asked for: openai:gpt-5-mini'),
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

/**
 * Every meter there is: what it counts, and how the days of a period are folded. A `counter` adds up. A `gauge` is
 * measured once a day, and its figure is the mean of the days on which it was measured, as storage is billed
 * everywhere; times `days` it is the sum. Those of models follow from usage lines.
 */
export const METERS = {
  'http.requests': { unit: 'requests', kind: 'counter' },
  'model.calls': { unit: 'calls', kind: 'counter' },
  'model.input-tokens': { unit: 'tokens', kind: 'counter' },
  'model.output-tokens': { unit: 'tokens', kind: 'counter' },
  'operations.invoked': { unit: 'invocations', kind: 'counter' },
  'storage.bytes': { unit: 'bytes', kind: 'gauge' },
} as const;
export const meterName = z
  .enum(Object.keys(METERS) as [MeterName, ...MeterName[]])
  .describe(
    'http.requests: requests to applications. model.…: calls of language models and their tokens. operations.invoked: operations performed, by whatever way. storage.bytes: databases and attachments',
  );
export type MeterName = keyof typeof METERS;

export const meterRecord = z
  .object({
    tenant: tenantId,
    meter: meterName,
    unit: z.enum(['requests', 'calls', 'tokens', 'invocations', 'bytes']),
    kind: z
      .enum(['counter', 'gauge'])
      .describe('counter: quantity is the sum of the days. gauge: the mean of the days that have a figure'),
    quantity: count.describe('Of live scopes: a test scope is never billed'),
    days: count.describe('How many days of the period have a figure'),
  })
  .meta({ id: 'Meter' });
export type MeterRecord = z.infer<typeof meterRecord>;

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
  success: 200,
  builder: 'none',
  audit: 'none',
});

export const metersList = adminOperation({
  name: 'meters.list',
  summary: 'Add the meters up per tenant',
  description:
    'Counters are added up; of a gauge, which is measured once a day, it is the mean of the days that have a figure, rounded.',
  tag,
  method: 'GET',
  path: '/meters',
  input: { query },
  output: z.object({ ...covered, ...pageOf(meterRecord).shape }),
  success: 200,
  builder: 'none',
  audit: 'none',
});
