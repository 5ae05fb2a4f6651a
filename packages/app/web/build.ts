/**
 * Builds the pages of records into `web/dist`: `node packages/app/web/build.ts`. The names of the files change with their
 * content.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const ASSETS = join(import.meta.dirname, 'dist/assets');

/** Files that are there already stay as they are, for those who are reading them. */
export async function buildRecordPages(): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: ['main.tsx', 'style.css'].map((file) => ({
      in: join(import.meta.dirname, file),
      out: 'records',
    })),
    outdir: ASSETS,
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'warning',
    write: false,
  });
  mkdirSync(ASSETS, { recursive: true });
  const names = new Set(outputFiles.map(({ path }) => basename(path)));
  for (const { path, contents } of outputFiles) if (!existsSync(path)) writeFileSync(path, contents);
  for (const old of readdirSync(ASSETS)) if (!names.has(old)) rmSync(join(ASSETS, old));
}

if (import.meta.main) await buildRecordPages();
