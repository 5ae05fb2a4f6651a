/** The usage line of a call: its tokens, their list price, and its attribution (spec 2.8). */
import { parseInput } from '@freehold/contracts';
import { z } from 'zod';
import type { ModelSpec } from './model-spec.ts';
import { priceOf, rateOf, toUsd } from './price.ts';
import type { RateCard } from './rate-card.ts';
import { type ReportedUsage, sumUsage, type TokenCounts } from './usage.ts';

const name = z.string().min(1).max(128);
const attributionSchema = z.strictObject({
  tenant: name,
  scope: name,
  vertical: name,
  version: name,
  operation: name,
});

/** The attribution of a call: exactly these five keys (spec 2.8). Each has 1 to 128 characters. */
export type ModelAttribution = Readonly<z.infer<typeof attributionSchema>>;

/** One for each call that may have spent tokens. Plain JSON. */
export interface ModelUsageLine extends TokenCounts {
  /** The spec of the call: `openai:gpt-5-mini`. */
  readonly spec: string;
  /** `failed` and `cancelled` calls have a line too, with the tokens spent until then. */
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  /** False when the provider left out counts: then the counts are a minimum. */
  readonly reported: boolean;
  /** US dollars by the rate card, for the counts of this line; null for a model that the card does not know. */
  readonly listUsd: number | null;
  /** The day of the prices behind `listUsd`. */
  readonly pricesAsOf: string | null;
  readonly attribution: ModelAttribution;
}

/**
 * @returns a frozen copy.
 * @throws PlatformError `validation_failed` when a key is missing, empty or too long, and for any sixth.
 */
export function parseAttribution(attribution: unknown): ModelAttribution {
  return Object.freeze(parseInput('The attribution', attributionSchema, attribution));
}

/** Sums the answers of a call. Each has its own price, because some prices depend on the length of a prompt. */
export function makeUsageLine(call: {
  readonly spec: string;
  readonly model: ModelSpec;
  readonly answers: readonly ReportedUsage[];
  readonly outcome: ModelUsageLine['outcome'];
  readonly rateCard: RateCard;
  readonly attribution: ModelAttribution;
}): ModelUsageLine {
  const rate = rateOf(call.rateCard, call.model);
  const { reported, ...counts } = sumUsage(call.answers);
  return Object.freeze({
    spec: call.spec,
    outcome: call.outcome,
    ...counts,
    reported,
    listUsd: rate ? toUsd(call.answers.reduce((sum, answer) => sum + priceOf(rate, answer), 0n)) : null,
    pricesAsOf: rate ? (call.rateCard[call.model.provider]?.asOf ?? null) : null,
    attribution: call.attribution,
  });
}
