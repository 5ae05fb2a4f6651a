/**
 * The official conformance suite against the mount, for the revision we serve and for the one that older clients
 * speak. It fails on every failure that no baseline expects, and on every expected one that does not come.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diagnosticVertical } from './conformance/diagnostic-vertical.ts';
import { type Listening, listen } from './listen.ts';
import { openQuestions } from './questions.ts';

/** A run takes three seconds of an idle machine; the suite gives up on a single request by itself. */
const TIMEOUT_MS = 60_000;
const SUITE = join(dirname(packageFile()), 'dist/index.js');

let server: Listening;
let scratch: string;
let closeQuestions = async (): Promise<void> => undefined;
beforeAll(async () => {
  const questions = openQuestions((close) => {
    closeQuestions = close;
  });
  const app = diagnosticVertical(questions.of('prg_1'));
  server = await listen((request) => app.fetch(request));
  scratch = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await closeQuestions();
  await rm(scratch, { recursive: true });
});

/** Of both revisions, and held by us: a suite that was cut short, or learned to skip, would not show them. */
const PROMPTS = ['prompts-list', 'prompts-get-simple', 'prompts-get-with-args'];
const TOOLS = [
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'dns-rebinding-protection',
  'json-schema-2020-12',
];

describe.each([
  {
    revision: '2026-07-28',
    scenarios: 37,
    passing: [
      ...TOOLS,
      ...PROMPTS,
      'resources-list',
      'sep-2164-resource-not-found',
      'server-sse-multiple-streams',
      'http-header-validation',
    ],
  },
  {
    revision: '2025-11-25',
    scenarios: 30,
    passing: [...TOOLS, ...PROMPTS, 'resources-list', 'server-initialize', 'ping', 'tools-call-elicitation'],
  },
])('D-11 the conformance suite for $revision', ({ revision, scenarios, passing }) => {
  const baseline = () => readFile(baselineOf(revision), 'utf8');

  test('fails exactly where the baseline says, and nowhere else', { timeout: TIMEOUT_MS }, async () => {
    const { exitCode, output } = await runSuite(revision, await baseline());
    expect(exitCode, output).toBe(0);
    const verdicts = [...output.matchAll(/^([✓✗]) (\S+): (\d+) passed, \d+ failed$/gm)];
    expect(verdicts.length).toBeGreaterThanOrEqual(scenarios);
    const passed = verdicts.filter(([, mark, , checks]) => mark === '✓' && Number(checks) > 0);
    expect(passed.map(([, , name]) => name)).toEqual(expect.arrayContaining(passing));
  });

  test('fails on a failure that the baseline does not expect', { timeout: TIMEOUT_MS }, async () => {
    const without = (await baseline()).replace(/^ *- tools-call-with-progress:.*\n/m, '');
    const { exitCode, output } = await runSuite(revision, without);
    expect(exitCode).toBe(1);
    expect(output).toMatch(/unexpected[\s\S]*tools-call-with-progress/i);
  });

  test('fails on an expected failure that does not come', { timeout: TIMEOUT_MS }, async () => {
    const { exitCode, output } = await runSuite(
      revision,
      `${await baseline()}  - tools-call-error:tools-call-error\n`,
    );
    expect(exitCode).toBe(1);
    expect(output).toMatch(/stale[\s\S]*tools-call-error/i);
  });

  test('every expected failure names one check, under a reason', async () => {
    const lines = (await baseline()).split('\n').filter((line) => line.startsWith('  '));
    expect(lines[0]).toMatch(/^ {2}# /);
    for (const line of lines) expect(line).toMatch(/^ {2}(# .+|- [a-z0-9-]+:[a-z0-9-]+)$/);
  });
});

function baselineOf(revision: string): string {
  return fileURLToPath(new URL(`./conformance/expected-failures-${revision}.yml`, import.meta.url));
}

function packageFile(): string {
  return fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'));
}

let runs = 0;

async function runSuite(
  revision: string,
  baseline: string,
): Promise<{ exitCode: number | null; output: string }> {
  runs += 1;
  const expected = join(scratch, `expected-${runs}.yml`);
  await writeFile(expected, baseline);
  const child = spawn(
    process.execPath,
    [
      SUITE,
      'server',
      ...['--url', `${server.origin}/api/mcp`],
      ...['--requirements', revision],
      ...['--expected-failures', expected],
      ...['-o', join(scratch, `results-${runs}`)],
    ],
    { cwd: scratch, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => void chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => void chunks.push(chunk));
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { exitCode, output: Buffer.concat(chunks).toString('utf8') };
}
