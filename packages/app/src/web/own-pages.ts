/** Bundles single pages of an application's own, which use the React that the pages of records bring. */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import type { OwnPage } from '../declaration/own-pages.ts';

/** One built file: its name below `/assets`. */
export interface BuiltFile {
  readonly name: string;
  readonly contents: Uint8Array;
}

/**
 * Builds each page as a module of its own, with its styles beside it.
 * @param root the project's folder.
 * @param supplied the folder of the built pages of records.
 * @throws BuildFailure of esbuild, whose `errors` name files and lines; Error where esbuild is not installed.
 */
export function buildOwnPages(root: string, pages: readonly OwnPage[], supplied: string): BuiltFile[] {
  // Only who replaces a page needs it.
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');
  const shared = (name: string): string => {
    const file = readdirSync(join(supplied, 'assets')).find((each) => each.startsWith(`${name}-`));
    if (file === undefined) throw new Error('The pages of records are not built: run npm run build.');
    return `/assets/${file}`;
  };
  const { outputFiles } = buildSync({
    entryPoints: pages.map(({ file, built }) => ({ in: join(root, file), out: built })),
    absWorkingDir: root,
    outdir: join(root, 'assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: { react: shared('react'), 'react/jsx-runtime': shared('jsx-runtime') },
    external: ['/assets/*'],
    logLevel: 'silent',
    write: false,
  });
  return outputFiles.map(({ path, contents }) => ({ name: basename(path), contents }));
}
