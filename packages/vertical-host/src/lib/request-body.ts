/** The body of a request as a stream, also when a middleware has read it before. */
import type { Context } from 'hono';

/** Null when there is none. */
export async function requestBody(c: Context): Promise<ReadableStream<Uint8Array> | null> {
  // hono keeps what it read.
  return c.req.raw.bodyUsed ? new Response(await c.req.arrayBuffer()).body : c.req.raw.body;
}
