/** Programs as a person runs them in a shell: to their end, or until they are stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { compileCache } from '../support/compile-cache.ts';

/** The limit of a program: generous, for a busy machine. */
const PATIENCE_MS = 90_000;

export interface Program {
  readonly line: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. It has no terminal, so a program that prompts fails. */
export async function runProgram(program: Program): Promise<Ended> {
  const child = launch(program);
  const output = listen(child);
  const timer = setTimeout(() => end(child, 'SIGKILL'), PATIENCE_MS);
  await once(child, 'close');
  clearTimeout(timer);
  return { code: child.exitCode, ...output };
}

/** A program that runs until it is stopped. */
export interface Running extends AsyncDisposable {
  /** The groups of `ready` in its announcement. */
  readonly said: RegExpExecArray;
}

/** Starts a program and waits until it has printed `ready`. @throws Error with its output when it ends before that. */
export async function startProgram(program: Program & { readonly ready: RegExp }): Promise<Running> {
  const child = launch(program);
  const output = listen(child);
  const all = () => `${program.line.join(' ')}:\n${output.stdout}${output.stderr}`;
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    end(child, 'SIGTERM');
    await closed;
  };
  try {
    const said = await new Promise<RegExpExecArray>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`not ready in time, ${all()}`)), PATIENCE_MS);
      child.stdout?.on('data', () => {
        const found = program.ready.exec(output.stdout);
        if (!found) return;
        clearTimeout(timer);
        resolve(found);
      });
      child.once('close', (code) => {
        clearTimeout(timer);
        reject(new Error(`ended with ${code}, ${all()}`));
      });
    });
    return { said, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function launch({ line: [file, ...args], cwd, env }: Program): ChildProcess {
  return spawn(file, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, so that children (npm starts a shell, which starts node) end with it.
    detached: true,
    env: {
      ...compileCache,
      PATH: `${join(cwd, 'node_modules/.bin')}:${process.env.PATH}`,
      HOME: cwd,
      ...env,
    },
  });
}

function listen(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return output;
}

/** Signals the group of a program that was started here. */
function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // It ended by itself just now.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
