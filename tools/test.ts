/**
 * `npm test`: everything CI runs. Sets up what the tests need (the web build, Chromium), then checks the code and runs
 * every suite, in lanes beside one another. Prints the slowest files and closes with the line `N passed, N failed`.
 * `npm run test:long` runs the same suites with their full matrices and long properties.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { requireChromium } from './chromium.ts';
import { root, runStep, type Step } from './run.ts';

const SLOWEST = 20;

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
  }[];
}

const scratch = mkdtempSync(join(tmpdir(), 'freehold-test-'));
const counts = { passed: 0, failed: 0 };
const times: FileTime[] = [];

/** One step that either passes or fails as a whole. */
async function step(next: Step): Promise<void> {
  counts[(await runStep(next)) ? 'passed' : 'failed'] += 1;
}

/** A test run, whose tests are counted one by one. */
async function suite(name: string, ...args: string[]): Promise<void> {
  const report = join(scratch, `${name}.json`);
  const ok = await runStep({
    name: `tests: ${name}`,
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
    counts.failed += numFailedTests;
    for (const { name: file, startTime, endTime } of testResults)
      times.push({ file: relative(root, file), ms: endTime - startTime });
    // A run can fail without a failing test: a file that does not load, an unhandled rejection, no test at all.
    if (!ok && numFailedTests === 0) counts.failed += 1;
    if (numPassedTests + numFailedTests === 0) counts.failed += 1;
  } catch {
    counts.failed += 1;
  }
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
    step({ name: 'check', command: ['node', 'tools/check.ts'] })
      .then(() => suite('workerd', '--project', 'workerd*'))
      .then(() => suite('crash', '--project', 'crash'))
      .then(() => (process.env.FREEHOLD_LONG ? suite('deployed', '--project', 'deployed') : undefined))
      .then(() => suite('sim', '--project', 'sim')),
  ]);
  printSlowest();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  counts.failed += 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`\nAfter ${Math.round((performance.now() - startedAtMs) / 1000)} s:`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
