/**
 * A fetch that resolves names under `localhost` to this machine (RFC 6761, section 6.3), as browsers do and the
 * resolvers of many systems do not.
 */
import { request } from 'node:http';

/** Fetches. Redirects are not followed for names under `localhost`. */
export function loopbackFetch(url: string, init: RequestInit): Promise<Response> {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && hostname.endsWith('.localhost')
    ? fetchFromHere(url, init)
    : fetch(url, init);
}

async function fetchFromHere(url: string, init: RequestInit): Promise<Response> {
  // The platform's own request turns any body into bytes and a content type.
  const asked = new Request(url, init);
  const body = Buffer.from(await asked.arrayBuffer());
  const headers = { ...Object.fromEntries(asked.headers), 'content-length': String(body.length) };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const outgoing = request(
    url,
    {
      method: asked.method,
      headers,
      signal: asked.signal,
      agent: false,
      lookup: (_hostname, { all }, callback) =>
        all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4),
    },
    (incoming) => {
      // The caller judges the status alone.
      incoming.resume();
      incoming.on('error', reject);
      incoming.on('end', () => resolve(new Response(null, { status: incoming.statusCode ?? 502 })));
    },
  );
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}
