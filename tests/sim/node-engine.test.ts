/** The production engine under the same models. Runs are short because other processes make its copies. */
import { expect, test } from 'vitest';
import { simulate } from './simulation.ts';

test.each([1, 2, 3])('everything holds in the run of seed %i on the Node engine', async (seed) => {
  const { violation, counts } = await simulate({ seed, steps: 120, engine: 'node' });
  expect(violation).toBeNull();
  expect(counts.answered).toBeGreaterThan(50);
});
