/** Reads built pages from a directory. It needs Node, and so has an entry of its own: `@freehold/app/node`. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { App } from '../declaration/app.ts';
import type { WebFile, WebFiles } from '../declaration/env.ts';
import { ownPagesOf } from '../declaration/own-pages.ts';
import { buildOwnPages } from './own-pages.ts';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The built pages of records, which this package brings. A checkout has them after `npm run build`. */
const RECORD_PAGES = fileURLToPath(new URL('../../web/dist', import.meta.url));

/**
 * Returns the files of an application's pages: its own built ones, or those of records where it brings none. Undefined
 * where it has neither, and where they were not built.
 * @param folder the project's folder.
 * @throws BuildFailure of esbuild for a single page that cannot be bundled.
 */
export function webFilesOf(
  { web, records }: Pick<App, 'web' | 'records'>,
  folder: string,
): WebFiles | undefined {
  if (typeof web === 'string') return readWebFiles(join(folder, web));
  if (!records.some(({ hasPages }) => hasPages) || !existsSync(RECORD_PAGES)) return undefined;
  const own = ownPagesOf(web);
  const built = own.length === 0 ? [] : buildOwnPages(folder, own, RECORD_PAGES);
  return new Map([
    ...filesBelow(RECORD_PAGES),
    ...built.map(({ name, contents }) => {
      const path = `/assets/${name}`;
      return [path, toWebFile(path, new Uint8Array(contents))] as const;
    }),
  ]);
}

/** Reads every file below a directory into memory, or answers undefined when nothing was built there. */
export function readWebFiles(directory: string): WebFiles | undefined {
  return existsSync(join(directory, 'index.html')) ? filesBelow(directory) : undefined;
}

function filesBelow(directory: string): WebFiles {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  return new Map(
    files.map((file) => {
      const path = join(file.parentPath, file.name);
      const name = `/${relative(directory, path).split(sep).join('/')}`;
      return [name, toWebFile(name, new Uint8Array(readFileSync(path)))];
    }),
  );
}

function toWebFile(name: string, body: Uint8Array<ArrayBuffer>): WebFile {
  const zipped = new Uint8Array(gzipSync(body));
  return {
    body,
    ...(zipped.byteLength < body.byteLength ? { gzip: zipped } : {}),
    contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`,
    // The build puts a hash of the content into these names.
    immutable: name.startsWith('/assets/'),
  };
}
