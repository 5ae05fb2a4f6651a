/** The check of folder cycles finds cycles, and only those. */
import { expect, test } from 'vitest';
import { cyclesIn, folderGraph } from '../../tools/cycles.ts';

const cyclesOf = (files: Record<string, string>) => cyclesIn(folderGraph(new Map(Object.entries(files))));

test('two folders that import each other are a cycle, by types alone too', () => {
  const files = {
    'packages/a/src/one/x.ts': "import type { Y } from '../two/y.ts';\n",
    'packages/a/src/two/y.ts': "export { x } from '../one/x.ts';\n",
  };
  expect(cyclesOf(files)).toEqual([['packages/a/src/one', 'packages/a/src/two', 'packages/a/src/one']]);
});

test('a folder and the one below it are two folders', () => {
  const files = {
    'packages/a/src/x.ts': "import { y } from './lib/y.ts';\n",
    'packages/a/src/lib/y.ts': "const x = await import('../x.ts');\n",
  };
  expect(cyclesOf(files)).toHaveLength(1);
});

test('a longer way round is found, beside folders that lead into it', () => {
  const files = {
    'tests/a/x.ts': "import { y } from '../b/y.ts';\n",
    'tests/b/y.ts': "import { z } from '../c/z.ts';\n",
    'tests/c/z.ts': "import { w } from '../b/w.ts';\n",
    'tests/b/w.ts': '',
  };
  expect(cyclesOf(files)).toEqual([['tests/b', 'tests/c', 'tests/b']]);
});

test('one direction is no cycle, nor are the files of one folder, nor the front door of a package', () => {
  const files = {
    'packages/a/src/index.ts': "export { x } from './one/x.ts';\n",
    'packages/a/src/one/x.ts': "import { v } from './v.ts';\nimport { y } from '../two/y.ts';\n",
    'packages/a/src/one/v.ts': "import { x } from './x.ts';\n",
    'packages/a/src/two/y.ts': "import { all } from '../index.ts';\n",
  };
  expect(cyclesOf(files)).toEqual([]);
});
