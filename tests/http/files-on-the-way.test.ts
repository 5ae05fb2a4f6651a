/** How many of our own source files a request runs through (house rule 5). The aim is 25. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const FILES_MAX = 59;

test('a warm POST /tenants runs through no more files than it did', { timeout: 60_000 }, async () => {
  const program = fileURLToPath(new URL('files-on-the-way.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const files = JSON.parse(stdout) as string[];
  expect(files).toContain('packages/directory/src/tenants/operations.ts');
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(FILES_MAX);
});
