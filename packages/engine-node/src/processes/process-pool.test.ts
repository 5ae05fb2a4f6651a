/** The pool of processes: after any request, the next one is answered, and nothing outlives the pool. */
import { expect, onTestFinished, test } from 'vitest';
import { makeProcessPool, ProcessEnded, type ProcessPoolOptions, TimeLimitReached } from './process-pool.ts';

function open(more: Partial<ProcessPoolOptions> = {}) {
  const pool = makeProcessPool({
    script: new URL('../../test/pool-child.ts', import.meta.url),
    processesMax: 2,
    waitingMax: 2,
    heapMax: 64,
    ...more,
  });
  onTestFinished(() => pool.close());
  return pool;
}

const ask = (task: string, input: unknown = null) => ({ task, input });
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('values come back as they are, errors as errors, and one process serves one after the other', async () => {
  const pool = open({ processesMax: 1 });
  const value = { big: 2n ** 60n, bytes: new Uint8Array([1, 2]), rows: [[null, 'x']] };
  expect(await pool.run(ask('echo', value))).toEqual(value);
  await expect(pool.run(ask('fail'))).rejects.toThrow('it failed');
  await expect(pool.run(ask('unknown'))).rejects.toThrow('there is no task unknown');
  expect(await pool.run(ask('pid'))).toBe(await pool.run(ask('pid')));
});

test('a process has nothing of this one’s environment', async () => {
  process.env.FREEHOLD_TEST_SECRET = 'secret';
  onTestFinished(() => void delete process.env.FREEHOLD_TEST_SECRET);
  const names = await open().run<string[]>(ask('environment'));
  // The shell's own, and the place of compiled code.
  const known = ['PWD', 'SHLVL', '_', 'OLDPWD', '__CF_USER_TEXT_ENCODING', 'NODE_COMPILE_CACHE'];
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

test('a request that does not end is killed at its limit, alone, and another process takes the place', async () => {
  const pool = open({ processesMax: 1 });
  const before = await pool.run<number>(ask('pid'));
  const hanging = expect(pool.run(ask('hang'), 50)).rejects.toBeInstanceOf(TimeLimitReached);
  const waiting = pool.run<number>(ask('pid'));
  await hanging;
  expect(isAlive(before)).toBe(false);
  expect(await waiting).not.toBe(before);
});

test('the time in which a process starts is none of its request: a busy machine refuses no small statement', async () => {
  const cold = open({ script: new URL('../../test/slow-child.ts', import.meta.url) });
  expect(await cold.run(ask('echo', 2), 1_000)).toBe(2);
});

test('a process that ends by itself fails its request, and the next has another', async () => {
  const pool = open({ processesMax: 1 });
  const leaving = expect(pool.run(ask('leave'))).rejects.toBeInstanceOf(ProcessEnded);
  const next = pool.run(ask('echo', 1));
  await leaving;
  expect(await next).toBe(1);
});

test('more than can wait is refused at once', async () => {
  const pool = open({ processesMax: 1, waitingMax: 1 });
  const first = pool.run(ask('echo', 1));
  const second = pool.run(ask('echo', 2));
  await expect(pool.run(ask('echo', 3))).rejects.toMatchObject({ code: 'unavailable', reason: 'busy' });
  expect(await Promise.all([first, second])).toEqual([1, 2]);
});

test('closing kills every process, also one that hangs, and rejects its requests', async () => {
  const pool = open();
  const pid = await pool.run<number>(ask('pid'));
  const closed = { code: 'unavailable', reason: 'shutting_down' };
  const outcomes = [ask('hang'), ask('hang'), ask('echo')].map((each) =>
    expect(pool.run(each)).rejects.toMatchObject(closed),
  );
  pool.close();
  await Promise.all(outcomes);
  await expect(pool.run(ask('pid'))).rejects.toMatchObject(closed);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

test('the limits of the system hold', async () => {
  const pool = open({ limits: { dataKiB: 800 * 1024, cpuSeconds: 1, fileBlocks: 1_000 } });
  expect(await pool.run(ask('echo', 1))).toBe(1);
  await expect(pool.run(ask('hang'))).rejects.toBeInstanceOf(ProcessEnded);
});
