#!/usr/bin/env node
/** The `freehold` program: this process as a terminal. */
import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import packageJson from '../package.json' with { type: 'json' };
import { runCommandLine } from './command-line.ts';
import { commands } from './commands.ts';
import { openBrowser } from './login/open-browser.ts';
import { fetchFromHere } from './settings/fetch-from-here.ts';
import { Interrupted } from './world.ts';

const { stdout, stderr, stdin, env } = process;

// Whoever reads only the first lines (`freehold help | head -1`) has not made us fail.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// The first Ctrl-C lets a command say what goes on without it; the second ends the program as it is.
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
