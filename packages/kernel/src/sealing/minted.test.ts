/** What a call has minted, over its tries. */
import { PlatformError } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { type Mint, makeMinted } from './minted.ts';
import { keysNeeded } from './subject-keys.ts';

function open() {
  let made = 0;
  const minted = makeMinted((prefix) => `${prefix}_${++made}`);
  /** One try that makes ids in steps, and then fails, or not. */
  const attempt = (call: string | undefined, steps: Record<string, string[]>, error?: Error): string[] => {
    const ids: string[] = [];
    const work = (mintOf: (step: string) => Mint): void => {
      for (const [step, prefixes] of Object.entries(steps)) {
        const mint = mintOf(step);
        ids.push(...prefixes.map((prefix) => mint(prefix)));
      }
      if (error) throw error;
    };
    try {
      minted.during(call, work);
    } catch (thrown) {
      expect(thrown).toBe(error);
    }
    return ids;
  };
  return attempt;
}

const missing = keysNeeded(['somebody']);

test('a call that lacked a key makes the same ids again, and fresh ones after them', () => {
  const attempt = open();
  expect(attempt('a', { '': ['cus', 'box'] }, missing)).toEqual(['cus_1', 'box_2']);
  expect(attempt('a', { '': ['cus', 'box', 'cus'] }, missing)).toEqual(['cus_1', 'box_2', 'cus_3']);
  // Each prefix counts by itself, so that one who goes another way still has the same persons.
  expect(attempt('a', { '': ['cus', 'cus', 'cus', 'box'] })).toEqual(['cus_1', 'cus_3', 'cus_4', 'box_2']);
});

test('what one try did not come to is there for the next', () => {
  const attempt = open();
  attempt('a', { one: ['cus'], two: ['cus', 'cus'] }, missing);
  attempt('a', { two: ['cus'] }, missing);
  expect(attempt('a', { two: ['cus', 'cus'], one: ['cus'] })).toEqual(['cus_2', 'cus_3', 'cus_1']);
});

test('another call, one without a name, and one that has ended make fresh ids', () => {
  const attempt = open();
  attempt('a', { '': ['cus'] }, missing);
  expect(attempt('b', { '': ['cus'] })).toEqual(['cus_2']);
  expect(attempt(undefined, { '': ['cus'] }, missing)).toEqual(['cus_3']);
  expect(attempt('a', { '': ['cus'] })).toEqual(['cus_1']);
  expect(attempt('a', { '': ['cus'] }, new PlatformError('conflict', 'No.'))).toEqual(['cus_4']);
  expect(attempt('a', { '': ['cus'] })).toEqual(['cus_5']);
});

test('calls that never come back are forgotten one day', () => {
  const attempt = open();
  attempt('a', { '': ['cus'] }, missing);
  for (let call = 0; call < 1_000; call++) attempt(`call ${call}`, { '': ['cus'] }, missing);
  expect(attempt('a', { '': ['cus'] })).toEqual(['cus_1002']);
  expect(attempt('call 999', { '': ['cus'] })).toEqual(['cus_1001']);
});
