/** Makes one file of a worker and everything that it imports, as workerd takes it. */
import { build, type Plugin } from 'esbuild';
import type { WebFile, WebFiles } from '../declaration/env.ts';

/**
 * Bundles the worker whose entry this is, with its pages as the module `freehold:web-files`.
 * @throws Error when it needs something of Node's that workerd lacks.
 */
export async function bundleWorker(entry: string, outfile: string, webFiles?: WebFiles): Promise<void> {
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
    plugins: [pagesOf(webFiles)],
    logLevel: 'warning',
  });
}

/** A worker has no files: the pages are a module of it. */
function pagesOf(webFiles: WebFiles | undefined): Plugin {
  const name = 'freehold:web-files';
  return {
    name,
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^freehold:web-files$/ }, ({ path }) => ({ path, namespace: name }));
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
