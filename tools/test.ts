/**
 * `npm test`: everything CI runs. Builds the web pages, finds Chromium, checks the code, then runs every suite, and
 * prints `N passed, N failed` at the end.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireChromium } from './chromium.ts';
import { runStep, type Step } from './run.ts';

const scratch = mkdtempSync(join(tmpdir(), 'freehold-test-'));
const counts = { passed: 0, failed: 0 };

/** Runs a step that counts as one test. */
function step(next: Step): void {
  counts[runStep(next) ? 'passed' : 'failed'] += 1;
}

/** Runs a suite and counts its tests one by one. */
function suite(name: string, ...args: string[]): void {
  const report = join(scratch, `${name}.json`);
  const ok = runStep({
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
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    counts.passed += numPassedTests;
    counts.failed += numFailedTests;
    // A run can fail without a failing test: a file that does not load, an unhandled rejection, no test at all.
    if (!ok && numFailedTests === 0) counts.failed += 1;
    if (numPassedTests + numFailedTests === 0) counts.failed += 1;
  } catch {
    counts.failed += 1;
  }
}

try {
  process.env.CHROMIUM = requireChromium();
  step({ name: 'web build', command: ['npm', 'run', '--silent', 'build'] });
  step({ name: 'check', command: ['node', 'tools/check.ts'] });
  suite('node', '--project', 'node');
  suite('workerd', '--project', 'workerd*');
  suite('crash', '--project', 'crash');
  suite('sim', '--project', 'sim');
  suite('e2e', '--project', 'e2e');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  counts.failed += 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
