/** Runs commands in the repository's root, with the project's own Node and tools first in the path. */
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Whether steps beside it have the processor first. Default: no. */
  readonly yields?: boolean;
}

/** The niceness of a step that yields: the steps before it get three times its share (sched(7)). */
const NICENESS = '5';

/** Runs a step and prints all of its output when it has ended, so that steps can overlap. Answers whether it succeeded. */
export async function runStep({ name, command, yields = false }: Step): Promise<boolean> {
  const startedAtMs = performance.now();
  console.log(`— ${name}: begins`);
  // Windows has no such command, and runs all steps alike.
  const isNice = yields && process.platform !== 'win32';
  const { output, code } = await run(isNice ? ['nice', '-n', NICENESS, ...command] : command);
  const seconds = Math.round((performance.now() - startedAtMs) / 1000);
  process.stdout.write(output);
  console.log(
    `— ${name}: ${code === 0 ? 'passed' : `FAILED (exit code ${code})`} in ${seconds} s: ${command.join(' ')}\n`,
  );
  return code === 0;
}

function run([file, ...args]: Step['command']): Promise<{ output: string; code: number | null }> {
  const { promise, resolve } = Promise.withResolvers<{ output: string; code: number | null }>();
  const chunks: Buffer[] = [];
  const collect = (chunk: Buffer) => void chunks.push(chunk);
  const child = spawn(file, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      WRANGLER_SEND_METRICS: 'false',
    },
  });
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.on('error', (error) => collect(Buffer.from(`${error.message}\n`)));
  child.on('close', (code) => resolve({ output: Buffer.concat(chunks).toString('utf8'), code }));
  return promise;
}
