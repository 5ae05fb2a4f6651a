/**
 * Compresses answers of JSON, in the one place that every answer of the process passes. A stream, such as one of events,
 * passes as it is, and so does a body that is encoded already.
 */
import { type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, gzipSync } from 'node:zlib';
import { acceptsCoding } from '@freehold/contracts/http';

/** Below this, the headers are most of the answer. */
const BYTES_MIN = 1_024;
/** A body that comes in parts is collected up to here, and sent as it comes from there on: memory has an end. */
const COLLECTED_BYTES_MAX = 1_024 * 1_024;
/** Below this, gzip takes 15 to 40 µs on this thread, and handing the work to another one takes more than that. */
const AT_ONCE_BYTES_MAX = 16 * 1_024;
/** Quality 4 takes less time than gzip on a large body, and saves more. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

interface Packed {
  readonly coding: string;
  readonly bytes: Buffer;
}

/** The body in a coding that the client takes; null for none, and where compressing fails: that is no fault of the answer. */
function pack(body: Buffer, accepted: string): Packed | null | Promise<Packed | null> {
  const takesGzip = acceptsCoding(accepted, 'gzip');
  if (takesGzip && body.byteLength <= AT_ONCE_BYTES_MAX) return { coding: 'gzip', bytes: gzipSync(body) };
  const later = (coding: string, bytes: Promise<Buffer>): Promise<Packed | null> =>
    bytes.then(
      (packed) => ({ coding, bytes: packed }),
      () => null,
    );
  if (acceptsCoding(accepted, 'br')) return later('br', promisify(brotliCompress)(body, BROTLI));
  return takesGzip ? later('gzip', promisify(gzip)(body)) : null;
}

/** The status and headers of an answer of JSON, not sent yet: its body decides. */
interface Head {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly parts: Buffer[];
  /** In the parts. */
  bytes: number;
}

/** The response of the listener's server. */
export class CompressedResponse extends ServerResponse {
  #held: Head | null = null;

  // biome-ignore lint/suspicious/noExplicitAny: node's overloads; only the form that hono's adapter uses is held.
  override writeHead(status: number, ...rest: any[]): this {
    const [headers = {}] = rest as [OutgoingHttpHeaders?];
    if (typeof headers !== 'object' || Array.isArray(headers) || !isCompressible(status, headers))
      return super.writeHead(status, ...rest);
    this.#held = { status, headers, parts: [], bytes: 0 };
    return this;
  }

  // biome-ignore lint/suspicious/noExplicitAny: node's overloads.
  override write(chunk: any, ...rest: any[]): boolean {
    const head = this.#held;
    if (head === null) return super.write(chunk, ...rest);
    head.parts.push(Buffer.from(chunk));
    head.bytes += chunk.length;
    if (head.bytes > COLLECTED_BYTES_MAX) this.#release(head);
    return true;
  }

  // biome-ignore lint/suspicious/noExplicitAny: node's overloads.
  override end(...rest: any[]): this {
    const head = this.#held;
    if (head === null) return super.end(...rest);
    const [chunk] = rest;
    const isWhole = typeof chunk === 'string' || chunk instanceof Uint8Array;
    const body = Buffer.concat([...head.parts, ...(isWhole ? [Buffer.from(chunk as string)] : [])]);
    this.#held = null;
    if (body.byteLength < BYTES_MIN) {
      super.writeHead(head.status, head.headers);
      return super.end(body);
    }
    const accepted = this.req.method === 'HEAD' ? '' : headerText(this.req.headers['accept-encoding']);
    const packed = pack(body, accepted);
    if (packed instanceof Promise) void packed.then((each) => this.#sendLarge(head, body, each));
    else this.#sendLarge(head, body, packed);
    return this;
  }

  /** JSON is of no use before its end, so that its headers can wait for the body. */
  override flushHeaders(): void {
    if (this.#held === null) super.flushHeaders();
  }

  #release({ status, headers, parts }: Head): void {
    this.#held = null;
    super.writeHead(status, headers);
    for (const part of parts) super.write(part);
  }

  #sendLarge({ status, headers }: Head, body: Buffer, packed: Packed | null): void {
    const { bytes } = packed ?? { bytes: body };
    super.writeHead(status, {
      ...without(headers, 'vary', 'content-length'),
      vary: ['accept-encoding', headerOf(headers, 'vary')].filter(Boolean).join(', '),
      'content-length': bytes.byteLength,
      ...(packed ? { 'content-encoding': packed.coding } : {}),
    });
    super.end(bytes);
  }
}

/**
 * Whether a body of this kind may be sent compressed. A strong entity tag names the bytes themselves (RFC 9110, section
 * 8.8.1), and is sent back in `If-Match`: such an answer is left as it is, and `no-transform` says it in words.
 */
function isCompressible(status: number, headers: OutgoingHttpHeaders): boolean {
  if (status < 200 || status === 204 || status === 206 || status === 304) return false;
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(headerOf(headers, 'content-type'))) return false;
  const tag = headerOf(headers, 'etag');
  return (
    headerOf(headers, 'content-encoding') === '' &&
    (tag === '' || tag.startsWith('W/')) &&
    !headerOf(headers, 'cache-control').includes('no-transform')
  );
}

/** Names are in any case. */
function headerOf(headers: OutgoingHttpHeaders, name: string): string {
  for (const key in headers)
    if (key.length === name.length && key.toLowerCase() === name) return headerText(headers[key]);
  return '';
}

function headerText(value: OutgoingHttpHeaders[string]): string {
  return value === undefined ? '' : String(value);
}

function without(headers: OutgoingHttpHeaders, ...names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => !names.includes(key.toLowerCase())));
}
