/** The simulator can fail: each platform that is wrong in one way is found out within a bounded number of steps. */
import { expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { type RunResult, simulate } from './simulation.ts';
import { INVARIANTS, type Invariant } from './violation.ts';

/** So many runs of so many steps must be enough. */
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
  // Nothing here can damage a database file; that SQLite would say so is SQLite's. And what the model cannot follow is
  // no find, whatever is wrong with the platform.
  for (const invariant of ['integrity', 'followed'] as const) broken.add(invariant);
  expect([...broken].sort()).toEqual((Object.keys(INVARIANTS) as Invariant[]).sort());
});
