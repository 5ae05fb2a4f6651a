/** One request over a socket of a process: small answers at once, large ones streamed. */
import { Readable } from 'node:stream';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { Dispatcher, Pool } from 'undici';

/** Headers that belong to one connection (RFC 9110, section 7.6.1). */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer']);
/** Statuses of answers without a body (RFC 9110, section 15). */
const WITHOUT_BODY = new Set([101, 204, 205, 304]);
/** A body of that many bytes, at most, is read whole: a stream of its own costs more than the bytes. */
const WHOLE_BYTES_MAX = 65_536;

/** The parts of a request that go over the socket. */
export interface SentRequest {
  readonly method: string;
  /** An absolute address. */
  readonly url: string;
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly signal?: AbortSignal;
}

/**
 * A short body is read whole and goes out with the headers. An application may answer before it has read the body, and ends
 * the connection: what is written afterwards would fail, and its answer with it.
 */
async function sendable(body: SentRequest['body'], headers: Headers): Promise<Readable | Uint8Array | null> {
  if (body === null) return null;
  const bytes = Number(headers.get('content-length') ?? Number.NaN);
  if (bytes <= WHOLE_BYTES_MAX) return new Uint8Array(await new Response(body).arrayBuffer());
  return Readable.fromWeb(body as unknown as NodeStream);
}

/** @param onEnd called once, after the last byte of the answer; with the error of one that broke off. */
export async function sendOver(
  pool: Pool,
  request: SentRequest,
  onEnd: (error: unknown) => void = () => undefined,
): Promise<Response> {
  try {
    return await send(pool, request, onEnd);
  } catch (error) {
    onEnd(error);
    throw error;
  }
}

async function send(
  pool: Pool,
  { method, url, headers, body, signal }: SentRequest,
  onEnd: (error: unknown) => void,
): Promise<Response> {
  const { pathname, search } = new URL(url);
  const answered = await pool.request({
    method: method as Dispatcher.HttpMethod,
    path: `${pathname}${search}`,
    headers: [...headers].filter(([name]) => !OF_CONNECTION.has(name)).flat(),
    body: await sendable(body, headers),
    ...(signal === undefined ? {} : { signal }),
  });
  const { statusCode: status } = answered;
  const received = new Headers();
  for (const [name, value] of Object.entries(answered.headers)) {
    if (value === undefined || OF_CONNECTION.has(name)) continue;
    for (const each of Array.isArray(value) ? value : [value]) received.append(name, each);
  }
  if (WITHOUT_BODY.has(status) || method === 'HEAD') {
    answered.body.resume();
    onEnd(null);
    return new Response(null, { status, headers: received });
  }
  const bytes = Number(received.get('content-length') ?? Number.POSITIVE_INFINITY);
  if (bytes <= WHOLE_BYTES_MAX) {
    const whole = await answered.body.arrayBuffer();
    onEnd(null);
    return new Response(whole, { status, headers: received });
  }
  let failure: unknown = null;
  answered.body.once('error', (error) => {
    // A reader that goes away ends the answer, and does not break it off.
    failure = (error as { readonly code?: unknown }).code === 'UND_ERR_ABORTED' ? null : error;
  });
  answered.body.once('close', () => onEnd(failure));
  const streamed = Readable.toWeb(answered.body) as unknown as ReadableStream<Uint8Array>;
  return new Response(streamed, { status, headers: received });
}
