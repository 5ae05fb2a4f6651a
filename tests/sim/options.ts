/** The command line of `npm run sim`. */
import { parseArgs } from 'node:util';
import { FEATURES, type Feature } from './actions.ts';
import type { RunOptions } from './simulation.ts';
import type { EngineName } from './world.ts';

export const USAGE = `npm run sim -- [options]

  --seed N           the seed of the first run; the next ones count on from it; default: a random one, which is printed
  --steps N          how many steps are made in all, in runs of 5000 at most; default 5000, or no end with --for
  --for TIME         how long it goes on: 90s, 10m, 2h
  --engine sim|node  sim (default): every move is the simulation's; node: the engine of production
  --without a,b      leaves things out: ${FEATURES.join(', ')}
  --often a,b        lets them come much more often than usual; default: the seed decides how often anything comes
  --verify-every N   compares everything every so many steps; default 100
  --shrink           after a violation: looks for a shorter run that has it too
  --trace FILE       writes down everything that happens
  --json             one JSON object a run, instead of text
`;

/** The limit of steps in one run: the state grows, and comparing it takes longer. */
export const RUN_STEPS_MAX = 5_000;

export interface SimOptions {
  /** Null: a random one. */
  readonly seed: number | null;
  /** The steps of all runs together. Infinity: as many as there is time for. */
  readonly steps: number;
  /** Infinity: as long as the steps take. */
  readonly forMs: number;
  readonly run: Omit<RunOptions, 'seed' | 'steps'>;
  readonly shrink: boolean;
  readonly traceFile: string | null;
  readonly json: boolean;
}

export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** @throws OptionsError with a message for the caller. */
export function parseOptions(args: readonly string[]): SimOptions | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const { engine } = values;
  if (engine !== 'sim' && engine !== 'node') throw new OptionsError('--engine is sim or node');
  const endless = values.for === undefined ? RUN_STEPS_MAX : Number.POSITIVE_INFINITY;
  return {
    seed: values.seed === undefined ? null : whole('--seed', values.seed, 0),
    steps: values.steps === undefined ? endless : whole('--steps', values.steps, 1),
    forMs: values.for === undefined ? Number.POSITIVE_INFINITY : duration('--for', values.for),
    shrink: values.shrink,
    traceFile: values.trace ?? null,
    json: values.json,
    run: {
      engine: engine satisfies EngineName,
      without: features('--without', values.without ?? ''),
      ...(values.often === undefined ? {} : { often: features('--often', values.often) }),
      verifyEvery: whole('--verify-every', values['verify-every'], 1),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        steps: { type: 'string' },
        for: { type: 'string' },
        engine: { type: 'string', default: 'sim' },
        without: { type: 'string' },
        often: { type: 'string' },
        'verify-every': { type: 'string', default: '100' },
        shrink: { type: 'boolean', default: false },
        trace: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new OptionsError((error as Error).message);
  }
}

function features(name: string, text: string): readonly Feature[] {
  const names = text.split(',').filter((each) => each !== '');
  const unknown = names.find((each) => !FEATURES.includes(each as Feature));
  if (unknown !== undefined) throw new OptionsError(`${name}: there is no ${unknown}`);
  return names as Feature[];
}

function whole(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < min)
    throw new OptionsError(`${name} is a whole number from ${min}`);
  return value;
}

function duration(name: string, text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new OptionsError(`${name} is a time such as 90s, 10m or 2h`);
  return Number(count) * (UNIT_MS[unit] as number);
}
