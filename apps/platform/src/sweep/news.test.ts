import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/repeats.ts';
import { newsOf } from './news.ts';

const HOUR_MS = 3_600_000;

function open() {
  let nowMs = 1_000_000;
  const repeats = makeRepeats(() => nowMs);
  const sweep = async (...lines: readonly [unit: string, outcome: string, reason?: string][]) => {
    const units = lines.map(([unit, outcome, reason]) => ({ unit, outcome, reason }));
    const told: string[] = [];
    for await (const { unit, outcome } of newsOf(units, (each) => each.unit, repeats))
      told.push(`${unit} ${outcome}`);
    return told;
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { sweep, pass };
}

test('that nothing was due is one row a day for each unit', async () => {
  const { sweep, pass } = open();
  expect(await sweep(['a', 'skipped', 'not_due'], ['b', 'skipped', 'not_due'])).toHaveLength(2);
  for (let minutes = 5; minutes < 24 * 60; minutes += 5) {
    pass(5 * 60_000);
    expect(await sweep(['a', 'skipped', 'not_due'])).toEqual([]);
  }
  pass(5 * 60_000);
  expect(await sweep(['a', 'skipped', 'not_due'])).toEqual(['a skipped']);
});

test('what was done is always a row, and the silence after it is one again', async () => {
  const { sweep } = open();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'swept', 'refreshed'])).toEqual(['a swept']);
  expect(await sweep(['a', 'swept', 'refreshed'])).toEqual(['a swept']);
  expect(await sweep(['a', 'skipped', 'not_due'])).toEqual(['a skipped']);
});

test('a failure that goes on is one row an hour, and another failure is one at once', async () => {
  const { sweep, pass } = open();
  expect(await sweep(['a', 'failed', 'provider_unreachable'])).toEqual(['a failed']);
  pass(HOUR_MS - 1);
  expect(await sweep(['a', 'failed', 'provider_unreachable'])).toEqual([]);
  expect(await sweep(['a', 'failed', 'provider_refused'])).toEqual(['a failed']);
  pass(HOUR_MS);
  expect(await sweep(['a', 'failed', 'provider_refused'])).toEqual(['a failed']);
});

test('another reason for having nothing to do is news', async () => {
  const { sweep } = open();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'skipped', 'broken'])).toEqual(['a skipped']);
});
