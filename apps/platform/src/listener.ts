/** The listening socket: hands every request to one fetch function, and closes without cutting anybody off. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { PlatformError, problemDocument, publicError } from '@freehold/contracts';
import { getRequestListener } from '@hono/node-server';
import { SettingsError } from './settings.ts';

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
  readonly fetch: (request: Request) => Promise<Response>;
  readonly onIncident: (error: unknown) => void;
}

/** Listens. @throws SettingsError with one sentence when the port or the address cannot be had. */
export async function listen({ port, host, fetch, onIncident }: ListenOptions): Promise<Listener> {
  const answer = async (request: Request): Promise<Response> => {
    try {
      return await fetch(request);
    } catch (error) {
      onIncident(error);
      return problemDocument(publicError(error));
    }
  };
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES_MAX },
    getRequestListener(answer, { errorHandler: unreadable }),
  );
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

/** The answer to what cannot even be made into a request, such as a host name with a space in it. */
function unreadable(): Response {
  return problemDocument(
    new PlatformError(
      'validation_failed',
      'This is not a request we can read. Check its address and its Host header.',
    ),
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
