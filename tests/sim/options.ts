/** The command line of `npm run sim`. */
import { parseArgs } from 'node:util';
import { FEATURES, type Feature } from './actions.ts';
import { STRICT } from './known.ts';
import type { RunOptions } from './simulation.ts';
import type { EngineName } from './world.ts';

export const USAGE = `npm run sim -- [options]

  --seed N           the seed of the (first) run; default: a random one, which is printed
  --steps N          how many steps a run makes; default 5000
  --seconds N        goes on with the next seeds for so long
  --engine sim|node  sim (default): every move is the simulation's; node: the engine of production
  --without a,b      leaves things out: ${FEATURES.join(', ')}
  --verify-every N   compares everything every so many steps; default 100
  --strict           forgives nothing, not even what is known and not repaired yet (see known.ts)
  --shrink           after a violation: looks for a shorter run that has it too
  --trace FILE       writes down everything that happens
  --json             one JSON object a run, instead of text
`;

export interface SimOptions {
  /** Null: a random one. */
  readonly seed: number | null;
  readonly run: Omit<RunOptions, 'seed'>;
  readonly seconds: number | null;
  readonly shrink: boolean;
  readonly traceFile: string | null;
  readonly json: boolean;
}

export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

/** @throws OptionsError, in words for whoever typed it. */
export function parseOptions(args: readonly string[]): SimOptions | 'help' {
  const values = parse(args);
  if (values.help) return 'help';
  const without = values.without?.split(',').filter((name) => name !== '') ?? [];
  const unknown = without.find((name) => !FEATURES.includes(name as Feature));
  if (unknown !== undefined) throw new OptionsError(`--without: there is no ${unknown}`);
  const { engine } = values;
  if (engine !== 'sim' && engine !== 'node') throw new OptionsError('--engine is sim or node');
  return {
    seed: values.seed === undefined ? null : whole('--seed', values.seed, 0),
    seconds: values.seconds === undefined ? null : whole('--seconds', values.seconds, 1),
    shrink: values.shrink,
    traceFile: values.trace ?? null,
    json: values.json,
    run: {
      steps: whole('--steps', values.steps, 1),
      engine: engine satisfies EngineName,
      without: without as Feature[],
      verifyEvery: whole('--verify-every', values['verify-every'], 1),
      ...(values.strict ? { lenience: STRICT } : {}),
    },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        steps: { type: 'string', default: '5000' },
        seconds: { type: 'string' },
        engine: { type: 'string', default: 'sim' },
        without: { type: 'string' },
        'verify-every': { type: 'string', default: '100' },
        strict: { type: 'boolean', default: false },
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

function whole(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < min)
    throw new OptionsError(`${name} is a whole number from ${min}`);
  return value;
}
