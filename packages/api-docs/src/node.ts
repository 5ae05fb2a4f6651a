/** The renderer's script, read from the installed package. Node only; workerd is handed it as a module of the worker. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type ApiDocs, makeApiDocs, type ScriptFile } from './api-docs.ts';

/** Rendered documentation for every API of this process: the script is read and packed once, when first asked for. */
export const apiDocs: ApiDocs = makeApiDocs(readScript);

async function readScript(): Promise<ScriptFile> {
  const place = new URL('browser/standalone.js', import.meta.resolve('@scalar/api-reference'));
  const bytes = await readFile(fileURLToPath(place));
  const gzipped = await promisify(gzip)(bytes);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  return { bytes, gzipped, etag };
}
