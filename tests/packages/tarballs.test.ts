/** Every package as `npm run pack` makes it: what it holds, and that a project without this repository can use it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importEntries, packagesFolder, unpacked, unpackInto, workspaces } from '../support/packages.ts';

let home: string;
let project: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-packages-'));
  project = join(home, 'project');
  unpackInto(project, packagesFolder(home));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const NAMES = workspaces.map(({ packageJson }) => packageJson.name);

describe.each(workspaces)('$packageJson.name', ({ directory, packageJson: source }) => {
  const found = () => unpacked(project, source.name);

  test('holds its code, its README and its licence, and no test', () => {
    const { files, read } = found();
    expect(files).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE']));
    expect(read('LICENSE')).toBe(readFileSync(join(directory, 'LICENSE'), 'utf8'));
    const others = files.filter((path) => !/^(?:package\.json|README\.md|LICENSE|dist\/.*)$/.test(path));
    expect(
      others.filter(
        (path) =>
          ![...(source.files ?? []), 'docs'].some((extra) => path === extra || path.startsWith(`${extra}/`)),
      ),
    ).toEqual([]);
    const compiled = files.filter((path) => path.startsWith('dist/'));
    expect(compiled.filter((path) => /\.test\.|\/test\/|fixture|(?<!\.d)\.ts$/.test(path))).toEqual([]);
    for (const path of compiled.filter((path) => path.endsWith('.js')))
      expect(files).toEqual(expect.arrayContaining([`${path}.map`, path.replace(/\.js$/, '.d.ts')]));
  });

  test('has every module that a module of its own names', () => {
    const { files, read } = found();
    for (const path of files.filter((each) => /^dist\/.*\.(?:js|d\.ts)$/.test(each)))
      for (const [, , named = ''] of read(path).matchAll(
        /^(?:import|export|const)\b.*(?:\bfrom |\bimport\(|\bnew URL\()(['"])(\.[^'"\n]*\.[jt]s)\1/gm,
      ))
        expect(files, `${path} names ${named}`).toContain(normalize(join(dirname(path), named)));
  });

  test('has source maps without a path of the machine that built them', () => {
    const { files, read } = found();
    for (const path of files.filter((each) => each.endsWith('.map'))) {
      const { sources, sourceRoot, sourcesContent } = JSON.parse(read(path));
      expect([sources.length, sourceRoot ?? '', sourcesContent.length]).toEqual([1, '', 1]);
      expect(normalize(join(dirname(path), sources[0]))).toBe(
        path.replace(/^dist\/(.*)\.js\.map$/, 'src/$1.ts'),
      );
    }
  });

  test('asks for our packages in its own version, for those that exist, and for Node.js 26', () => {
    const { version, dependencies = {}, peerDependencies = {}, engines, ...rest } = found().packageJson;
    expect(rest).not.toHaveProperty('private');
    expect(rest).not.toHaveProperty('devDependencies');
    expect(engines).toEqual({ node: '>=26' });
    for (const [name, asked] of Object.entries({ ...dependencies, ...peerDependencies })) {
      if (!name.startsWith('@freehold/')) continue;
      expect(NAMES).toContain(name);
      expect([name, asked]).toEqual([name, version]);
    }
  });
});

describe('a project that has the packages and not this repository', () => {
  test('has the documents for builders, each in the index with its title and first sentence', () => {
    const { files, read } = unpacked(project, '@freehold/app');
    const listed = [...read('docs/llms.txt').matchAll(/^- \[(.+)\]\((.+)\): (.+)$/gm)];
    const pages = files.filter((path) => /^docs\/.*\.md$/.test(path));
    expect(pages).toEqual(expect.arrayContaining(['docs/application.md', 'docs/guide/1-start.md']));
    expect(listed.map(([, , path]) => `docs/${path}`).sort()).toEqual(pages.sort());
    for (const [, title = '', path = '', first = ''] of listed) {
      expect(read(`docs/${path}`)).toContain(`# ${title}\n`);
      expect(first).toMatch(/^[A-Z`@].+[.:]$/);
    }
  });

  test('imports every entry of every package', () => {
    expect(importEntries(project, process.execPath)).toEqual([]);
  });

  const freehold = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      words.concat(words.includes('--version') ? [] : ['--version']),
      { cwd: project, encoding: 'utf8' },
    );
    return { status, stdout, stderr };
  };
  const program = () =>
    join(
      project,
      'node_modules/@freehold/cli',
      unpacked(project, '@freehold/cli').packageJson.bin?.freehold ?? '',
    );

  test('has the program', () => {
    const { version } = unpacked(project, '@freehold/cli').packageJson;
    expect(freehold(program())).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('is told in one sentence that its Node.js is too old', () => {
    const older = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})';
    expect(freehold('--import', older, program())).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^freehold needs Node\.js 26 or later, and this is 20\.20\.2: [^\n]*\n$/),
    });
  });
});
