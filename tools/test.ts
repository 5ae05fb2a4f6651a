/**
 * `npm test`: everything CI runs. Sets up what the tests need (the web build, Chromium), then checks the code and runs
 * every suite, in lanes beside one another. Prints the slowest files, names what failed (the lanes print thousands of
 * lines, and the end is what a reader of a log sees), and closes with the line `N passed, N failed`.
 * `npm run test:long` runs the same suites with their full matrices and long properties.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { requireChromium } from './chromium.ts';
import { root, runStep, type Step } from './run.ts';

const SLOWEST = 20;
const FAILURE_LINES = 12;
const FAILURE_WIDTH = 300;

interface FileTime {
  readonly file: string;
  readonly ms: number;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    /** Why the file did not load; empty where it did. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const scratch = mkdtempSync(join(tmpdir(), 'freehold-test-'));
const counts = { passed: 0, failed: 0 };
const times: FileTime[] = [];
const failures: string[] = [];

function fail(what: string, why = ''): void {
  counts.failed += 1;
  const lines = why.split('\n').filter((line) => line !== '' && !/node_modules|<anonymous>/.test(line));
  failures.push(
    [what, ...lines.slice(0, FAILURE_LINES).map((line) => `    ${line.slice(0, FAILURE_WIDTH)}`)].join('\n'),
  );
}

/** One step that either passes or fails as a whole. */
async function step(next: Step): Promise<void> {
  if (await runStep(next)) counts.passed += 1;
  else fail(next.name);
}

/** A test run, whose tests are counted one by one. */
async function suite(name: string, ...args: string[]): Promise<void> {
  const report = join(scratch, `${name}.json`);
  const ok = await runStep({
    name: `tests: ${name}`,
    // Browsers and whole processes have the patience of a person, and their lane is one file after the other.
    yields: name !== 'e2e',
    command: [
      'vitest',
      'run',
      ...args,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
  });
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    ) as Report;
    counts.passed += numPassedTests;
    let named = 0;
    for (const { name: path, startTime, endTime, message, assertionResults } of testResults) {
      const file = relative(root, path);
      times.push({ file, ms: endTime - startTime });
      const failed = assertionResults.filter(({ status }) => status === 'failed');
      for (const { fullName, failureMessages } of failed)
        fail(`${file}: ${fullName}`, failureMessages.join('\n'));
      const isUnloaded = message !== '' && failed.length === 0;
      if (isUnloaded) fail(file, message);
      named += failed.length + Number(isUnloaded);
    }
    // A run can fail without a failing test: an unhandled rejection, no test at all.
    if (!ok && named === 0) fail(`tests: ${name}`, 'The run failed. Its output above says why.');
    if (numPassedTests + numFailedTests === 0) fail(`tests: ${name}`, 'No test ran.');
  } catch (error) {
    fail(`tests: ${name}`, `No report: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function printFailures(): void {
  if (failures.length > 0) console.log(`\nWhat failed:\n\n${failures.join('\n\n')}`);
}

function printSlowest(): void {
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  console.log(`\nThe slowest ${slowest.length} test files:`);
  for (const { file, ms } of slowest) console.log(`${(ms / 1000).toFixed(1).padStart(8)} s  ${file}`);
}

const startedAtMs = performance.now();
if (process.argv.includes('--long')) process.env.FREEHOLD_LONG = '1';
try {
  process.env.CHROMIUM = requireChromium();
  process.env.NODE_COMPILE_CACHE = join(scratch, 'compiled');
  await step({ name: 'web build', command: ['npm', 'run', '--silent', 'build'] });
  const packages = join(scratch, 'packages');
  process.env.FREEHOLD_PACKAGES = packages;
  // The longest suite has a lane of its own. Browsers and whole processes wait a lot, so three lanes fill two cores.
  await Promise.all([
    suite('node', '--project', 'node'),
    step({ name: 'packages', command: ['node', 'tools/pack/main.ts', '--into', packages] }).then(() =>
      suite('e2e', '--project', 'e2e'),
    ),
    step({ name: 'check', command: ['node', 'tools/check.ts'], yields: true })
      .then(() => suite('workerd', '--project', 'workerd*'))
      .then(() => suite('crash', '--project', 'crash'))
      .then(() => (process.env.FREEHOLD_LONG ? suite('deployed', '--project', 'deployed') : undefined))
      .then(() => suite('sim', '--project', 'sim')),
  ]);
  printSlowest();
} catch (error) {
  fail('The test command itself', error instanceof Error ? error.message : String(error));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
printFailures();
console.log(`\nAfter ${Math.round((performance.now() - startedAtMs) / 1000)} s:`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
