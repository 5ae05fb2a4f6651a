import { PlatformError } from '@freehold/contracts';
import type { SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/repeats.ts';
import { type PlannedJob, writingRows } from './jobs-rows.ts';

type Rows = Parameters<typeof writingRows>[1]['recordSweep'];

function open(planned: Partial<PlannedJob>) {
  const sweeps: SweepUnit[][] = [];
  const recordSweep: Rows = async (units) => {
    const rows: SweepUnit[] = [];
    sweeps.push(rows);
    for await (const unit of units) rows.push(unit);
    return { run: 'run', units: rows.length, failed: 0 };
  };
  const stopping = new AbortController();
  const job = { name: 'bills', firstMs: 1, everyMs: 2, ...planned } as PlannedJob;
  const { run, ...times } = writingRows(job, { recordSweep, repeats: makeRepeats(() => 0) });
  return { run: () => run(stopping.signal), times, sweeps, stopping };
}

const RUN = { kind: 'schedule', unit: 'platform/bills' };
const unit = (name: string, outcome: 'swept' | 'skipped' | 'failed'): SweepUnit => ({
  kind: 'connection',
  unit: name,
  outcome,
});

test('spec C-31: the units of a run and the run are written down together', async () => {
  const units = [unit('a', 'swept'), unit('b', 'skipped'), unit('c', 'failed')];
  const { run, times, sweeps } = open({ units: () => units });
  expect(times).toEqual({ name: 'bills', firstMs: 1, everyMs: 2 });
  await run();
  // What failed says so itself: the run went on.
  expect(sweeps).toEqual([[...units, { ...RUN, outcome: 'ran' }]]);
});

test('a run over nothing but what is not due has done nothing', async () => {
  const { run, sweeps } = open({ units: () => [unit('a', 'skipped')] });
  await run();
  expect(sweeps).toEqual([[unit('a', 'skipped'), { ...RUN, outcome: 'skipped', reason: 'nothing_due' }]]);
});

test.each([
  [new PlatformError('unavailable', 'No.', { reason: 'provider_down' }), 'provider_down'],
  [new TypeError('x is undefined'), 'internal'],
])('a run that breaks off is a row with the reason, and its error goes on: %s', async (error, reason) => {
  const { run, sweeps } = open({
    units: function* units() {
      yield unit('a', 'swept');
      throw error;
    },
  });
  await expect(run()).rejects.toBe(error);
  expect(sweeps).toEqual([[unit('a', 'swept'), { ...RUN, outcome: 'failed', reason }]]);
});

test('what a shutdown breaks off is no run', async () => {
  const { run, sweeps, stopping } = open({
    work: async () => {
      stopping.abort();
      throw new Error('broken off');
    },
  });
  await expect(run()).rejects.toThrow('broken off');
  expect(sweeps).toEqual([[]]);
});
