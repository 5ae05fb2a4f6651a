/** The listening socket: hands every request to the router, compresses answers, and closes without cutting off a request. */
import { once } from 'node:events';
import { createServer, type OutgoingHttpHeaders, type Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, gzipSync } from 'node:zlib';
import { PlatformError, problemDocument, publicError, toProblem } from '@freehold/contracts';
import { acceptsCoding } from '@freehold/contracts/http';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from '../settings/settings.ts';
import { HSTS, type PlainHttp } from './plain-http.ts';
import { makeProxyReader } from './proxies.ts';
import type { Router } from './router.ts';

/** Time that answers have after a stop: an event stream does not end by itself. Below systemd's 90 seconds. */
const DRAIN_MAX_MS = 30_000;
/** After a stop, a connection that is idle for so long is closed: a request that was sent earlier has arrived by then. */
const QUIET_MS = 250;
/** Headers larger than this are refused with 431: cookies of one host stay far below. */
const HEADER_BYTES_MAX = 32 * 1024;

/** Below this, the headers are most of the answer. */
const BYTES_MIN = 1_024;
/** A body that comes in parts is collected up to here, and sent as it comes from there on: memory has an end. */
const COLLECTED_BYTES_MAX = 1_024 * 1_024;
/** Below this, gzip takes 15 to 40 µs on this thread, and handing the work to another one takes more than that. */
const AT_ONCE_BYTES_MAX = 16 * 1_024;
/** Quality 4 takes less time than gzip on a large body, and saves more. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly port: number;
  readonly host: string;
  readonly fetch: Router['fetch'];
  /** Addresses and ranges of proxies whose headers are believed. */
  readonly trustedProxies: readonly string[];
  /** More connections than this are closed at once: each takes an open file, and databases need some. Default: no limit. */
  readonly connectionsMax?: number;
  /** Answers requests that came in the clear under a public address that is https; null where it is not. */
  readonly plainHttp: PlainHttp | null;
  readonly onIncident: (error: unknown) => void;
}

/** The sides of a connection that hono's adapter hands over. */
interface Sides {
  readonly incoming: {
    readonly socket: { readonly remoteAddress?: string | undefined };
    readonly rawHeaders: readonly string[];
  };
  readonly outgoing: { setHeader(name: string, value: string): unknown };
}

/** Listens. @throws SettingsError with one sentence when the port or the address is not available. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { port, host, fetch, plainHttp, onIncident } = options;
  const throughProxies = makeProxyReader(options.trustedProxies);
  const answer = async (request: Request, { incoming, outgoing }: Sides): Promise<Response> => {
    try {
      // The URL is of the first line, and a proxy may have judged the second (RFC 9112, section 3.2).
      if (hasSecondHost(incoming.rawHeaders))
        return problemDocument(unreadableRequest(), crypto.randomUUID());
      const peer = incoming.socket.remoteAddress;
      const seen = throughProxies(request, peer);
      if (plainHttp?.isStrict(seen)) outgoing.setHeader('strict-transport-security', HSTS);
      return (
        plainHttp?.answer(seen, peer) ?? (await fetch(seen.request, { clientAddress: seen.clientAddress }))
      );
    } catch (error) {
      onIncident(error);
      return problemDocument(publicError(error), crypto.randomUUID());
    }
  };
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, ServerResponse: CompressedResponse },
    getRequestListener(answer, {
      errorHandler: () => problemDocument(unreadableRequest(), crypto.randomUUID()),
    }),
  );
  server.on('clientError', refuseUnreadable);
  if (options.connectionsMax !== undefined && Number.isFinite(options.connectionsMax))
    server.maxConnections = options.connectionsMax;
  const close = makeDrain(server);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error, { port, host });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close,
  };
}

/**
 * Returns the closing of a server: it takes no new connection, finishes the answers in flight, and marks each as the last
 * of its connection. Otherwise a client that keeps a connection busy would hold the server open until it is cut off.
 */
function makeDrain(server: Server): () => Promise<void> {
  /** The connections, each with its answer in progress. */
  const connections = new Map<Socket, ServerResponse | null>();
  let isDraining = false;
  const makeLast = (response: ServerResponse): void => {
    // Sends `Connection: close` with the headers; where those were sent already, the connection becomes idle.
    response.shouldKeepAlive = false;
  };
  const closeWhenQuiet = (socket: Socket): void => {
    setTimeout(() => {
      if (!connections.get(socket)) socket.end();
    }, QUIET_MS).unref();
  };
  server.on('connection', (socket) => {
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    connections.set(socket, response);
    if (isDraining) makeLast(response);
    response.once('close', () => {
      if (connections.get(socket) === response) connections.set(socket, null);
      if (isDraining) closeWhenQuiet(socket);
    });
  });
  return async () => {
    const closed = once(server, 'close');
    isDraining = true;
    // The HTTP server's own `close` cuts off idle connections at once, and with them a request that is on its way.
    NetServer.prototype.close.call(server);
    for (const [socket, response] of connections) {
      if (response) makeLast(response);
      else closeWhenQuiet(socket);
    }
    const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS);
    await closed;
    clearTimeout(timer);
  };
}

/** Answers bytes that are not HTTP, or headers that are too large, on the socket: there is no request yet. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const line = isTooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const problem = isTooLarge ? headersTooLarge() : unreadableRequest();
  const requestId = crypto.randomUUID();
  const body = JSON.stringify({ ...toProblem(problem, requestId), status: Number.parseInt(line, 10) });
  const head = [
    `HTTP/1.1 ${line}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `x-request-id: ${requestId}`,
    'connection: close',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** @param raw names and values in turn. */
function hasSecondHost(raw: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

function headersTooLarge(): PlatformError {
  return new PlatformError(
    'payload_too_large',
    'The headers of this request are too large. Delete the cookies of this site and try again.',
  );
}

/** For bytes that are no request, such as a host name with a space in it. */
function unreadableRequest(): PlatformError {
  return new PlatformError(
    'validation_failed',
    'This is not a request we can read. Check its address and its Host header.',
  );
}

function listenError(
  error: unknown,
  { port, host }: { readonly port: number; readonly host: string },
): SettingsError {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE')
    return new SettingsError(
      `Port ${port} is taken: set PORT to a free one, or stop the program that listens there.`,
    );
  if (code === 'EACCES')
    return new SettingsError(`Port ${port} may not be used by this user: set PORT to one above 1023.`);
  return new SettingsError(
    `Cannot listen on ${host}:${port} (${code ?? 'unknown error'}): check FREEHOLD_HOST and PORT.`,
  );
}

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

/**
 * The response of the server: it compresses JSON. A stream, such as one of events, passes as it is, and so does a body that
 * is encoded already.
 */
class CompressedResponse extends ServerResponse {
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
