/**
 * The page that shows an OpenAPI document to a person. It is made here, from the document, and is complete: it loads
 * nothing, from this origin or another, and asks nothing of it.
 */
import { createHash } from 'node:crypto';
import { acceptsCoding, isUnchanged } from '@freehold/contracts/http';
import type { Described } from './document.ts';
import { renderPage } from './page.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';

export interface DocsPage {
  /** An OpenAPI 3.1 document. */
  readonly document: object;
  /** Where the document is, as the page's reader reaches it: an address on the same origin. */
  readonly documentUrl: string;
}

/** Its own script and style, by their digests, and no other: a description that held markup would do nothing. */
const POLICY = [
  "default-src 'none'",
  `script-src '${digestOf(SCRIPT)}'`,
  `style-src '${digestOf(STYLE)}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Rendered {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  /** Without its quotes. */
  readonly version: string;
}

/**
 * Returns what answers `GET` of the page. The caller has settled that it is a GET, and who may have it.
 * @param page called at the first request; the page is rendered then, and kept.
 */
export function makeApiDocs(page: () => DocsPage): (request: Request) => Promise<Response> {
  let rendering: Promise<Rendered> | undefined;
  return async ({ headers: asked }) => {
    rendering ??= render(page());
    const { bytes, gzipped, version } = await rendering;
    const headers = {
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, no-cache',
      // Weak: it names the page in both of its codings.
      etag: `W/"${version}"`,
      vary: 'accept-encoding, cookie',
    };
    if (isUnchanged(asked.get('if-none-match'), version)) return new Response(null, { status: 304, headers });
    const isPacked = acceptsCoding(asked.get('accept-encoding'), 'gzip');
    const init: ResponseInit & { encodeBody?: 'manual' } = {
      headers: {
        ...headers,
        'content-type': 'text/html; charset=utf-8',
        ...(isPacked ? { 'content-encoding': 'gzip' } : {}),
      },
      // For workerd, which would compress once more what says that it is compressed.
      encodeBody: 'manual',
    };
    return new Response(isPacked ? gzipped : bytes, init);
  };
}

async function render({ document, documentUrl }: DocsPage): Promise<Rendered> {
  const bytes = new Uint8Array(new TextEncoder().encode(renderPage(document as Described, documentUrl)));
  const packing = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  const gzipped = new Uint8Array(await new Response(packing).arrayBuffer());
  return { bytes, gzipped, version: createHash('sha256').update(bytes).digest('base64url') };
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
