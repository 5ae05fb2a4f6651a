import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startRecurring } from './recurring.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('comes once soon, then at its interval, also after it has failed', async () => {
  let runs = 0;
  const errors: unknown[] = [];
  const stop = startRecurring({
    firstMs: 10,
    intervalMs: 100,
    work: async () => {
      runs += 1;
      if (runs === 1) throw new Error('the first');
    },
    onError: (error) => errors.push(error),
  });
  await vi.advanceTimersByTimeAsync(9);
  expect(runs).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect([runs, errors.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(100);
  expect(runs).toBe(2);
  await stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs).toBe(2);
});

test('a stop tells the work, and waits for it', async () => {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let told = false;
  const stop = startRecurring({
    firstMs: 0,
    intervalMs: 100,
    work: async (signal) => {
      signal.addEventListener('abort', () => {
        told = true;
      });
      await done;
    },
    onError: () => undefined,
  });
  await vi.advanceTimersByTimeAsync(0);
  let stopped = false;
  const stopping = stop().then(() => {
    stopped = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect([told, stopped]).toEqual([true, false]);
  resolve();
  await stopping;
});
