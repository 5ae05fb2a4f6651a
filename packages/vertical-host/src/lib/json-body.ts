/** The JSON body of a request, also when a middleware has read it before. */
import { readJsonObject } from '@freehold/contracts/http';
import type { Context } from 'hono';

/** @throws PlatformError as {@link readJsonObject} does. */
export function readBody(c: Context, limitBytes?: number): Promise<Readonly<Record<string, unknown>>> {
  const { raw } = c.req;
  const request = {
    headers: raw.headers,
    get body() {
      // hono keeps what it read.
      return raw.bodyUsed ? c.req.arrayBuffer().then((bytes) => new Response(bytes).body) : raw.body;
    },
  };
  return readJsonObject(request, limitBytes);
}
