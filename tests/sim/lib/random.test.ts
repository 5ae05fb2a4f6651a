/** A seed is useful only if its numbers never change. */
import { expect, test } from 'vitest';
import { makeRandom } from './random.ts';

test('a seed gives the numbers that it always gave', () => {
  const random = makeRandom('1');
  expect(Array.from({ length: 4 }, () => random.u32())).toMatchInlineSnapshot(`
    [
      1322085210,
      3448142222,
      3302272250,
      76698490,
    ]
  `);
  expect([...random.bytes(4)]).toMatchInlineSnapshot(`
    [
      82,
      36,
      47,
      199,
    ]
  `);
});

test('a fork gives the same whatever was drawn before', () => {
  const [left, right] = [makeRandom('2'), makeRandom('2')];
  for (let i = 0; i < 10; i++) left.u32();
  expect(left.fork('disk').u32()).toBe(right.fork('disk').u32());
  expect(left.fork('disk').u32()).not.toBe(left.fork('clock').u32());
});

test('numbers spread over their range', () => {
  const random = makeRandom('3');
  const counts = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) counts[random.below(10)] = (counts[random.below(10)] ?? 0) + 1;
  expect(Math.min(...counts)).toBeGreaterThan(800);
  expect(Math.max(...counts)).toBeLessThan(1_200);
  const chances = Array.from({ length: 10_000 }, () => random.chance(0.25)).filter(Boolean).length;
  expect(chances).toBeGreaterThan(2_300);
  expect(chances).toBeLessThan(2_700);
});

test('a choice without weight never comes', () => {
  const random = makeRandom('4');
  const drawn = Array.from({ length: 1_000 }, () =>
    random.weighted([
      { weight: 3, value: 'often' },
      { weight: 1, value: 'seldom' },
      { weight: 0, value: 'never' },
    ]),
  );
  expect(drawn).not.toContain('never');
  expect(drawn.filter((value) => value === 'often').length).toBeGreaterThan(650);
});
