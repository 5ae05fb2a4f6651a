import { expect, test } from 'vitest';
import { isLeased } from './lease.ts';

test.each([
  ['over', 1_000, false],
  ['running', 1_001, true],
  ['just taken', 61_000, true],
  ['of a clock that was ahead', 61_001, false],
])('a lease that is %s', (_, untilMs, leased) => {
  expect(isLeased(untilMs, 1_000, 60_000)).toBe(leased);
});
