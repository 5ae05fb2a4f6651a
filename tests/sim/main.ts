/**
 * `npm run sim` runs the simulator until a violation, a number of steps, or the end of the time. A failed run is
 * printed with its seed and the command that repeats it; the exit code is then 1.
 */
import { createWriteStream } from 'node:fs';
import { makeRandom } from './lib/random.ts';
import { OptionsError, parseOptions, RUN_STEPS_MAX, type SimOptions, USAGE } from './options.ts';
import { replayCommand, reportOf } from './report.ts';
import { shrink } from './shrink.ts';
import { type RunOptions, type RunResult, simulate } from './simulation.ts';

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(USAGE);
  else process.exitCode = (await run(options)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof OptionsError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}

/** Returns whether all invariants held. */
async function run(options: SimOptions): Promise<boolean> {
  const { json, traceFile } = options;
  const say = (text: string): void => void (json ? undefined : process.stdout.write(`${text}\n`));
  const trace = traceFile === null ? null : createWriteStream(traceFile);
  const startedMs = performance.now();
  const passedMs = (): number => performance.now() - startedMs;
  let seed = options.seed ?? makeSeed();
  let [runs, steps] = [0, 0];
  try {
    do {
      const given: RunOptions = {
        ...options.run,
        seed,
        steps: Math.min(RUN_STEPS_MAX, options.steps - steps),
        ...(trace ? { onLine: (line) => void trace.write(`${line}\n`) } : {}),
      };
      const beganMs = passedMs();
      const result = await simulated(given);
      runs += 1;
      steps += result.steps;
      if (json) process.stdout.write(`${JSON.stringify(jsonOf(result, passedMs() - beganMs))}\n`);
      if (result.violation) {
        say(reportOf(given, result));
        if (options.shrink) say(await shrunk(given, result, say));
        return false;
      }
      const perSecond = Math.round((result.steps * 1_000) / (passedMs() - beganMs));
      say(`seed ${seed}: ${result.steps} steps, ${perSecond} a second, ${result.digest.slice(0, 12)}`);
      seed += 1;
    } while (steps < options.steps && passedMs() < options.forMs);
    say(`${runs} runs, ${steps} steps, ${Math.round(passedMs() / 1_000)} seconds: everything held`);
    return true;
  } finally {
    trace?.end();
  }
}

/** A run that breaks off by a mistake of the simulator must be repeatable as well. */
async function simulated(given: RunOptions): Promise<RunResult> {
  try {
    return await simulate(given);
  } catch (error) {
    process.stderr.write(`The simulator itself failed with seed ${given.seed}.\n`);
    throw error;
  }
}

async function shrunk(options: RunOptions, result: RunResult, say: (text: string) => void): Promise<string> {
  say('Looking for a shorter run that violates the same …');
  const best = await shrink(options, result, (found) =>
    say(`  ${found.result.steps} steps: ${replayCommand(found.options, found.result)}`),
  );
  return `The shortest run that was found:\n\n${reportOf(best.options, best.result)}`;
}

function jsonOf({ violation, ...result }: RunResult, durationMs: number) {
  return {
    ...result,
    durationMs: Math.round(durationMs),
    violation: violation && { invariant: violation.invariant, detail: violation.message },
  };
}

/** The only source of chance from outside. The seed is printed. */
function makeSeed(): number {
  return makeRandom(`${Date.now()} ${process.pid}`).below(2 ** 31);
}
