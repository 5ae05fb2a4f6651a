/** Bytes as an answer: streamed, never kept by a cache, and never taken for a page. */
import { PlatformError } from '@freehold/contracts';
import type { Context } from 'hono';
import { type IncidentOptions, recordIncident } from './incidents.ts';
import { privateHeaders } from './json-response.ts';
import { relay } from './relay.ts';

interface SentBytes {
  readonly body: ReadableStream<Uint8Array>;
  /** What the receiver may call it; anything at all. */
  readonly filename: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers a stream. What fails before its first piece is thrown, and so becomes a problem document; what fails after
 * it can only break the answer off, and is recorded.
 */
export async function bytesResponse(
  c: Context,
  { body, filename, headers }: SentBytes,
  options: IncidentOptions,
): Promise<Response> {
  const { body: sent, begin } = relay(body, {
    onFailure: (cause) => {
      recordIncident(c, cause, options);
      // Servers may print the message of what broke a stream, also to the caller.
      return new PlatformError('internal', 'The answer broke off.');
    },
  });
  await begin();
  const response = new Response(c.req.method === 'HEAD' ? null : sent, {
    headers: {
      'content-disposition': contentDisposition(filename),
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      ...privateHeaders(c),
      ...headers,
    },
  });
  // An export holds on to its moment until somebody has read it or says that nobody will.
  if (c.req.method === 'HEAD') await sent.cancel().catch(() => undefined);
  return response;
}

/** RFC 6266: to be kept under a name, never to be shown; the true name in UTF-8, and one in ASCII that cannot break out. */
function contentDisposition(filename: string): string {
  const plain = filename.replaceAll(/[^\w. -]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
