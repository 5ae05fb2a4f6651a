import { PlatformError } from '@freehold/contracts';
import type { SweepUnit } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRepeats } from '../feeds/feeds.ts';
import { deduplicateRuns, type Job, JobRunner } from './runner.ts';

interface Turn {
  readonly name?: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** A runner with a manual clock. */
function open(turns: readonly Turn[]) {
  let nowMs = 0;
  const timers: { atMs: number; task: () => void }[] = [];
  const errors: string[] = [];
  const runner = new JobRunner({
    jobs: turns.map(({ name = 'job', run }) => ({
      ...{ name, firstMs: 10, everyMs: 100 },
      work: async (signal) => {
        await run(signal);
        return { done: 1, failed: 0 };
      },
    })),
    recordSweep: async (units) => {
      for await (const _ of units);
      return { run: 'run', units: 0, failed: 0 };
    },
    repeats: makeRepeats(() => 0),
    onError: (error, job) => errors.push(`${job}: ${String(error)}`),
    after: (ms, task) => {
      const timer = { atMs: nowMs + ms, task };
      timers.push(timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at >= 0) timers.splice(at, 1);
      };
    },
  });
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    for (const timer of timers.filter(({ atMs }) => atMs <= nowMs)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.task();
    }
    await settle();
  };
  return { runner, pass, errors, timers };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a job runs once soon, then at its interval, also after it has failed', async () => {
  let runs = 0;
  const { runner, pass, errors } = open([
    {
      run: async () => {
        runs += 1;
        if (runs === 1) throw new Error('the first');
      },
    },
  ]);
  await pass(1_000);
  expect(runs).toBe(0);
  runner.begin();
  await pass(9);
  expect(runs).toBe(0);
  await pass(1);
  expect([runs, errors]).toEqual([1, ['job: Error: the first']]);
  await pass(99);
  expect(runs).toBe(1);
  await pass(1);
  expect(runs).toBe(2);
  await runner.stop();
  await pass(1_000);
  expect(runs).toBe(2);
});

test('a job never runs twice at once, and delays no other', async () => {
  const { promise: gate, resolve } = Promise.withResolvers<void>();
  const runs: string[] = [];
  const { runner, pass } = open([
    {
      name: 'slow',
      run: async () => {
        runs.push('slow');
        await gate;
      },
    },
    { name: 'quick', run: async () => void runs.push('quick') },
  ]);
  runner.begin();
  await pass(10);
  const joining = runner.run('slow');
  await pass(100);
  expect(runs).toEqual(['slow', 'quick', 'quick']);
  resolve();
  await joining;
  await pass(100);
  expect(runs.slice(3).toSorted()).toEqual(['quick', 'slow']);
  expect(() => runner.run('unheard-of')).toThrow(/there is no job/);
});

test('a run on demand postpones the next one, and adds no second series of runs', async () => {
  let runs = 0;
  const { runner, pass, timers } = open([
    {
      run: async () => {
        runs += 1;
      },
    },
  ]);
  runner.begin();
  await runner.run('job');
  expect([runs, timers.length]).toEqual([1, 1]);
  await pass(99);
  expect(runs).toBe(1);
  await pass(1);
  expect([runs, timers.length]).toEqual([2, 1]);
});

test('a stop aborts the job, waits for it, and counts its interruption as no failure', async () => {
  const { promise: gate, resolve } = Promise.withResolvers<void>();
  let told = false;
  const { runner, pass, errors } = open([
    {
      run: async (signal) => {
        signal.addEventListener('abort', () => {
          told = true;
        });
        await gate;
        throw new Error('broken off');
      },
    },
  ]);
  runner.begin();
  await pass(10);
  let stopped = false;
  const stopping = runner.stop().then(() => {
    stopped = true;
  });
  await settle();
  expect([told, stopped]).toEqual([true, false]);
  resolve();
  await stopping;
  expect(errors).toEqual([]);
  await runner.run('job');
});

type Rows = ConstructorParameters<typeof JobRunner>[0]['recordSweep'];

