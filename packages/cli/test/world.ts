/** A world for tests: no terminal, no network, a manual clock, and directories that are removed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type CommandTable, runCommandLine, type Terminal } from '../src/lib/command-line.ts';
import type { World } from '../src/lib/world.ts';

export const NOW_MS = Date.parse('2026-11-21T08:00:00.000Z');

/** Makes a directory that is removed after the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The output of a command line. */
export interface Written {
  stdout: string;
  stderr: string;
  bytes: Buffer;
}

export function testTerminal(over: Partial<Terminal> & { readonly watched?: boolean } = {}): {
  readonly terminal: Terminal;
  readonly written: Written;
} {
  const { watched = false, ...rest } = over;
  const written: Written = { stdout: '', stderr: '', bytes: Buffer.alloc(0) };
  const clock = { ms: NOW_MS };
  const terminal: Terminal = {
    cwd: '/',
    env: {},
    configDirectory: '/nonexistent/freehold',
    version: '1.2.3',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
    now: () => clock.ms,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      clock.ms += ms;
    },
    random: (bytes) => new Uint8Array(bytes).fill(7),
    readStdin: async () => '',
    openBrowser: async () => false,
    output: {
      isTerminal: watched,
      columns: watched ? 80 : null,
      write: async (chunk) => {
        written.bytes = Buffer.concat([written.bytes, chunk]);
      },
    },
    interrupted: new AbortController().signal,
    stdout: {
      write: (text) => {
        written.stdout += text;
      },
    },
    stderr: {
      isTerminal: watched,
      write: (text) => {
        written.stderr += text;
      },
    },
    ...rest,
  };
  return { terminal, written };
}

/** Runs one command line and returns its output and exit code. */
export async function runLine(
  table: CommandTable,
  inputs: readonly string[],
  over: Parameters<typeof testTerminal>[0] = {},
) {
  const { terminal, written } = testTerminal(over);
  const status = await runCommandLine(table, inputs, terminal);
  return { status, ...written };
}

/** The world of a command that is called without a command line. */
export function testWorld(over: Partial<World> = {}): World {
  const { terminal } = testTerminal();
  return {
    ...terminal,
    say: () => {},
    progress: () => {},
    isWatched: false,
    isTerminal: false,
    asJson: false,
    ...over,
  };
}

/** Splits an example into words, as a shell would. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}
