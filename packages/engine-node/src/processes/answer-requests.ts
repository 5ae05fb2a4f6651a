/** The child's side of a process pool: answers one request after the other until its parent is gone. */
import { flushCompileCache } from 'node:module';
import { Fault } from '../lib/fault.ts';
import { READY, type Reply, type Request } from './messages.ts';

/** The tasks of a process, by name. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>;

export function answerRequests(tasks: Tasks): void {
  process.on('message', (request: Request) => {
    void answer(tasks, request).then((reply) => process.send?.(reply, undefined, undefined, leaveOnError));
  });
  process.send?.(READY, undefined, undefined, leaveOnError);
  // A pool kills its processes, and a process that is killed does not write what it compiled.
  flushCompileCache();
  process.on('disconnect', () => process.exit());
  // A terminal and a service manager signal the whole group. The parent ends the running tasks, and then exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
}

/** The parent is gone, so no answer can be sent. */
function leaveOnError(error: Error | null): void {
  if (error) process.exit();
}

async function answer(tasks: Tasks, { task, input }: Request): Promise<Reply> {
  try {
    const run = tasks[task] as ((input: unknown) => unknown) | undefined;
    if (!run) throw new Error(`there is no task ${task}`);
    return { ok: true, value: await run(input) };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, fault: error.reason, message: error.message };
    if (!(error instanceof Error)) return { ok: false, error: 'failed' };
    const { code, errcode } = error as { readonly code?: string; readonly errcode?: number };
    // The codes of the file system and of SQLite: a full disk is told from other failures by them.
    return {
      ok: false,
      error: error.stack ?? error.message,
      ...(code && { code }),
      ...(errcode && { errcode }),
    };
  }
}
