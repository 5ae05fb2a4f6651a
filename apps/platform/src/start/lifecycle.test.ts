import { expect, test } from 'vitest';
import { makeReadiness } from './core.ts';

test('is ready once everything is up, while the directory answers, and no more when it is closed', async () => {
  let answers = true;
  const readiness = makeReadiness();
  const ask = async () => {
    if (!answers) throw new Error('away');
  };
  expect(await readiness.isReady(ask)).toBe(false);
  readiness.up();
  expect(await readiness.isReady(ask)).toBe(true);
  answers = false;
  expect(await readiness.isReady(ask)).toBe(false);
  answers = true;
  readiness.down();
  expect([await readiness.isReady(ask), readiness.isUp()]).toEqual([false, false]);
});

test('a directory that does not answer in time is not ready', async () => {
  const readiness = makeReadiness(1);
  readiness.up();
  expect(await readiness.isReady(() => new Promise(() => undefined))).toBe(false);
});
