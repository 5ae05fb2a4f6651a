/** Counts our own source files that a warm request runs through (house rule 5). The aim is 25 for each. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';

/** The figures may only fall, unless a feature pays for more: programs' grants, trace contexts and long work did. A request passes the file of its own operation, or it was not the request. */
const REQUESTS: readonly [title: string, most: number, operation: string][] = [
  ['POST /tenants', 32, 'packages/directory/src/tenants/operations.ts'],
  ['POST /api/customers', 49, 'examples/fieldwork/src/customers/operations.ts'],
  ['GET /api/customers', 47, 'examples/fieldwork/src/customers/operations.ts'],
];

let onTheWay: Readonly<Record<string, readonly string[]>>;
beforeAll(async () => {
  const program = fileURLToPath(new URL('files-on-the-way.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    // Functions that come from the cache are not all counted.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  onTheWay = JSON.parse(stdout) as typeof onTheWay;
}, 60_000);

test.each(REQUESTS)('a warm %s runs through at most %i files', (title, most, operation) => {
  const files = onTheWay[title] ?? [];
  expect(files).toContain(operation);
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(most);
});
