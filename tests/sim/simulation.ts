/**
 * One run: a platform of a few scopes whose clock, randomness, scheduling, disk and crashes come from one seed, and
 * the models that watch it. One step is one decision: a call, a task, passing time, or a fault.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACTIONS, type Action, FEATURES, type Feature, setUp } from './actions.ts';
import { makeRandom, type Random } from './lib/random.ts';
import { makeJudge, type Violation } from './lib/violation.ts';
import type { Mutant } from './mutant.ts';
import { makeTrace } from './trace.ts';
import { type EngineName, makeWorld, type RunningWorld } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  /** Default `sim`. */
  readonly engine?: EngineName;
  /** The features that are left out. Default: none. */
  readonly without?: readonly Feature[];
  /** The features that come much more often than usual. Default: the seed decides. */
  readonly often?: readonly Feature[];
  /** The number of steps between two full comparisons. Default 100. */
  readonly verifyEvery?: number;
  /** Receives the trace, line by line. */
  readonly onLine?: (line: string) => void;
  readonly mutant?: Mutant;
}

export interface RunResult {
  readonly seed: number;
  /** The number of steps, up to the violation if there is one. */
  readonly steps: number;
  readonly violation: Violation | null;
  /** SHA-256 of the trace. */
  readonly digest: string;
  /** The last lines of the trace, oldest first. */
  readonly tail: readonly string[];
  /** Counts of actions: a run in which nothing happened proves nothing. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The number of waiting calls at which the simulation lets some of them run. */
const IN_FLIGHT_MAX = 24;

/** Does one run. Throws only for a mistake of the simulator itself. */
export async function simulate(options: RunOptions): Promise<RunResult> {
  const { seed, steps, engine = 'sim', without = [], often, verifyEvery = 100, mutant = {} } = options;
  const root = mkdtempSync(join(scratch(), 'freehold-sim-'));
  const trace = makeTrace(options.onLine);
  const judge = makeJudge();
  const counts: Record<string, number> = {};
  const world = makeWorld({
    root,
    random: makeRandom(`${engine} ${seed}`),
    trace,
    judge,
    counts,
    mutant,
    engineName: engine,
  });
  const emphasis = often ? emphasisOn(often) : emphasisOf(world.random.fork('emphasis'));
  const actions = ACTIONS.filter(({ feature }) => !feature || !without.includes(feature)).map((action) => ({
    ...action,
    weight: action.weight * ((action.feature && emphasis.get(action.feature)) ?? 1),
  }));
  let step = 0;
  try {
    await setUp(world);
    while (step < steps) {
      step += 1;
      await makeStep(world, actions, step);
      if (step % verifyEvery === 0) world.verify();
    }
    await world.calmDown();
  } catch (error) {
    if (!judge.violation) throw error;
  } finally {
    await world.close();
    rmSync(root, { recursive: true, force: true });
  }
  return {
    seed,
    steps: step,
    violation: judge.violation,
    digest: trace.digest(),
    tail: trace.tail(40),
    counts,
  };
}

/**
 * Each run emphasises some actions: a defect that needs many of one kind never shows when all kinds are equally
 * likely.
 */
function emphasisOf(random: Random): ReadonlyMap<Feature, number> {
  return new Map(FEATURES.map((feature) => [feature, random.pick([0.2, 0.5, 1, 1, 2, 5])]));
}

function emphasisOn(features: readonly Feature[]): ReadonlyMap<Feature, number> {
  return new Map(features.map((feature) => [feature, 8]));
}

async function makeStep(world: RunningWorld, actions: readonly Action[], step: number): Promise<void> {
  const { random, scheduler, trace } = world;
  const ready = scheduler.ready();
  const isFull = world.inFlight >= IN_FLIGHT_MAX;
  // The more tasks wait, the likelier one runs; sometimes a queue grows long first.
  if (ready > 0 && (isFull || random.chance(0.35 + Math.min(0.3, ready * 0.02)))) {
    trace.line(`${step} run ${scheduler.runOne()}`);
  } else {
    // An engine of its own pace has answered everything before each step, so it gets several calls at once.
    const count = world.process.inner.isPaced ? 1 : random.between(1, 5);
    for (let each = 0; each < count && !world.process.life.isDead; each++) {
      const action = random.weighted(actions.map((value) => ({ weight: value.weight, value })));
      trace.line(`${step} ${action.name}`);
      action.run(world);
    }
  }
  await world.settle();
}

/** A directory in memory, if the system has one: the tests that kill real processes cover the real disk. */
function scratch(): string {
  try {
    const probe = mkdtempSync('/dev/shm/freehold-sim-probe-');
    rmSync(probe, { recursive: true });
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}
