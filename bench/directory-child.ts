/** Uses a directory in a process of its own, to measure its memory alone. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { asksOf } from './directory-asks.ts';
import { type FleetPlan, openFleet } from './directory-fleet.ts';

/** The number of repetitions of each call. */
const TIMES = 2_000;

/** Returns the resident bytes of a process that has made all calls of a directory. */
export async function memoryInChild(plan: FleetPlan): Promise<number> {
  const child = fork(import.meta.filename, [JSON.stringify(plan)], { execArgv: ['--expose-gc'] });
  const [answer] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
  const { rss } = (answer ?? {}) as { readonly rss?: number };
  if (rss === undefined) throw new Error(`using a directory ended with ${answer}`);
  return rss;
}

async function run(plan: FleetPlan): Promise<number> {
  const fleet = openFleet(plan);
  for (const ask of Object.values(asksOf(fleet))) for (let time = 0; time < TIMES; time++) await ask();
  (globalThis as { gc?: () => void }).gc?.();
  const { rss } = process.memoryUsage();
  await fleet.engine.close();
  return rss;
}

if (process.channel && process.argv[1] === import.meta.filename) {
  const rss = await run(JSON.parse(process.argv[2] ?? '{}') as FleetPlan);
  process.send?.({ rss }, () => process.disconnect?.());
}
