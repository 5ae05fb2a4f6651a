import type { SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/repeats.ts';
import { deduplicateRuns } from './deduplicate-runs.ts';

const HOUR_MS = 3_600_000;

function open() {
  let nowMs = 1_000_000;
  const repeats = makeRepeats(() => nowMs);
  const told = async (...units: readonly SweepUnit[]) => {
    const all: string[] = [];
    for await (const { unit, outcome } of deduplicateRuns(units, repeats)) all.push(`${unit} ${outcome}`);
    return all;
  };
  const sweep = (...lines: readonly [unit: string, outcome: string, reason: string][]) =>
    told(
      ...lines.map(([unit, outcome, reason]) => ({ kind: 'connection', unit, outcome, reason }) as SweepUnit),
    );
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { told, sweep, pass };
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

test('spec C-31: whatever was done, judged or tried is a row, each time', async () => {
  const { told } = open();
  const units: SweepUnit[] = [
    { kind: 'connection', unit: 'c', outcome: 'failed', reason: 'provider_unreachable' },
    { kind: 'connection', unit: 'd', outcome: 'swept', reason: 'refreshed' },
    { kind: 'freshness', unit: 'archive/databases', outcome: 'fresh', reason: 'shipping' },
    { kind: 'freshness', unit: 'archive/attachments', outcome: 'stale', reason: 'lagging' },
    { kind: 'schedule', unit: 'platform/meters', outcome: 'ran' },
  ];
  for (let i = 0; i < 3; i++) expect(await told(...units)).toHaveLength(units.length);
});

test('the silence after something is a row again', async () => {
  const { sweep } = open();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'swept', 'refreshed'])).toEqual(['a swept']);
  expect(await sweep(['a', 'skipped', 'not_due'])).toEqual(['a skipped']);
});

test('another reason for having nothing to do is news', async () => {
  const { sweep } = open();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'skipped', 'broken'])).toEqual(['a skipped']);
});

test('a job of the platform without anything to do is one row an hour, and keeps no schedule of its name silent', async () => {
  const { told, pass } = open();
  const job: SweepUnit = {
    kind: 'schedule',
    unit: 'platform/meters',
    outcome: 'skipped',
    reason: 'nothing_due',
  };
  const theirs: SweepUnit = { ...job, tenant: 'tnt_1', scope: 'scp_1' };
  expect(await told(job, job, theirs)).toHaveLength(2);
  pass(HOUR_MS - 1);
  expect(await told(job)).toEqual([]);
  pass(1);
  expect(await told(job, theirs)).toEqual(['platform/meters skipped']);
});
