/** Runs that failed once, each named after what it had found. They hold now, and forgive nothing. */
import { expect, test } from 'vitest';
import { STRICT } from './known.ts';
import { simulate } from './simulation.ts';

const RUNS = [
  { name: 'a repeat acts once, also after somebody else was erased', seed: 32, steps: 100 },
  { name: 'a stored answer outlives the erasure of somebody else', seed: 42, steps: 150 },
  { name: 'what gets along with an erased person does so with a key as well', seed: 54, steps: 100 },
  { name: 'a call that reads nothing of an erased person keeps its answer', seed: 10, steps: 120 },
  { name: 'a rewind beside an erasure brings nobody back', seed: 46, steps: 620 },
];

test.each(RUNS)('$name (seed $seed)', async ({ seed, steps }) => {
  const { violation } = await simulate({ seed, steps, lenience: STRICT });
  expect(violation).toBeNull();
});
