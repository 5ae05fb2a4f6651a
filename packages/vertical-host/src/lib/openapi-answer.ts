/** `GET /openapi.json`: the document with the address of the instance that is asked, and 304 to who has it. */
import { createHash } from 'node:crypto';
import { isUnchanged } from '@freehold/contracts/http';
import type { OpenApiDocument } from '@freehold/operations/openapi';
import type { Context } from 'hono';
import { privateHeaders } from './request.ts';

/** Texts of that many origins are kept: an instance has few host names, and a platform many instances. */
const ORIGINS_MAX = 32;

interface Written {
  readonly text: string;
  /** Without its quotes. */
  readonly version: string;
}

/** Returns the answer for a caller who may read it; `origin` is the one that the caller sees. */
export function documentAnswer(document: () => OpenApiDocument): (c: Context, origin: string) => Response {
  const byOrigin = new Map<string, Written>();
  const writtenFor = (origin: string): Written => {
    const known = byOrigin.get(origin);
    if (known) return known;
    const written = write(document(), origin);
    if (byOrigin.size >= ORIGINS_MAX) byOrigin.clear();
    byOrigin.set(origin, written);
    return written;
  };
  return (c, origin) => {
    const { text, version } = writtenFor(origin);
    // Weak: the listener may compress the body, and bytes are what a strong tag promises (RFC 9110, section 8.8.1).
    const headers = {
      ...privateHeaders(c),
      'cache-control': 'private, no-cache',
      etag: `W/"${version}"`,
      'x-content-type-options': 'nosniff',
    };
    if (isUnchanged(c.req.header('if-none-match'), version))
      return new Response(null, { status: 304, headers });
    return new Response(text, { headers: { 'content-type': 'application/json', ...headers } });
  };
}

function write(document: OpenApiDocument, origin: string): Written {
  const servers = document.servers?.map((server) => ({ ...server, url: origin }));
  const text = JSON.stringify({ ...document, servers });
  return { text, version: createHash('sha256').update(text).digest('base64url') };
}
