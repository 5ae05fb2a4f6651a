import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertRateCard, priceOf, rateOf, toUsd } from './price.ts';
import { type ModelRate, RATE_CARD } from './rate-card.ts';
import { NO_TOKENS, type TokenCounts } from './usage.ts';

const price = fc
  .tuple(fc.integer({ min: 0, max: 999 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(6, '0')}`);
const count = fc.integer({ min: 0, max: 10_000_000 });
const tokens = fc.record({ plain: count, cached: count, written: count, output: count }).map(
  ({ plain, cached, written, output }): TokenCounts => ({
    inputTokens: plain + cached + written,
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    outputTokens: output,
    reasoningTokens: 0,
  }),
);
const rate = fc.record({ input: price, cachedInput: price, cacheWrite: price, output: price });
const longPrompt = fc.record({
  over: count,
  input: price,
  cachedInput: price,
  cacheWrite: price,
  output: price,
});

/** An exact fraction, by the schoolbook: numerator over 10^12. */
const parts = (usdPerMillion: string): bigint => BigInt(usdPerMillion.replace('.', ''));

test('an amount is exactly the sum of tokens times price, with nothing rounded on the way', () => {
  fc.assert(
    fc.property(rate, tokens, (prices, used) => {
      const plain = used.inputTokens - used.cachedInputTokens - used.cacheWriteTokens;
      const exact =
        BigInt(plain) * parts(prices.input) +
        BigInt(used.cachedInputTokens) * parts(prices.cachedInput) +
        BigInt(used.cacheWriteTokens) * parts(prices.cacheWrite) +
        BigInt(used.outputTokens) * parts(prices.output);
      expect(priceOf(prices, used)).toBe(exact);
    }),
  );
});

test('amounts add up: many small calls cost what one call of the same tokens costs', () => {
  fc.assert(
    fc.property(rate, fc.array(tokens, { maxLength: 20 }), (prices, calls) => {
      const one = calls.reduce((sum, each) => add(sum, each), NO_TOKENS);
      const many = calls.reduce((sum, each) => sum + priceOf(prices, each), 0n);
      expect(many).toBe(priceOf(prices, one));
    }),
  );
});

test('a number of dollars is the nearest there is, and gives back the amount that it stands for', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), (picodollars) => {
      const usd = toUsd(picodollars);
      expect(BigInt(Math.round(usd * 1e12))).toBe(picodollars);
      expect(usd).toBe(Number(`${picodollars}e-12`));
    }),
    { numRuns: 1_000 },
  );
});

test('what floats would get wrong is right', () => {
  const used = { ...NO_TOKENS, inputTokens: 3 };
  // In floating point, 3 × 0.1 / 1e6 is 3.0000000000000004e-7.
  expect(toUsd(priceOf({ input: '0.1', output: '0' }, used))).toBe(0.0000003);
});

test('more than `over` tokens of prompt make the whole request dearer, and that many do not', () => {
  fc.assert(
    fc.property(rate, longPrompt, tokens, (prices, long, used) => {
      const both: ModelRate = { ...prices, longPrompt: long };
      expect(priceOf(both, used)).toBe(priceOf(used.inputTokens > long.over ? long : prices, used));
      expect(priceOf(both, { ...NO_TOKENS, inputTokens: long.over })).toBe(
        priceOf(prices, { ...NO_TOKENS, inputTokens: long.over }),
      );
    }),
  );
});

test('caches without a price of their own cost what input costs', () => {
  const used = { ...NO_TOKENS, inputTokens: 30, cachedInputTokens: 10, cacheWriteTokens: 10 };
  expect(toUsd(priceOf({ input: '1', output: '0' }, used))).toBe(0.00003);
});

test('a model is known by its exact name, and by no property that every object has', () => {
  expect(rateOf(RATE_CARD, { provider: 'openai', modelId: 'gpt-5-mini' })).toBeDefined();
  for (const modelId of ['gpt-5-mini-2099-01-01', 'GPT-5-mini', 'toString', '__proto__'])
    expect(rateOf(RATE_CARD, { provider: 'openai', modelId })).toBeUndefined();
  for (const provider of ['openai-compatible', 'constructor', '__proto__'])
    expect(rateOf(RATE_CARD, { provider, modelId: 'gpt-5-mini' })).toBeUndefined();
});

test('the shipped card is sound, dated, and no cache read costs more than input', () => {
  assertRateCard(RATE_CARD);
  for (const { asOf, source, models } of Object.values(RATE_CARD)) {
    expect(new Date(asOf).toISOString().slice(0, 10)).toBe(asOf);
    expect(source).toMatch(/^https:\/\//);
    for (const { longPrompt: long, ...prices } of Object.values(models))
      for (const each of [prices, ...(long ? [long] : [])]) {
        expect(Number(each.cachedInput ?? 0)).toBeLessThanOrEqual(Number(each.input));
        expect(Number(each.output)).toBeGreaterThan(0);
      }
  }
});

function add(left: TokenCounts, right: TokenCounts): TokenCounts {
  const sum = (key: keyof TokenCounts) => left[key] + right[key];
  return {
    inputTokens: sum('inputTokens'),
    cachedInputTokens: sum('cachedInputTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    outputTokens: sum('outputTokens'),
    reasoningTokens: sum('reasoningTokens'),
  };
}
