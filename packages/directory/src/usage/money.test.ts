/** Amounts are exact: what goes in as a decimal comes out as that decimal, and a margin rounds nothing. */
import { expect, test } from 'vitest';
import { picodollarsOf, picodollarsOfSplit, splitOf, usdText, usdWithMargin } from './money.ts';

test.each([
  [0, '0'],
  [1, '1'],
  [0.1, '0.1'],
  [0.000000000001, '0.000000000001'],
  [0.00125, '0.00125'],
  [1e-7, '0.0000001'],
  [9999.87654321, '9999.87654321'],
  [1e-13, '0'],
  [5e-324, '0'],
  [10_000, '10000'],
])('%d dollars are %s', (usd, text) => {
  const { micro, pico } = splitOf(picodollarsOf(usd));
  expect(usdText(picodollarsOfSplit({ micro: `${micro}`, pico: `${pico}` }))).toBe(text);
  expect(pico).toBeLessThan(1_000_000);
});

test('sums are exact where those of numbers are not', () => {
  expect(usdText(picodollarsOf(0.1) + picodollarsOf(0.2))).toBe('0.3');
});

test.each([
  [0.3, 0, '0.3'],
  [0.3, 2000, '0.36'],
  [0.000000000001, 1, '0.0000000000010001'],
  [1, 12_345, '2.2345'],
])('%d dollars with %d basis points on top are %s', (usd, margin, text) => {
  expect(usdWithMargin(picodollarsOf(usd), margin)).toBe(text);
});
