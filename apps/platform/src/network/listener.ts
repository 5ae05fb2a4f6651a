/** The listening socket: hands every request to the router, and closes without cutting off a request. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlatformError, problemDocument, publicError, toProblem } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from '../settings/settings.ts';
import { CompressedResponse } from './compressed-response.ts';
import { HSTS, type PlainHttp } from './plain-http.ts';
import { makeProxyReader } from './proxies.ts';
import type { Router } from './router.ts';

/** Time that answers have after a stop: an event stream does not end by itself. Below systemd's 90 seconds. */
const DRAIN_MAX_MS = 30_000;
/** After a stop, a connection that is idle for so long is closed: a request that was sent earlier has arrived by then. */
const QUIET_MS = 250;
/** Headers larger than this are refused with 431: cookies of one host stay far below. */
const HEADER_BYTES_MAX = 32 * 1024;

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
      if (hasSecondHost(incoming.rawHeaders)) return problemDocument(unreadableRequest());
      const peer = incoming.socket.remoteAddress;
      const seen = throughProxies(request, peer);
      if (plainHttp?.isStrict(seen)) outgoing.setHeader('strict-transport-security', HSTS);
      return (
        plainHttp?.answer(seen, peer) ?? (await fetch(seen.request, { clientAddress: seen.clientAddress }))
      );
    } catch (error) {
      onIncident(error);
      return problemDocument(publicError(error));
    }
  };
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX, ServerResponse: CompressedResponse },
    getRequestListener(answer, { errorHandler: () => problemDocument(unreadableRequest()) }),
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
  const body = JSON.stringify({ ...toProblem(problem), status: Number.parseInt(line, 10) });
  const head = [
    `HTTP/1.1 ${line}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
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
