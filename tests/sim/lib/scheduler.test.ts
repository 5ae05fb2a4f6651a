/** In simulated time nothing runs by itself, and no task of a dead process runs. */
import { expect, test } from 'vitest';
import { makeRandom } from './random.ts';
import { makeScheduler } from './scheduler.ts';

const alive = { isDead: false };

test('a timer may run when its time has come, and not before', () => {
  const scheduler = makeScheduler(makeRandom('1'), 1_000);
  const ran: number[] = [];
  scheduler.after(alive, 50, 'late', () => ran.push(scheduler.now()));
  expect([scheduler.ready(), scheduler.nextTimerMs()]).toEqual([0, 1_050]);
  scheduler.advance(50);
  expect(scheduler.ready()).toBe(1);
  expect(scheduler.runOne()).toBe('late');
  expect(ran).toEqual([1_050]);
  expect([scheduler.ready(), scheduler.nextTimerMs()]).toEqual([0, null]);
});

test('a cancelled timer does not run', () => {
  const scheduler = makeScheduler(makeRandom('1'), 0);
  scheduler.after(alive, 0, 'cancelled', () => expect.unreachable())();
  expect(scheduler.ready()).toBe(0);
});

test('tasks of a dead process do not run', () => {
  const scheduler = makeScheduler(makeRandom('1'), 0);
  const life = { isDead: false };
  scheduler.soon(life, 'left behind', () => expect.unreachable());
  scheduler.after(life, 0, 'left behind', () => expect.unreachable());
  expect(scheduler.ready()).toBe(2);
  life.isDead = true;
  expect(scheduler.ready()).toBe(0);
  scheduler.soon(life, 'from the grave', () => expect.unreachable());
  expect(scheduler.ready()).toBe(0);
});

test('the seed decides the order of tasks, and the same seed decides the same', () => {
  const orderOf = (seed: string): string => {
    const scheduler = makeScheduler(makeRandom(seed), 0);
    for (const label of 'abcdef') scheduler.soon(alive, label, () => undefined);
    return Array.from({ length: 6 }, () => scheduler.runOne()).join('');
  };
  expect(orderOf('1')).toBe(orderOf('1'));
  expect(new Set(['1', '2', '3', '4'].map(orderOf)).size).toBeGreaterThan(1);
});
