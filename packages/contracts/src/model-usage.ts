/**
 * The usage line of a model call (spec 2.8): the payload of a platform request of the kind `model-usage`, from the
 * vertical that made the call.
 */
import { z } from 'zod';

export const MODEL_USAGE_KIND = 'model-usage';

/** More than any call takes. It bounds the effect of a false line on a sum. */
const TOKENS_MAX = 100_000_000;
const USD_MAX = 10_000;

const tokens = z.int().min(0).max(TOKENS_MAX);
const name = z.string().min(1).max(128);

/** The attribution of a call: exactly these five fields (spec 2.8). */
export const modelAttribution = z.strictObject({
  tenant: name,
  scope: name,
  vertical: name,
  version: name,
  operation: name,
});

/** One line. Unknown fields are refused; the parts of a count are not larger than the whole. */
export const modelUsageLine = z
  .strictObject({
    /** The requested model: `openai:gpt-5-mini`. */
    spec: z.string().regex(/^[a-z][a-z0-9-]{0,31}:[\x21-\x7e]{1,200}$/),
    outcome: z.enum(['completed', 'failed', 'cancelled']),
    inputTokens: tokens,
    cachedInputTokens: tokens,
    cacheWriteTokens: tokens,
    outputTokens: tokens,
    reasoningTokens: tokens,
    /** False: the provider left out counts, and these are lower bounds. */
    reported: z.boolean(),
    /** US dollars by the rate card; null for an unknown model, which is not zero. */
    listUsd: z.number().min(0).max(USD_MAX).nullable(),
    /** The day of the prices behind `listUsd`. */
    pricesAsOf: z.iso.date().nullable(),
    attribution: modelAttribution,
  })
  .refine((line) => line.cachedInputTokens + line.cacheWriteTokens <= line.inputTokens, {
    path: ['inputTokens'],
    message: 'is less than its own parts',
  })
  .refine((line) => line.reasoningTokens <= line.outputTokens, {
    path: ['outputTokens'],
    message: 'is less than its own part',
  });

export type ModelUsage = z.output<typeof modelUsageLine>;
