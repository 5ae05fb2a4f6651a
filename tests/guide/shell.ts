/** One shell for many lines: variables that a line sets stay for the next one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { compileCache } from '../support/compile-cache.ts';

/** The limit of one line: generous, for a busy machine. */
const PATIENCE_MS = 90_000;
/** Printed behind a line to mark its end. */
const END = 'the-line-has-ended';

export interface Shell extends AsyncDisposable {
  /** Runs a line. @throws Error with the output when it takes too long, or ends the shell. */
  run(line: string): Promise<{ readonly code: number; readonly output: string }>;
}

interface ShellOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export function openShell({ cwd, env }: ShellOptions): Shell {
  const child = spawn('sh', [], {
    cwd,
    stdio: ['pipe', 'pipe', 'ignore'],
    // A process group, so that its children end with it.
    detached: true,
    env: {
      ...compileCache,
      PATH: process.env.PATH ?? '',
      HOME: cwd,
      NO_COLOR: '1',
      npm_config_offline: 'true',
      ...env,
    },
  });
  const closed = once(child, 'close');
  let output = '';
  let changed = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    changed();
  });
  void closed.then(() => changed());
  // A dead shell reports by its output, not by the line that it can no longer take.
  child.stdin.on('error', () => undefined);
  child.stdin.write('exec 2>&1\n');

  return {
    run: (line) =>
      new Promise((resolve, reject) => {
        output = '';
        const fail = (why: string) => reject(new Error(`${line} ${why}:\n${output}`));
        const timer = setTimeout(() => fail('takes too long'), PATIENCE_MS);
        changed = () => {
          const end = new RegExp(`\\n?${END} (\\d+)\\n$`).exec(output);
          if (!end && child.exitCode === null && child.signalCode === null) return;
          clearTimeout(timer);
          if (end) resolve({ code: Number(end[1]), output: output.slice(0, end.index) });
          else fail('has ended the shell');
        };
        // Without a standard input of its own a program would read the next line.
        child.stdin.write(`{ ${line}\n} </dev/null\nprintf '\\n%s %s\\n' ${END} $?\n`);
      }),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, 'SIGKILL');
      await closed;
    },
  };
}