/** One job, with the rows that it wrote. */
function openJob(what: object) {
  const sweeps: SweepUnit[][] = [];
  const errors: unknown[] = [];
  const recordSweep: Rows = async (units) => {
    const rows: SweepUnit[] = [];
    sweeps.push(rows);
    for await (const unit of units) rows.push(unit);
    return { run: 'run', units: rows.length, failed: 0 };
  };
  const runner = new JobRunner({
    jobs: [{ name: 'bills', firstMs: 1, everyMs: 2, ...what } as Job],
    ...{ recordSweep, repeats: makeRepeats(() => 0), onError: (error) => errors.push(error) },
  });
  return { run: () => runner.run('bills'), stop: () => runner.stop(), sweeps, errors };
}

const RUN = { kind: 'schedule', unit: 'platform/bills' };
const unit = (name: string, outcome: 'swept' | 'skipped' | 'failed'): SweepUnit => ({
  kind: 'connection',
  unit: name,
  outcome,
});

test('spec C-31: the units of a run and the run are recorded together', async () => {
  const units = [unit('a', 'swept'), unit('b', 'skipped'), unit('c', 'failed')];
  const { run, sweeps } = openJob({ units: () => units });
  await run();
  // A failed unit has its own row, and the run went on.
  expect(sweeps).toEqual([[...units, { ...RUN, outcome: 'ran' }]]);
});

test('a run whose units are not due has done nothing', async () => {
  const { run, sweeps } = openJob({ units: () => [unit('a', 'skipped')] });
  await run();
  expect(sweeps).toEqual([[unit('a', 'skipped'), { ...RUN, outcome: 'skipped', reason: 'nothing_due' }]]);
});

test.each([
  [new PlatformError('unavailable', 'No.', { reason: 'provider_down' }), 'provider_down'],
  [new TypeError('x is undefined'), 'internal'],
])('a run that fails is a row with the reason, and its error goes on: %s', async (error, reason) => {
  const { run, sweeps, errors } = openJob({
    units: function* units() {
      yield unit('a', 'swept');
      throw error;
    },
  });
  await run();
  expect(errors).toEqual([error]);
  expect(sweeps).toEqual([[unit('a', 'swept'), { ...RUN, outcome: 'failed', reason }]]);
});

test('a run that a shutdown interrupts has no row', async () => {
  const { run, stop, sweeps, errors } = openJob({
    work: async () => {
      void stop();
      throw new Error('broken off');
    },
  });
  await run();
  expect([sweeps, errors]).toEqual([[[]], []]);
});

const HOUR_MS = 3_600_000;

function openRows() {
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

test('a skip is one row a day for each unit', async () => {
  const { sweep, pass } = openRows();
  expect(await sweep(['a', 'skipped', 'not_due'], ['b', 'skipped', 'not_due'])).toHaveLength(2);
  for (let minutes = 5; minutes < 24 * 60; minutes += 5) {
    pass(5 * 60_000);
    expect(await sweep(['a', 'skipped', 'not_due'])).toEqual([]);
  }
  pass(5 * 60_000);
  expect(await sweep(['a', 'skipped', 'not_due'])).toEqual(['a skipped']);
});

test('spec C-31: everything that was done, judged or tried is a row, each time', async () => {
  const { told } = openRows();
  const units: SweepUnit[] = [
    { kind: 'connection', unit: 'c', outcome: 'failed', reason: 'provider_unreachable' },
    { kind: 'connection', unit: 'd', outcome: 'swept', reason: 'refreshed' },
    { kind: 'freshness', unit: 'archive/databases', outcome: 'fresh', reason: 'shipping' },
    { kind: 'freshness', unit: 'archive/attachments', outcome: 'stale', reason: 'lagging' },
    { kind: 'schedule', unit: 'platform/meters', outcome: 'ran' },
  ];
  for (let i = 0; i < 3; i++) expect(await told(...units)).toHaveLength(units.length);
});

test('a skip after another outcome is a row again', async () => {
  const { sweep } = openRows();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'swept', 'refreshed'])).toEqual(['a swept']);
  expect(await sweep(['a', 'skipped', 'not_due'])).toEqual(['a skipped']);
});

test('another reason for a skip is a row', async () => {
  const { sweep } = openRows();
  await sweep(['a', 'skipped', 'not_due']);
  expect(await sweep(['a', 'skipped', 'broken'])).toEqual(['a skipped']);
});

test('a job of the platform without work is one row an hour, and silences no schedule of its name', async () => {
  const { told, pass } = openRows();
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
