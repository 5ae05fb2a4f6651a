/** Counts our own source files that a warm request runs through (house rule 5). The aim is 25 for each. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

/** These figures may only fall. */
const FILES_MAX: Readonly<Record<string, number>> = {
  'POST /tenants': 31,
  'POST /api/customers': 45,
  'GET /api/customers': 43,
};

let onTheWay: Readonly<Record<string, readonly string[]>>;
beforeAll(async () => {
  const program = fileURLToPath(new URL('files-on-the-way.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    // Functions that come from the cache are not all counted.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  onTheWay = JSON.parse(stdout) as typeof onTheWay;
}, 60_000);

test.each(Object.entries(FILES_MAX))('a warm %s runs through at most %i files', (title, most) => {
  const files = onTheWay[title] ?? [];
  expect(files.length, files.join('\n')).toBeGreaterThan(5);
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(most);
});
