/**
 * The price of tokens by a rate card. Sums are whole picodollars (10⁻¹² US dollars): a price of at most six decimals
 * for a million tokens is a whole number of them per token, so that rounding happens once, when the sum becomes a
 * number.
 */
import type { ModelPrices, ModelRate, RateCard, UsdPerMillion } from './rate-card.ts';
import type { TokenCounts } from './usage.ts';

const PLACES = 12;

/** The rate of a model, or undefined for one that is not on the card. */
export function rateOf(
  card: RateCard,
  model: { readonly provider: string; readonly modelId: string },
): ModelRate | undefined {
  const row = Object.hasOwn(card, model.provider) ? card[model.provider] : undefined;
  return row && Object.hasOwn(row.models, model.modelId) ? row.models[model.modelId] : undefined;
}

/** The price of one answer, in picodollars. The limit for long prompts applies to each request. */
export function priceOf(rate: ModelRate, tokens: TokenCounts): bigint {
  const { longPrompt } = rate;
  const prices: ModelPrices = longPrompt && tokens.inputTokens > longPrompt.over ? longPrompt : rate;
  const plain = tokens.inputTokens - tokens.cachedInputTokens - tokens.cacheWriteTokens;
  return (
    BigInt(plain) * perToken(prices.input) +
    BigInt(tokens.cachedInputTokens) * perToken(prices.cachedInput ?? prices.input) +
    BigInt(tokens.cacheWriteTokens) * perToken(prices.cacheWrite ?? prices.input) +
    BigInt(tokens.outputTokens) * perToken(prices.output)
  );
}

/**
 * An amount as the nearest number of US dollars, whose shortest decimal is the amount itself up to 15 digits. To add
 * amounts up, do not add these numbers, but `Math.round(usd * 1e12)` as a BigInt.
 */
export function toUsd(picodollars: bigint): number {
  const digits = picodollars.toString().padStart(PLACES + 1, '0');
  // Parsed from text: a quotient of two rounded numbers need not be the nearest one.
  return Number(`${digits.slice(0, -PLACES)}.${digits.slice(-PLACES)}`);
}

/**
 * Checks every price of a card, so that a mistake is found when the host is made and not in a call.
 * @throws TypeError naming the model.
 */
export function assertRateCard(card: RateCard): void {
  for (const [provider, row] of Object.entries(card)) {
    if (!/^\d{4}-\d{2}-\d{2}$/.test(row.asOf))
      throw new TypeError(`rate card, ${provider}: asOf must be a day`);
    for (const [modelId, rate] of Object.entries(row.models)) {
      const all = [rate, ...(rate.longPrompt ? [rate.longPrompt] : [])];
      const prices = all.flatMap((each) => [each.input, each.cachedInput, each.cacheWrite, each.output]);
      const isSound = prices.every((price) => price === undefined || isPrice(price));
      const over = rate.longPrompt?.over ?? 0;
      if (!isSound || !Number.isSafeInteger(over) || over < 0)
        throw new TypeError(`rate card, ${provider}:${modelId}: not a price`);
    }
  }
}

/** A price for a million tokens in dollars is, in picodollars, a million times that for one. */
function perToken(price: UsdPerMillion): bigint {
  if (!isPrice(price)) throw new TypeError('not a price');
  const [whole = '', fraction = ''] = price.split('.');
  return BigInt(whole + fraction.padEnd(6, '0'));
}

function isPrice(price: unknown): price is UsdPerMillion {
  return typeof price === 'string' && /^\d{1,9}(?:\.\d{1,6})?$/.test(price);
}
