/** Uses many scopes in a process of its own, to measure their memory alone. Started by `scale.ts`. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openHost, principal, scopeIdOf } from './notes.ts';

export interface Task {
  /** `keep`: all stay open. `touch`: each is used once, in turn. */
  readonly task: 'keep' | 'touch';
  /** Holds the scopes from the 1st. */
  readonly dataDirectory: string;
  readonly scopes: number;
  readonly openUnitsMax: number;
}

/** Resident memory in bytes. */
export interface Used {
  readonly ms: number;
  readonly rssBefore: number;
  readonly rss: number;
  readonly rssPeak: number;
}

/** Does a task in a child process. */
export async function inChild(task: Task): Promise<Used> {
  const child = fork(import.meta.filename, [JSON.stringify(task)], { execArgv: ['--expose-gc'] });
  const [answer] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    Used | number | null,
  ];
  if (answer === null || typeof answer === 'number') throw new Error(`${task.task} ended with ${answer}`);
  return answer;
}

async function run({ scopes, dataDirectory, openUnitsMax }: Task): Promise<Used> {
  const { engine, host } = openHost(dataDirectory, { openUnitsMax });
  const use = async (scope: number): Promise<void> => {
    const scopeId = scopeIdOf(scope);
    const { output } = await host
      .operations(scopeId, principal)
      .invoke({ operation: 'note/write', input: { text: 'a short note' } });
    const { note } = output as { note: string };
    const { items } = await host.scope(scopeId).history({ entity: { type: 'note', id: note }, limit: 50 });
    if (items.length !== 1) throw new Error('a scope does not have what was written to it');
  };
  // The 0th is opened first, to pay the fixed cost of a process.
  await use(0);
  const rssBefore = resident();
  const startedMs = performance.now();
  for (let scope = 1; scope <= scopes; scope++) await use(scope);
  const ms = performance.now() - startedMs;
  const open = Math.min(scopes + 1, openUnitsMax);
  if (engine.openUnits !== open) throw new Error(`${engine.openUnits} scopes are open`);
  const used = { ms, rssBefore, rss: resident(), rssPeak: process.resourceUsage().maxRSS * 1_024 };
  await engine.close();
  return used;
}

function resident(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return process.memoryUsage.rss();
}

if (process.channel && process.argv[1] === import.meta.filename) {
  const used = await run(JSON.parse(process.argv[2] ?? '{}') as Task);
  process.send?.(used, () => process.disconnect?.());
}
