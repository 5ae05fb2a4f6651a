import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toTimestamp } from './ids.ts';

test('a time has the form of toISOString', () => {
  const time = fc.oneof(
    fc.integer({ min: 0, max: 4_102_444_800_000 }),
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.double({ min: -1e6, max: 1e13, noNaN: true }),
  );
  fc.assert(fc.property(time, (ms) => toTimestamp(ms) === new Date(ms).toISOString()));
  expect(toTimestamp(8.64e15)).toBe(new Date(8.64e15).toISOString());
});

test.each([Number.NaN, 8.64e15 + 1, -8.64e15 - 1, Number.POSITIVE_INFINITY])('%s is no time', (ms) => {
  expect(() => toTimestamp(ms)).toThrow(RangeError);
});
