/** The check of the lock file refuses what an installation would fetch without a digest, and only that. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockFaults } from '../../tools/lockfile.ts';
import { root } from '../../tools/run.ts';

const json = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const integrity = 'sha512-OmAztarr1gK4PD==';
const pinned = { version: '1.0.0', integrity };

test('a package without a digest is refused, also a nested one and one of another system', () => {
  const packages = {
    '': { version: '0.1.0' },
    'node_modules/a': pinned,
    'node_modules/a/node_modules/b': { version: '2.0.0' },
    'node_modules/@c/darwin-x64': { version: '3.0.0', optional: true, os: ['darwin'] },
    'node_modules/d': { version: '4.0.0', integrity: '' },
  };
  expect(lockFaults(packages)).toEqual([
    expect.stringContaining('no integrity for node_modules/a/node_modules/b (2.0.0)'),
    expect.stringContaining('no integrity for node_modules/@c/darwin-x64 (3.0.0)'),
    expect.stringContaining('no integrity for node_modules/d (4.0.0)'),
  ]);
});

test('a workspace, its link and what lies in another package need no digest of their own', () => {
  const packages = {
    'packages/a': { version: '0.1.0' },
    'node_modules/@x/a': { resolved: 'packages/a', link: true },
    'node_modules/b': pinned,
    'node_modules/b/node_modules/c': { version: '1.0.0', inBundle: true },
  };
  expect(lockFaults(packages)).toEqual([]);
});

test('the host of a registry and an optional package that is left out are refused', () => {
  const packages = {
    'node_modules/a': { ...pinned, resolved: 'https://registry.example.test/a.tgz' },
    'node_modules/b': { ...pinned, optionalDependencies: { 'b-linux': '1.0.0', a: '1.0.0' } },
  };
  expect(lockFaults(packages)).toEqual([
    expect.stringContaining('lacks b-linux@1.0.0'),
    expect.stringContaining('fetches node_modules/a from https://registry.example.test/a.tgz'),
  ]);
});

test('the lock file of the repository has a digest for everything that is fetched, Node.js itself included', () => {
  const { packages } = json('package-lock.json');
  expect(lockFaults(packages)).toEqual([]);
  for (const { optionalDependencies } of [
    json('package.json'),
    json('packages/dev/template/empty/package.json'),
  ]) {
    const systems = Object.entries(optionalDependencies);
    expect(systems).toHaveLength(5);
    for (const [name, version] of systems)
      expect(packages[`node_modules/${name}`]).toMatchObject({ version, bin: { node: expect.any(String) } });
  }
  // The package `node` fetches one of these in a script, past the lock file.
  expect(Object.keys(packages)).not.toContain('node_modules/node');
});
