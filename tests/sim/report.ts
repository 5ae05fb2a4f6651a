/** The report of a failed run: the violation, the last decisions, and the command that repeats it. */

import { INVARIANTS } from './lib/violation.ts';
import type { RunOptions, RunResult } from './simulation.ts';

export function reportOf(options: RunOptions, result: RunResult): string {
  const { violation, seed, steps, tail } = result;
  if (!violation) return `seed ${seed}: everything held`;
  return [
    `VIOLATED: ${violation.invariant}`,
    `  ${INVARIANTS[violation.invariant]}`,
    '',
    `  ${violation.message}`,
    '',
    `seed ${seed}, step ${steps}. What happened last:`,
    ...tail.slice(-20).map((line) => `  | ${line.slice(0, 200)}`),
    '',
    `To repeat it: ${replayCommand(options, result)}`,
  ].join('\n');
}

/** The steps after the violation make no difference, so they are left out. */
export function replayCommand(options: RunOptions, { seed, steps }: RunResult): string {
  const { engine = 'sim', without = [], often, verifyEvery = 100 } = options;
  return [
    `npm run sim -- --seed ${seed} --steps ${steps}`,
    ...(engine === 'sim' ? [] : [`--engine ${engine}`]),
    ...(without.length === 0 ? [] : [`--without ${without.join(',')}`]),
    ...(often ? [`--often ${often.join(',')}`] : []),
    ...(verifyEvery === 100 ? [] : [`--verify-every ${verifyEvery}`]),
  ].join(' ');
}
