/** Starts the process that is killed, sends it orders, and collects its lines. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Line, Order } from './protocol.ts';

export interface Victim {
  /** Carries out an order; false when the process died of it. */
  carryOut(order: Order): Promise<boolean>;
  /** Ends it as a power cut does. */
  kill(): Promise<void>;
  /** Returns the lines since the last call. */
  take(): Line[];
}

/** The limit of a start or an order: generous, for a busy machine. */
const PATIENCE_MS = 120_000;

/** Starts it in a place, and waits until it has settled everything that was left there. */
export async function startVictim(place: string): Promise<Victim> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../administration-child.ts'), place], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: Line[] = [];
  let errors = '';
  let over: (() => void) | null = null;
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8')));
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    lines.push(line);
    if (line.t === 'ready' || line.t === 'over') over?.();
  });
  // Writing to a dead process fails; the test learns of the death otherwise.
  child.stdin.on('error', () => undefined);
  const closed = once(child, 'close').then(([, signal]) => signal as string | null);

  const until = async (begin: () => void): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<'over'>();
    over = () => resolve('over');
    begin();
    const timer = setTimeout(() => child.kill('SIGTERM'), PATIENCE_MS);
    const ended = await Promise.race([promise, closed]);
    clearTimeout(timer);
    if (ended === 'over') return true;
    if (ended !== 'SIGKILL') throw new Error(`the process ended with ${ended ?? child.exitCode}:\n${errors}`);
    return false;
  };
  const victim: Victim = {
    carryOut: async (order) => {
      if (order.do !== 'stop') return until(() => send(child, order));
      send(child, order);
      if ((await closed) !== null || child.exitCode !== 0)
        throw new Error(`the process ended with ${child.signalCode ?? child.exitCode}:\n${errors}`);
      return true;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
    take: () => lines.splice(0),
  };
  if (!(await until(() => undefined))) throw new Error('the process was killed before it was up');
  return victim;
}

function send(child: ChildProcess, order: Order): void {
  child.stdin?.write(`${JSON.stringify(order)}\n`);
}
