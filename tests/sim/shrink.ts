/**
 * Searches a shorter run to a violation. A seed decides everything, so no step can be taken out of its run; but other
 * seeds, with fewer kinds of actions and a comparison after each step, may get there sooner.
 */
import { FEATURES, type Feature } from './actions.ts';
import { type RunOptions, type RunResult, simulate } from './simulation.ts';

export interface FailedRun {
  readonly options: RunOptions;
  readonly result: RunResult;
}

/** The number of seeds for each set of features. */
const SEEDS_DEFAULT = 6;

/** Returns a shorter run that violates the same invariant, or the given one when there is none. */
export async function shrink(
  options: RunOptions,
  result: RunResult,
  onBetter: (found: FailedRun) => void = () => undefined,
  seeds: number = SEEDS_DEFAULT,
): Promise<FailedRun> {
  const { onLine: _onLine, ...quiet } = options;
  let best: FailedRun = { options, result };

  const attempt = async (seed: number, without: readonly Feature[]): Promise<boolean> => {
    const steps = best.result.steps - 1;
    if (steps < 1) return false;
    const tried: RunOptions = { ...quiet, seed, steps, without, verifyEvery: 1 };
    const found = await simulate(tried);
    if (found.violation?.invariant !== result.violation?.invariant) return false;
    best = { options: tried, result: found };
    onBetter(best);
    return true;
  };

  let without: readonly Feature[] = options.without ?? [];
  for (const feature of FEATURES) {
    if (without.includes(feature)) continue;
    const fewer = [...without, feature];
    for (let i = 0; i < seeds; i++) {
      // A feature that one seed does not need stays out.
      if (await attempt(options.seed + i, fewer)) without = fewer;
    }
  }
  for (let i = 0; i < 4 * seeds; i++) await attempt(options.seed + seeds + i, without);
  return best;
}
