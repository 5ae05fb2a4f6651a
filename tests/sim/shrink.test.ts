import { expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulation.ts';

test('a failing run is made shorter, and repeats', async () => {
  const mutant = MUTANTS.find(({ name }) => name === 'a scope that loses a delivery')?.mutant ?? {};
  const options = { seed: 2, steps: 200, mutant, verifyEvery: 100 };
  const result = await simulate(options);
  expect(result.violation?.invariant).toBe('deliveries');
  const best = await shrink(options, result, undefined, 1);
  expect(best.result.steps).toBeLessThan(result.steps);
  const again = await simulate(best.options);
  expect(again.violation?.message).toBe(best.result.violation?.message);
  expect(again.digest).toBe(best.result.digest);
});
