/**
 * Builds the pages of records into `web/dist`: `node packages/app/web/build.ts`. The names of the files change with their
 * content. React is in modules of its own, which the pages of applications import, too.
 */

import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ASSETS = join(import.meta.dirname, 'dist/assets');

/** Modules of the names that React exports: its own files are CommonJS, whose names no module can tell. */
const SHARED: Readonly<Record<string, string>> = {
  react: moduleOf('react'),
  'jsx-runtime': moduleOf('react/jsx-runtime'),
};

function moduleOf(name: string): string {
  const exported = createRequire(import.meta.url)(name) as object;
  const names = Object.keys(exported).filter((each) => !each.startsWith('__'));
  return `import all from ${JSON.stringify(name)};\nexport default all;\nexport const { ${names.join(', ')} } = all;`;
}

const shared: Plugin = {
  name: 'shared',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^shared:/ }, ({ path }) => ({ path: path.slice(7), namespace: 'shared' }));
    onLoad({ filter: /./, namespace: 'shared' }, ({ path }) => ({
      contents: SHARED[path] ?? '',
      resolveDir: import.meta.dirname,
    }));
  },
};

/** Files that are there already stay as they are, for those who are reading them. */
export async function buildRecordPages(): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: [
      { in: join(import.meta.dirname, 'main.tsx'), out: 'records' },
      { in: join(import.meta.dirname, 'style.css'), out: 'records' },
      ...Object.keys(SHARED).map((name) => ({ in: `shared:${name}`, out: name })),
    ],
    outdir: ASSETS,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    splitting: true,
    bundle: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [shared],
    logLevel: 'warning',
    write: false,
  });
  mkdirSync(ASSETS, { recursive: true });
  const names = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const { path, contents } of outputFiles) if (!existsSync(path)) writeFileSync(path, contents);
  for (const old of readdirSync(ASSETS)) if (!names.has(old)) rmSync(join(ASSETS, old));
}

if (import.meta.main) await buildRecordPages();
