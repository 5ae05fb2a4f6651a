/** An app behind a real socket: Node's own HTTP server, on a port of this machine that was free. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** `await using` closes it, with every connection. */
export async function listen(answer: (request: Request) => Promise<Response>) {
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing, answer));
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

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const { method = 'GET', url = '/', headersDistinct, headers } = incoming;
  const fields = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const request = new Request(`http://${headers.host}${url}`, {
    method,
    headers: fields,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
  } as RequestInit);
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  // Whoever goes away in the middle of an answer is not our fault.
  if (response.body)
    await pipeline(Readable.fromWeb(response.body as never), outgoing).catch(() => undefined);
  else outgoing.end();
}
