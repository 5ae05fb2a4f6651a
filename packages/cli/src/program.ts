/** The `freehold` program on this process's terminal. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import packageJson from '../package.json' with { type: 'json' };
import { commands } from './commands.ts';
import { runCommandLine } from './lib/command-line.ts';
import { Interrupted } from './lib/world.ts';
import { fetchFromHere } from './settings/fetch-from-here.ts';

const { stdout, stderr, stdin, env } = process;

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

// `freehold help | head -1` closes the pipe early, which is no failure.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// The first Ctrl-C lets a command say which work goes on; the second ends the program at once.
const interrupting = new AbortController();
process.once('SIGINT', () => {
  process.once('SIGINT', () => process.exit(130));
  interrupting.abort(new Interrupted());
});

process.exitCode = await runCommandLine(commands, process.argv.slice(2), {
  cwd: process.cwd(),
  env,
  configDirectory: join(env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'freehold'),
  version: packageJson.version,
  fetch: fetchFromHere,
  now: Date.now,
  sleep: async (ms, signal) => {
    await setTimeout(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : error;
    });
  },
  random: randomBytes,
  readStdin: () => text(stdin),
  openBrowser,
  output: {
    isTerminal: stdout.isTTY === true,
    columns: stdout.isTTY ? stdout.columns : null,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
  },
  interrupted: interrupting.signal,
  stdout,
  stderr: { write: (chunk: string) => void stderr.write(chunk), isTerminal: stderr.isTTY === true },
});

/** Returns false when no program can open it. The address is one argument and passes no shell. */
function openBrowser(url: string): Promise<boolean> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  return new Promise((resolve) => {
    const child = spawn(program, [...words, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
