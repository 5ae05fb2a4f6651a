/** Pages as a build leaves them, for places that serve some. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { WebFile, WebFiles } from '@freehold/app';

/** Makes files of path → text. Files under `/assets` are immutable. */
export function makeWebFiles(pages: Readonly<Record<string, string>>): WebFiles {
  return new Map(
    Object.entries(pages).map(([path, text]): [string, WebFile] => {
      const body = new TextEncoder().encode(text);
      return [
        path,
        {
          body,
          gzip: new Uint8Array(gzipSync(body)),
          contentType: path.endsWith('.html') ? 'text/html; charset=utf-8' : 'text/javascript; charset=utf-8',
          etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`,
          immutable: path.startsWith('/assets/'),
        },
      ];
    }),
  );
}
