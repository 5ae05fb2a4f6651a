import { expect, test } from 'vitest';
import { type Job, makeScheduler } from './scheduler.ts';

/** A scheduler whose clock is moved by hand. */
function open(jobs: readonly (Partial<Job> & Pick<Job, 'run'>)[]) {
  let nowMs = 0;
  const timers: { atMs: number; task: () => void }[] = [];
  const errors: string[] = [];
  const scheduler = makeScheduler({
    jobs: jobs.map((job) => ({ name: 'job', firstMs: 10, everyMs: 100, ...job })),
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
  return { scheduler, pass, errors, timers };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a job comes once soon, then at its interval, also after it has failed', async () => {
  let runs = 0;
  const { scheduler, pass, errors } = open([
    {
      run: async () => {
        runs += 1;
        if (runs === 1) throw new Error('the first');
      },
    },
  ]);
  await pass(1_000);
  expect(runs).toBe(0);
  scheduler.begin();
  await pass(9);
  expect(runs).toBe(0);
  await pass(1);
  expect([runs, errors]).toEqual([1, ['job: Error: the first']]);
  await pass(99);
  expect(runs).toBe(1);
  await pass(1);
  expect(runs).toBe(2);
  await scheduler.stop();
  await pass(1_000);
  expect(runs).toBe(2);
});

test('a job never runs twice at once, and keeps no other waiting', async () => {
  const { promise: gate, resolve } = Promise.withResolvers<void>();
  const runs: string[] = [];
  const { scheduler, pass } = open([
    {
      name: 'slow',
      run: async () => {
        runs.push('slow');
        await gate;
      },
    },
    { name: 'quick', run: async () => void runs.push('quick') },
  ]);
  scheduler.begin();
  await pass(10);
  const joined = scheduler.run('slow');
  await pass(100);
  expect(runs).toEqual(['slow', 'quick', 'quick']);
  resolve();
  await joined;
  await pass(100);
  expect(runs.slice(3).toSorted()).toEqual(['quick', 'slow']);
  expect(() => scheduler.run('unheard-of')).toThrow(/there is no job/);
});

test('a run on demand puts the next one off, and makes no second line of runs', async () => {
  let runs = 0;
  const { scheduler, pass, timers } = open([
    {
      run: async () => {
        runs += 1;
      },
    },
  ]);
  scheduler.begin();
  await scheduler.run('job');
  expect([runs, timers.length]).toEqual([1, 1]);
  await pass(99);
  expect(runs).toBe(1);
  await pass(1);
  expect([runs, timers.length]).toEqual([2, 1]);
});

test('a stop tells the job, waits for it, and takes what it broke off for no failure', async () => {
  const { promise: gate, resolve } = Promise.withResolvers<void>();
  let told = false;
  const { scheduler, pass, errors } = open([
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
  scheduler.begin();
  await pass(10);
  let stopped = false;
  const stopping = scheduler.stop().then(() => {
    stopped = true;
  });
  await settle();
  expect([told, stopped]).toEqual([true, false]);
  resolve();
  await stopping;
  expect(errors).toEqual([]);
  await scheduler.run('job');
});
