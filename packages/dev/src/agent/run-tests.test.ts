/** A stand-in for vitest: the report is vitest's own, and its speed is the test's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Project } from '../project/project.ts';
import { runTests } from './run-tests.ts';

const REPORT = {
  numPassedTests: 2,
  numFailedTests: 1,
  testResults: [
    {
      name: '/x/a.test.ts',
      message: '',
      assertionResults: [
        { fullName: 'a book is added', status: 'passed', failureMessages: [] },
        {
          fullName: 'a book is sold',
          status: 'failed',
          failureMessages: ['AssertionError: expected 1 to be 2'],
        },
      ],
    },
    { name: '/x/b.test.ts', message: 'SyntaxError: no module', assertionResults: [] },
  ],
};

let project: Project;
beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), 'freehold-run-tests-'));
  project = { root, entry: join(root, 'src/app.ts'), folder: join(root, '.freehold') };
  const vitest = join(root, 'node_modules/vitest');
  mkdirSync(vitest, { recursive: true });
  writeFileSync(join(vitest, 'package.json'), '{"name":"vitest"}');
  writeFileSync(
    join(vitest, 'vitest.mjs'),
    `import { writeFileSync } from 'node:fs';
const [command, file] = process.argv.slice(2);
const output = process.argv.find((each) => each.startsWith('--outputFile=')).slice(13);
console.log(command, file);
if (file === 'slow.test.ts') setInterval(() => {}, 1000);
else if (file === 'broken.test.ts') console.error('it broke');
else writeFileSync(output, ${JSON.stringify(JSON.stringify(REPORT))});
`,
  );
  for (const name of ['a.test.ts', 'slow.test.ts', 'broken.test.ts', '--config.ts'])
    writeFileSync(join(root, name), '');
});
afterAll(() => rmSync(project.root, { recursive: true }));

test('the failures of a run are told, those of a file that cannot be loaded too', async () => {
  expect(await runTests(project, { file: 'a.test.ts', timeoutMs: 30_000 })).toEqual({
    passed: 2,
    failed: 1,
    timedOut: false,
    failures: [
      { test: 'a book is sold', message: 'AssertionError: expected 1 to be 2' },
      { test: '/x/b.test.ts', message: 'SyntaxError: no module' },
    ],
    output: null,
  });
});

test('a run without a report shows what it printed', async () => {
  expect(await runTests(project, { file: 'broken.test.ts', timeoutMs: 30_000 })).toMatchObject({
    failures: [],
    output: expect.stringContaining('it broke'),
  });
});

test('a run that takes too long is ended', async () => {
  expect(await runTests(project, { file: './slow.test.ts', timeoutMs: 1 })).toMatchObject({ timedOut: true });
});

test.each([['../a.test.ts'], ['/etc/passwd'], ['--config.ts'], ['absent.test.ts']])(
  '%s is no test file of the project',
  async (file) => {
    await expect(runTests(project, { file, timeoutMs: 30_000 })).rejects.toMatchObject({ code: 'not_found' });
  },
);
