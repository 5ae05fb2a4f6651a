/** The listening socket: hands every request to one fetch function, and closes without cutting off a request. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PlatformError, problemDocument, publicError, toProblem } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from '../settings/settings.ts';

/** How long answers may go on after a stop: an event stream has no end of its own. Below systemd's 90 seconds. */
const DRAIN_MAX_MS = 30_000;
/** A connection that is idle for so long after a stop is closed: what its client sent before that has arrived by then. */
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
  /** @param peer the address at the other end of the connection. */
  readonly fetch: (request: Request, peer: string | undefined) => Promise<Response>;
  readonly onIncident: (error: unknown) => void;
}

/** Listens. @throws SettingsError with one sentence when the port or the address cannot be had. */
export async function listen({ port, host, fetch, onIncident }: ListenOptions): Promise<Listener> {
  const answer = async (
    request: Request,
    { incoming }: { readonly incoming: { readonly socket: { readonly remoteAddress?: string | undefined } } },
  ): Promise<Response> => {
    try {
      return await fetch(request, incoming.socket.remoteAddress);
    } catch (error) {
      onIncident(error);
      return problemDocument(publicError(error));
    }
  };
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX },
    getRequestListener(answer, { errorHandler: () => problemDocument(unreadableRequest()) }),
  );
  server.on('clientError', refuseUnreadable);
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
 * Builds the closing of a server. It takes no new connection, answers what is in flight, tells each connection that its
 * answer is the last one, and ends with the last answer. A client that keeps a connection busy would otherwise hold the
 * server open until it is cut off.
 */
function makeDrain(server: Server): () => Promise<void> {
  /** The connections, with the answer that each is giving. */
  const connections = new Map<Socket, ServerResponse | null>();
  let isDraining = false;
  const makeLast = (response: ServerResponse): void => {
    // Sends `Connection: close` with the headers; where those are out already, the connection becomes idle.
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
    // The HTTP server's own `close` would cut off idle connections at once, and a request that is on its way with them.
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

/** Answers bytes that are not HTTP, or headers without end: before there is a request, there is only the socket. */
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

function headersTooLarge(): PlatformError {
  return new PlatformError(
    'payload_too_large',
    'The headers of this request are too large. Delete the cookies of this site and try again.',
  );
}

/** What cannot even be made into a request, such as a host name with a space in it. */
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
      `Port ${port} is taken: set PORT to a free one, or stop whatever listens there.`,
    );
  if (code === 'EACCES')
    return new SettingsError(`Port ${port} may not be used by this user: set PORT to one above 1023.`);
  return new SettingsError(
    `Cannot listen on ${host}:${port} (${code ?? 'unknown error'}): check FREEHOLD_HOST and PORT.`,
  );
}
