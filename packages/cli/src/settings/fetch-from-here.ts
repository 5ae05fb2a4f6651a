/**
 * Adds names below `localhost` to `fetch`: they mean this machine, whatever a resolver says (RFC 6761, section 6.3).
 */
import { request as send } from 'node:http';
import { Readable } from 'node:stream';

/** Sends a request: to 127.0.0.1 for a name of this machine, through `fetch` otherwise. */
export function fetchFromHere(request: Request): Promise<Response> {
  const { protocol, hostname } = new URL(request.url);
  return protocol === 'http:' && hostname.endsWith('.localhost') ? fetchLocal(request) : fetch(request);
}

/** @throws TypeError as `fetch` does, when nothing answers. */
function fetchLocal(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const headers = { ...Object.fromEntries(request.headers), host: url.host };
  const sent = send(
    {
      host: '127.0.0.1',
      port: url.port || 80,
      path: url.pathname + url.search,
      method: request.method,
      headers,
      signal: request.signal,
    },
    (answer) => {
      const status = answer.statusCode ?? 502;
      const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const hasBody = ![204, 205, 304].includes(status);
      if (!hasBody) answer.resume();
      const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
      resolve(new Response(body, { status, headers: fields }));
    },
  );
  sent.on('error', (cause) =>
    reject(request.signal.aborted ? request.signal.reason : new TypeError('fetch failed', { cause })),
  );
  if (request.body) Readable.fromWeb(request.body as never).pipe(sent);
  else sent.end();
  return promise;
}
