/** Puts a fetch handler on a socket of this machine, so that clients and suites meet it as they meet the world. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

type Fetch = (request: Request) => Response | Promise<Response>;

export interface Listening {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function listen(fetch: Fetch): Promise<Listening> {
  const server = createServer((incoming, outgoing) => void exchange(fetch, incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function exchange(fetch: Fetch, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const left = new AbortController();
  outgoing.on('close', () => left.abort());
  try {
    const response = await fetch(requestOf(incoming, left.signal));
    outgoing.writeHead(response.status, [...response.headers].flat());
    if (response.body === null) return void outgoing.end();
    for await (const chunk of response.body) outgoing.write(chunk);
    outgoing.end();
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : undefined);
  }
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = incoming;
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2)
    headers.append(incoming.rawHeaders[i] ?? '', incoming.rawHeaders[i + 1] ?? '');
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, `http://${incoming.headers.host}`), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' } : {}),
  });
}
