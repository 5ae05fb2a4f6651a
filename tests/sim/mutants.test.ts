/** The simulator finds each defect within a bounded number of steps. */
import { expect, test } from 'vitest';
import { INVARIANTS, type Invariant } from './lib/violation.ts';
import { MUTANTS } from './mutants.ts';
import { type RunResult, simulate } from './simulation.ts';

/** The number of runs that must be enough. */
const SEEDS = 6;
const STEPS = 600;

test.each(MUTANTS)('$name is found out', async ({ violates, ...run }) => {
  let result: RunResult | null = null;
  for (let seed = 1; seed <= SEEDS && !result?.violation; seed++)
    result = await simulate({ ...run, seed, steps: STEPS, verifyEvery: 20 });
  expect(violates).toContain(result?.violation?.invariant);
});

test('every invariant but two has a platform that breaks it', () => {
  const broken = new Set(MUTANTS.flatMap(({ violates }) => violates));
  // No mutant can damage a database file, and `followed` is a mistake of the model, not of the platform.
  for (const invariant of ['integrity', 'followed'] as const) broken.add(invariant);
  expect([...broken].sort()).toEqual((Object.keys(INVARIANTS) as Invariant[]).sort());
});
