/** Runs the tests that should kill a mutant, and judges their report. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './run.ts';

export interface Verdict {
  readonly state: 'killed' | 'survived' | 'broken';
  readonly reason: string;
}

/** The part of Vitest's JSON report that is read here. */
export interface Report {
  readonly testResults: readonly {
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** Failures that say something about the machine or the wording of a mutant, and nothing about the claim. */
const NO_PROOF =
  /^ReferenceError\b|^SyntaxError: The requested module|Transform failed|Parse failure|(?:Test|Hook) timed out in/;

/** Only a test that ran and failed by an assertion or a thrown error kills. */
export function judge(report: Report | null, title: string): Verdict {
  if (report === null) return broken('the test run left no report');
  const ran = report.testResults
    .flatMap((file) => file.assertionResults)
    .filter(({ fullName, status }) => fullName.includes(title) && ['passed', 'failed'].includes(status));
  if (ran.length === 0) {
    const message = report.testResults.map((file) => file.message).find(Boolean);
    return broken(
      message ? `the test file did not load: ${firstLine(message)}` : 'no test with this title ran',
    );
  }
  const failures = ran
    .filter(({ status }) => status === 'failed')
    .map((test) => test.failureMessages.join('\n'));
  if (failures.length === 0) return { state: 'survived', reason: `${ran.length} passed` };
  const proof = failures.find((message) => message !== '' && !NO_PROOF.test(message));
  return proof === undefined
    ? broken(`the failure proves nothing: ${firstLine(failures[0] as string)}`)
    : { state: 'killed', reason: firstLine(proof) };
}

export function broken(reason: string): Verdict {
  return { state: 'broken', reason };
}

const running = new Set<ChildProcess>();

/** Runs the tests of one file whose name contains one of `titles`. Null when there is no report in time. */
export async function runTests(
  project: string,
  file: string,
  titles: readonly string[],
  timeoutMs: number,
): Promise<Report | null> {
  const scratch = mkdtempSync(join(tmpdir(), 'freehold-mutants-'));
  const output = join(scratch, 'report.json');
  const pattern = titles.map(patternOf).join('|');
  const child = spawn(
    join(root, 'node_modules/.bin/vitest'),
    [
      'run',
      '--project',
      project,
      file,
      '-t',
      pattern,
      '--maxWorkers=1',
      '--reporter=json',
      `--outputFile.json=${output}`,
    ],
    {
      cwd: root,
      stdio: 'ignore',
      // A group of its own, so that a timeout ends workers and servers too.
      detached: true,
      env: {
        ...process.env,
        CI: '1',
        PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        WRANGLER_SEND_METRICS: 'false',
      },
    },
  );
  running.add(child);
  const timer = setTimeout(() => end(child), timeoutMs);
  try {
    await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
    return JSON.parse(readFileSync(output, 'utf8'));
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    running.delete(child);
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Vitest matches against a name whose suites are set apart by `>`; its report sets them apart by a blank. */
function patternOf(title: string): string {
  return title.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&').replaceAll(' ', '(?: > | )');
}

/** Ends the test runs under way. */
export function endTests(): void {
  for (const child of running) end(child);
}

function end(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 160);
}
