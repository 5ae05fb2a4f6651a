/** The pages: built files with the caching that fits them, and the one page for every address of the application. */

import { PlatformError } from '@freehold/contracts';
import { acceptsCoding, answerOtherMethod, isUnchanged } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { AppContext, AppEnv, Services, WebFile } from '../declaration/env.ts';
import { requireNode } from '../request/caller.ts';
import { isNavigation } from '../request/navigation.ts';

/** Every file is our own, none is inline, and no page may frame us. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const ONE_YEAR_S = 31_536_000;

/**
 * Mounts the pages behind everything else: an unknown address under `/api` is a 404, any other is a page.
 * @param instead returns what a navigation gets in place of the one page; null for the page.
 */
export function mountWeb(
  app: Hono<AppEnv>,
  { deps: { webFiles: files }, manifest }: Services,
  instead: (c: AppContext) => Promise<Response | null>,
): void {
  app.all('/api/*', () => {
    throw new PlatformError('not_found', 'There is nothing at this address of the API.');
  });
  app.on(['GET', 'HEAD'], '*', async (c) => {
    requireNode(c);
    const { path } = c.req;
    const file = files?.get(path);
    if (file) return serve(c, file);
    const page = files?.get('/index.html');
    // The front page answers every client: a monitor, a load balancer, curl.
    if (page && isNavigation(c)) return (await instead(c)) ?? serve(c, page);
    if (page && path === '/') return serve(c, page);
    if (!files && path === '/')
      return c.text(
        `The pages of ${manifest.name} are not built: run npm run build. Its API is under /api.\n`,
      );
    throw new PlatformError('not_found', 'There is nothing at this address.');
  });
  app.all('*', (c) => answerOtherMethod(c.req.method, ['GET']));
}

function serve(c: AppContext, file: WebFile): Response {
  const isPage = file.contentType.startsWith('text/html');
  const headers = new Headers({
    'content-type': file.contentType,
    // Weak: it names the file in both of its codings.
    etag: `W/${file.etag}`,
    // The page names the current files, so that it is asked for each time; their names change with them.
    'cache-control': file.immutable ? `public, max-age=${ONE_YEAR_S}, immutable` : 'no-cache',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  if (isPage) {
    headers.set('content-security-policy', CONTENT_SECURITY_POLICY);
    headers.set('cross-origin-opener-policy', 'same-origin');
    // An address may hold the token of an invite.
    headers.set('referrer-policy', 'same-origin');
  }
  if (isUnchanged(c.req.header('if-none-match'), file.etag.slice(1, -1)))
    return new Response(null, { status: 304, headers });
  const zipped = acceptsCoding(c.req.header('accept-encoding'), 'gzip') ? file.gzip : undefined;
  if (zipped) headers.set('content-encoding', 'gzip');
  const body = zipped ?? file.body;
  headers.set('content-length', String(body.byteLength));
  // For workerd, which would compress once more what says that it is compressed.
  const init: ResponseInit & { encodeBody?: 'manual' } = { headers, encodeBody: 'manual' };
  return new Response(c.req.method === 'HEAD' ? null : body, init);
}
