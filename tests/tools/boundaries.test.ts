/** The import boundaries of docs/architecture.md are enforced: planted violations are found in every package. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

const forbidden: readonly (readonly [pkg: string, source: string])[] = [
  ...[
    ['contracts', '@freehold/store'],
    ['store', '@freehold/kernel'],
    ['operations', '@freehold/kernel'],
    ['kernel', '@freehold/auth'],
    ['oidc-rp', '@freehold/store'],
    ['auth', '@freehold/kernel'],
    ['vertical-host', '@freehold/store'],
    ['directory', '@freehold/auth'],
    ['control-plane', '@freehold/store'],
    ['engine-node', '@freehold/kernel'],
    ['engine-workerd', '@freehold/kernel'],
    ['cli', '@freehold/directory'],
    ['cli', '@freehold/control-plane'],
  ].flatMap(([pkg, target]) =>
    [
      `import { x } from '${target}';\nexport const y = x;\n`,
      `export * from '${target}';\n`,
      `import type { X } from '${target}';\nexport type Y = X;\n`,
      `export const y = import('${target}');\n`,
    ].map((source) => [pkg as string, source] as const),
  ),
  ...[
    'contracts',
    'store',
    'operations',
    'kernel',
    'oidc-rp',
    'auth',
    'vertical-host',
    'directory',
    'control-plane',
  ].flatMap((pkg) => [
    [pkg, `import { readFileSync } from 'node:fs';\nexport const y = readFileSync;\n`] as const,
    [pkg, `import { DatabaseSync } from 'node:sqlite';\nexport const y = DatabaseSync;\n`] as const,
  ]),
  ['kernel', `import { x } from '../../../auth/src/index.ts';\nexport const y = x;\n`],
];

const allowed: readonly (readonly [pkg: string, source: string])[] = [
  ['operations', `import type { SqlDatabase } from '@freehold/store';\nexport type Y = SqlDatabase;\n`],
  ['kernel', `import type { SqlDatabase } from '@freehold/store';\nexport type Y = SqlDatabase;\n`],
  ['kernel', `import { createHash } from 'node:crypto';\nexport const y = createHash;\n`],
  [
    'cli',
    `import { makeControlPlaneClient } from '@freehold/control-plane/client';\nexport const y = makeControlPlaneClient;\n`,
  ],
  ['auth', `import { safePath } from '@freehold/oidc-rp';\nexport const y = safePath;\n`],
];

/** Plants the files, lints them all in one run, and answers which of them broke a boundary. */
function violations(plants: readonly (readonly [pkg: string, source: string])[]): boolean[] {
  const files = plants.map(([pkg], index) =>
    join('packages', pkg, 'src/planted-by-a-test', `planted-${index}.ts`),
  );
  try {
    for (const [index, file] of files.entries()) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), plants[index]?.[1] as string);
    }
    const { stdout } = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['lint', '--vcs-use-ignore-file=false', '--reporter=github', '--max-diagnostics=none', ...files],
      {
        cwd: root,
        encoding: 'utf8',
      },
    );
    const found = stdout.split('\n').filter((line) => line.includes('noRestrictedImports'));
    return files.map((file) => found.some((line) => line.includes(`${file},`)));
  } finally {
    for (const file of files) rmSync(dirname(join(root, file)), { recursive: true, force: true });
  }
}

test('every import that the map forbids is refused: static, type, re-export, dynamic and relative', () => {
  const found = violations(forbidden);
  expect(forbidden.filter((_, index) => !found[index])).toEqual([]);
});

test('what the map allows passes', () => {
  const found = violations(allowed);
  expect(allowed.filter((_, index) => found[index])).toEqual([]);
});
