/**
 * One run: a platform of a few scopes whose clock, randomness, scheduling, disk and death are all drawn from one seed,
 * and the models that watch it. One step is one decision: something is asked for, a task runs, time passes, or
 * something breaks.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACTIONS, type Action, FEATURES, type Feature, setUp } from './actions.ts';
import type { Mutant } from './mutant.ts';
import { makeRandom, type Random } from './random.ts';
import { makeTrace } from './trace.ts';
import { makeJudge, type Violation } from './violation.ts';
import { type EngineName, makeWorld, type RunningWorld } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  /** Default `sim`. */
  readonly engine?: EngineName;
  /** What is left out. Default: nothing. */
  readonly without?: readonly Feature[];
  /** What comes much more often than usual. Default: the seed decides how often anything comes. */
  readonly often?: readonly Feature[];
  /** Every so many steps everything is compared. Default 100. */
  readonly verifyEvery?: number;
  /** Receives the trace, line by line. */
  readonly onLine?: (line: string) => void;
  readonly mutant?: Mutant;
}

export interface RunResult {
  readonly seed: number;
  /** How many steps were made: up to the violation, when there is one. */
  readonly steps: number;
  readonly violation: Violation | null;
  /** SHA-256 of the trace. */
  readonly digest: string;
  /** The last lines of the trace, oldest first. */
  readonly tail: readonly string[];
  /** How often what happened: a run in which nothing did proves nothing. */
  readonly counts: Readonly<Record<string, number>>;
}

/** How many calls may wait before the simulation lets some of them run. */
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
 * No two runs have the same habits: in each, some things come more often than usual and some hardly ever, because what
 * only shows under many of one kind is never seen when all kinds keep each other in check.
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
  // The more waits, the likelier it is that something runs; sometimes a queue grows long first.
  if (ready > 0 && (isFull || random.chance(0.35 + Math.min(0.3, ready * 0.02)))) {
    trace.line(`${step} run ${scheduler.runOne()}`);
  } else {
    // An engine with a life of its own has answered everything before each step: it is asked for several things at once.
    const count = world.process.inner.isPaced ? 1 : random.between(1, 5);
    for (let each = 0; each < count && !world.process.life.isDead; each++) {
      const action = random.weighted(actions.map((value) => ({ weight: value.weight, value })));
      trace.line(`${step} ${action.name}`);
      action.run(world);
    }
  }
  await world.settle();
}

/** Memory, where the system has a place in it: what the real disk does is for the tests that kill real processes. */
function scratch(): string {
  try {
    const probe = mkdtempSync('/dev/shm/freehold-sim-probe-');
    rmSync(probe, { recursive: true });
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}
