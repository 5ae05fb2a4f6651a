/** The import boundaries of docs/architecture.md are enforced: planted violations are found in every package. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
    ['directory', '@freehold/kernel'],
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
    [
      pkg,
      `import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';\nexport const y = readFileSync;\n`,
    ] as const,
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
  ['directory', `import { accessOf } from '@freehold/auth/grants';\nexport const y = accessOf;\n`],
  ['auth', `import { safePath } from '@freehold/oidc-rp';\nexport const y = safePath;\n`],
];

/**
 * Lints the files in a folder that has only our configuration, so that no other tool sees them.
 * @returns for each file whether it breaks a boundary.
 */
function violations(plants: readonly (readonly [pkg: string, source: string])[]): boolean[] {
  const scratch = mkdtempSync(join(tmpdir(), 'freehold-boundaries-'));
  const files = plants.map(([pkg], index) => join('packages', pkg, 'src/planted', `planted-${index}.ts`));
  try {
    for (const file of ['biome.json', '.gitignore']) copyFileSync(join(root, file), join(scratch, file));
    for (const [index, file] of files.entries()) {
      mkdirSync(dirname(join(scratch, file)), { recursive: true });
      writeFileSync(join(scratch, file), plants[index]?.[1] as string);
    }
    const { stdout } = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['lint', '--reporter=github', '--max-diagnostics=none', 'packages'],
      { cwd: scratch, encoding: 'utf8' },
    );
    const found = stdout.split('\n').filter((line) => line.includes('noRestrictedImports'));
    return files.map((file) => found.some((line) => line.includes(`${file},`)));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

test('an import that the map forbids is refused (static, type, re-export, dynamic, relative); what it allows passes', () => {
  const found = violations([...forbidden, ...allowed]);
  expect(forbidden.filter((_, index) => !found[index])).toEqual([]);
  expect(allowed.filter((_, index) => found[forbidden.length + index])).toEqual([]);
});
