/** The usage of tenants: meters, and the model calls of their scopes with their cost (spec 2.8, 4.3.13). */
import { pageQuery, tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Usage';

const day = z.iso.date();

const period = {
  since: day.optional().describe('The first day, in UTC. Default: 29 days before the last'),
  until: day.optional().describe('The last day, in UTC. Default: today'),
};

export const query = z.strictObject({
  tenant: tenantId.optional().describe('Only this tenant'),
  ...period,
  ...pageQuery,
});

export const covered = { since: day, until: day };

export const count = z.int().min(0);

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
