/** Makes one file of a worker and everything that it imports, as workerd takes it: `node bundle.ts <directory>`. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WebFile, WebFiles } from '@freehold/app';
import { readWebFiles } from '@freehold/app/node';
import { build, type Plugin } from 'esbuild';

/** Bundles the worker whose entry this is. @throws Error when it needs something of Node's that workerd lacks. */
export async function bundleWorker(
  entry: string,
  outfile: string,
  plugins: readonly Plugin[] = [],
): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    mainFields: ['module', 'main'],
    // Modules of the runtime. Other modules of Node would have to be named here, and there are none.
    external: ['node:crypto', 'cloudflare:workers'],
    plugins: [...plugins],
    logLevel: 'warning',
  });
}

/** Bundles fieldwork with its pages. Default: those that `npm run build` made, if it did. */
export function bundleFieldwork(
  outfile: string,
  webFiles = readWebFiles(join(import.meta.dirname, '../web/dist')),
): Promise<void> {
  return bundleWorker(join(import.meta.dirname, 'main.ts'), outfile, [pagesOf(webFiles)]);
}

/** A worker has no files: the pages are a module of it. */
function pagesOf(webFiles: WebFiles | undefined): Plugin {
  const name = 'fieldwork:web-files';
  return {
    name,
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^fieldwork:web-files$/ }, ({ path }) => ({ path, namespace: name }));
      onLoad({ filter: /.*/, namespace: name }, () => ({ contents: moduleOf(webFiles), loader: 'js' }));
    },
  };
}

function moduleOf(webFiles: WebFiles | undefined): string {
  if (!webFiles) return 'export const webFiles = undefined;';
  const packed = [...webFiles].map(([path, { body, gzip, ...file }]) => [
    path,
    { ...file, body: base64Of(body), ...(gzip ? { gzip: base64Of(gzip) } : {}) },
  ]);
  return `const bytesOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
export const webFiles = new Map(${JSON.stringify(packed)}.map(([path, { body, gzip, ...file }]) => [
  path,
  { ...file, body: bytesOf(body), ...(gzip === undefined ? {} : { gzip: bytesOf(gzip) }) },
]));`;
}

function base64Of(bytes: WebFile['body']): string {
  return Buffer.from(bytes).toString('base64');
}

const [, script, directory] = process.argv;
if (script === import.meta.filename && directory !== undefined) {
  mkdirSync(directory, { recursive: true });
  await bundleFieldwork(join(directory, 'worker.js'));
  copyFileSync(join(import.meta.dirname, 'fieldwork.capnp'), join(directory, 'fieldwork.capnp'));
}
