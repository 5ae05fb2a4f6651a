/** The number of open databases follows the limit of open files. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { fileBudgetOf, limitForUnits, openFilesLimit } from '../src/index.ts';

const CHILD = join(import.meta.dirname, 'child.ts');

test('with 128 open files allowed, 60 databases are all served, in turn', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-files-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const script = `ulimit -n 128 && exec "${process.execPath}" "${CHILD}" "${directory}" many`;
  const { stdout } = await promisify(execFile)('sh', ['-c', script]);
  expect(stdout.trim()).toBe('120 answered');
});

test('a limit is divided: at most half of the rest for databases, and what they leave for connections', () => {
  expect(fileBudgetOf(256)).toEqual({ limit: 256, openUnits: 26, connections: 82 });
  expect(fileBudgetOf(1_024)).toEqual({ limit: 1_024, openUnits: 154, connections: 466 });
  expect(fileBudgetOf(524_288).openUnits).toBe(256);
  expect(fileBudgetOf(Number.POSITIVE_INFINITY)).toEqual({
    limit: Number.POSITIVE_INFINITY,
    openUnits: 256,
    connections: Number.POSITIVE_INFINITY,
  });
  expect(fileBudgetOf(10)).toEqual({ limit: 10, openUnits: 8, connections: 8 });
});

test('the limit for so many databases allows them, and not one less does', () => {
  for (const units of [30, 255, 256]) {
    expect(fileBudgetOf(limitForUnits(units)).openUnits).toBe(units);
    expect(fileBudgetOf(limitForUnits(units) - 1).openUnits).toBe(units - 1);
  }
  expect(limitForUnits(10_000)).toBe(limitForUnits(256));
});

test('the limit of this process is read', () => {
  expect(openFilesLimit()).toBeGreaterThan(100);
});
