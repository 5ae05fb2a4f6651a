/** One shell that somebody goes on typing into: what a line sets, the next one has. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How long a line may take before it is given up: generous, for a busy machine. */
const PATIENCE_MS = 90_000;
/** What is printed behind a line, so that its end can be told. */
const END = 'the-line-has-ended';

export interface Shell extends AsyncDisposable {
  /** Types a line and waits until it is done. @throws Error with the output when it takes too long, or ends the shell. */
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
    // A group of its own, so that what it has started ends with it.
    detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, NO_COLOR: '1', npm_config_offline: 'true', ...env },
  });
  const closed = once(child, 'close');
  let output = '';
  let changed = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    changed();
  });
  void closed.then(() => changed());
  // A shell that has ended says so by its output, and not by the line that it can no longer take.
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
        // Nothing that reads from a terminal gets to read the next line instead.
        child.stdin.write(`{ ${line}\n} </dev/null\nprintf '\\n%s %s\\n' ${END} $?\n`);
      }),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, 'SIGKILL');
      await closed;
    },
  };
}
