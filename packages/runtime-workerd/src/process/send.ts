/** One request over a socket of a process, streamed both ways. */
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { Dispatcher, Pool } from 'undici';

/** Headers that belong to one connection (RFC 9110, section 7.6.1). */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer']);
/** Statuses of answers without a body (RFC 9110, section 15). */
const WITHOUT_BODY = new Set([101, 204, 205, 304]);

export async function sendOver(pool: Pool, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const { statusCode, headers, body } = await pool.request({
    method: request.method as Dispatcher.HttpMethod,
    path: `${url.pathname}${url.search}`,
    headers: [...request.headers].filter(([name]) => !OF_CONNECTION.has(name)).flat(),
    body: request.body === null ? null : Readable.fromWeb(request.body as unknown as NodeStream),
    signal: request.signal,
  });
  const answered = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || OF_CONNECTION.has(name)) continue;
    for (const each of Array.isArray(value) ? value : [value]) answered.append(name, each);
  }
  if (WITHOUT_BODY.has(statusCode) || request.method === 'HEAD') {
    body.resume();
    return new Response(null, { status: statusCode, headers: answered });
  }
  const web = Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>;
  return new Response(web, { status: statusCode, headers: answered });
}
