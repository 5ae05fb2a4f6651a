/**
 * The seed of every property test. A developer's run draws a new one each time, and prints it when something is found; CI
 * runs the same examples every time, so that what turns it red is the change. `FREEHOLD_FUZZ_SEED=N` repeats a run.
 */
import fc from 'fast-check';

const CI_SEED = '20261121';

const seed = process.env.FREEHOLD_FUZZ_SEED ?? (process.env.CI ? CI_SEED : undefined);
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });
