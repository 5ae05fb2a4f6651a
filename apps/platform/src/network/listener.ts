/** The listening socket: hands every request to one fetch function, and closes without cutting anybody off. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Duplex } from 'node:stream';
import { PlatformError, problemDocument, publicError, toProblem } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from '../settings/settings.ts';

/** How long open requests may take to end when the platform stops. */
const DRAIN_MS = 5_000;
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
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error, { port, host });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      await closed;
      clearTimeout(timer);
    },
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
