/**
 * Runs that failed once, each named after its finding. A seed leads to the same run only while no draw changes; the
 * findings themselves are tests of the kernel, and those with an outside symptom are in `mutants.ts`.
 */
import { expect, test } from 'vitest';
import { type RunOptions, simulate } from './simulation.ts';

interface NamedRun extends RunOptions {
  readonly name: string;
}

const RUNS: readonly NamedRun[] = [
  {
    name: 'a repeat acts once, also after another person was erased',
    seed: 9,
    steps: 60,
    often: ['shred'],
  },
  {
    name: 'a call that gets along with an erased person keeps its answer',
    seed: 3,
    steps: 340,
    often: ['shred'],
  },
  {
    name: 'a key that was on its way while its person was erased opens nothing',
    seed: 43,
    steps: 60,
    often: ['shred'],
  },
  {
    name: 'a crash while an older state arrives beside an erasure brings no person back',
    seed: 26,
    steps: 60,
    often: ['shred', 'rewind'],
  },
];

test.each(RUNS)('$name (seed $seed)', async ({ name: _name, ...run }) => {
  const { violation } = await simulate({ ...run, verifyEvery: 10 });
  expect(violation).toBeNull();
});
