/** A world for tests: no terminal, no network, a clock that only tests move, and directories that go away. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type CommandTable, runCommandLine, type Terminal } from '../src/command-line.ts';
import type { World } from '../src/world.ts';

export const NOW_MS = Date.parse('2026-11-21T08:00:00.000Z');

/** A directory that is gone after the test. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What was written, as it was written. */
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

/** One command line, from its words to what was written and the exit code. */
export async function runLine(
  table: CommandTable,
  inputs: readonly string[],
  over: Parameters<typeof testTerminal>[0] = {},
) {
  const { terminal, written } = testTerminal(over);
  const status = await runCommandLine(table, inputs, terminal);
  return { status, ...written };
}

/** What a command sees, for calling one without a command line. */
export function testWorld(over: Partial<World> = {}): World {
  const { terminal } = testTerminal();
  return { ...terminal, say: () => {}, progress: () => {}, isWatched: false, isTerminal: false, ...over };
}

/** The words of an example, as a shell would split it. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}
