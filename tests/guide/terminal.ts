/** A command in a terminal: its output so far, and its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { compileCache } from '../support/compile-cache.ts';

/** The limit of one wait: generous, for a busy machine. */
const PATIENCE_MS = 90_000;

export interface Command {
  /** The line as it is typed into a shell. */
  readonly line: string;
  /** A cheaper line with the same result, which runs in its place. */
  readonly cheaper?: string;
  readonly cwd: string;
  /** `PATH` is searched behind the programs of the folder. Default: that of this process. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Terminal {
  readonly line: string;
  readonly stdout: () => string;
  /** Both streams in the order of their arrival. */
  readonly output: () => string;
  /** Waits for its end: the exit code, or null when a signal ended it. A command that takes too long is killed. */
  end(): Promise<number | null>;
  /** Waits until a text is printed. @throws Error with the output when the command or the time ends before. */
  waitFor(text: RegExp): Promise<string>;
  /** Sends Ctrl-C, and waits for the end. */
  stop(): Promise<void>;
}

export function openTerminal({ line, cheaper = line, cwd, env }: Command): Terminal {
  const child = spawn('sh', ['-c', cheaper], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, so that children (npm starts a shell, which starts node) end with it.
    detached: true,
    env: {
      ...compileCache,
      HOME: cwd,
      NO_COLOR: '1',
      npm_config_update_notifier: 'false',
      // A missing package is an error, not a download.
      npm_config_offline: 'true',
      ...env,
      PATH: `${join(cwd, 'node_modules/.bin')}:${env.PATH ?? process.env.PATH}`,
    },
  });
  let stdout = '';
  let output = '';
  let isOver = false;
  let changed = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
    changed();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    changed();
  });
  // `close`, not `exit`: after `exit` there may be more output.
  const closed = once(child, 'close').then(() => {
    isOver = true;
    changed();
    return child.exitCode;
  });
  const signal = (name: 'SIGINT' | 'SIGKILL'): void => {
    if (child.pid === undefined || isOver) return;
    try {
      process.kill(-child.pid, name);
    } catch (error) {
      // It ended by itself just now.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };

  const end = () => withTimer(closed, () => signal('SIGKILL'));

  return {
    line,
    end,
    stdout: () => stdout,
    output: () => output,
    waitFor: (text) =>
      new Promise((resolve, reject) => {
        const fail = (why: string) => reject(new Error(`${line} ${why}:\n${output}`));
        const timer = setTimeout(() => fail('has not said what it should'), PATIENCE_MS);
        changed = () => {
          const found = text.exec(output);
          if (!found && !isOver) return;
          clearTimeout(timer);
          if (found) resolve(found[0]);
          else fail('has ended');
        };
        changed();
      }),
    stop: async () => {
      signal('SIGINT');
      await end();
    },
  };
}

/** Runs an action when a promise takes too long, and still waits for it. */
async function withTimer<T>(promise: Promise<T>, tooLong: () => void): Promise<T> {
  const timer = setTimeout(tooLong, PATIENCE_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
