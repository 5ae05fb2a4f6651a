/** Runs one test file of the builder's project with the project's own vitest. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import type { Project } from '../project/project.ts';

export interface TestRun {
  readonly passed: number;
  readonly failed: number;
  /** Whether it was stopped because it took too long. */
  readonly timedOut: boolean;
  readonly failures: readonly { readonly test: string; readonly message: string }[];
  /** The end of what it printed, where it printed no result. */
  readonly output: string | null;
}

const OUTPUT_CHARS = 4_000;
const MESSAGE_CHARS = 2_000;

/** The part of vitest's JSON report that is read. */
const report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** @throws PlatformError for a file outside of the project, and where vitest is not installed. */
export async function runTests(
  project: Project,
  { file, timeoutMs }: { readonly file: string; readonly timeoutMs: number },
): Promise<TestRun> {
  const path = relative(project.root, resolve(project.root, file));
  // A name that begins with a hyphen would be read as an option.
  if (/^(?:\.\.|\/|-)/.test(path) || !existsSync(join(project.root, path)))
    throw new PlatformError('not_found', `There is no test file ${file} in the project.`);
  const folder = mkdtempSync(join(tmpdir(), 'freehold-tests-'));
  const output = join(folder, 'report.json');
  const args = [vitestOf(project), 'run', path, '--reporter=json', `--outputFile=${output}`, '--no-color'];
  const { stdout, stderr, timedOut } = await run(args, project.root, timeoutMs);
  const found = report.safeParse(jsonOf(output));
  rmSync(folder, { recursive: true });
  if (!found.success)
    return {
      passed: 0,
      failed: 0,
      timedOut,
      failures: [],
      output: `${stdout}${stderr}`.slice(-OUTPUT_CHARS),
    };
  const { numPassedTests, numFailedTests, testResults } = found.data;
  return {
    passed: numPassedTests,
    failed: numFailedTests,
    timedOut,
    failures: testResults.flatMap(({ name, message, assertionResults }) => [
      // A file that cannot be loaded has no tests, and says why itself.
      ...(assertionResults.length === 0 && message
        ? [{ test: name, message: message.slice(0, MESSAGE_CHARS) }]
        : []),
      ...assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => ({
          test: fullName,
          message: (failureMessages ?? []).join('\n').slice(0, MESSAGE_CHARS),
        })),
    ]),
    output: null,
  };
}

function vitestOf({ root }: Project): string {
  try {
    const path = createRequire(join(root, 'package.json')).resolve('vitest/package.json');
    return join(dirname(path), 'vitest.mjs');
  } catch (cause) {
    throw new PlatformError(
      'not_found',
      'vitest is not installed: run npm install --save-dev vitest in the project.',
      {
        cause,
      },
    );
  }
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** The process is the leader of a group, so that vitest's own workers end with it. */
function run(args: readonly string[], cwd: string, timeoutMs: number): Promise<Ended> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, args, { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let timedOut = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.once('close', () => {
      clearTimeout(timer);
      settle({ stdout, stderr, timedOut });
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      settle({ stdout, stderr: error.message, timedOut });
    });
  });
}

/** Null for a file that is missing, because the run was ended. */
function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
