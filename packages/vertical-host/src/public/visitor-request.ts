/** A visitor's request as the vertical's code gets to see it. */
import type { Context } from 'hono';

/** What a browser adds by itself to say who its user is. */
const CREDENTIALS = ['authorization', 'cookie'];

/**
 * Takes the visitor's credentials off the request: whoever is signed in to the application in the same browser is a
 * visitor here like any other, also to code that would ask who it is.
 */
export async function dropCredentials(c: Context): Promise<void> {
  const { raw } = c.req;
  if (!CREDENTIALS.some((name) => raw.headers.has(name))) return;
  const headers = new Headers(raw.headers);
  for (const name of CREDENTIALS) headers.delete(name);
  // hono keeps what a middleware has read of it.
  const body = raw.bodyUsed ? { body: await c.req.arrayBuffer() } : {};
  c.req.raw = new Request(raw, { headers, ...body });
}

/** Lets a handler read again the body that was read and judged, with `c.req.json()`. */
export function keepBody(c: Context, body: Readonly<Record<string, unknown>>): void {
  const headers = new Headers(c.req.raw.headers);
  headers.delete('content-length');
  headers.set('content-type', 'application/json');
  c.req.raw = new Request(c.req.raw, { headers, body: JSON.stringify(body) });
  // What a middleware has read before, which hono would go by.
  c.req.bodyCache = {};
}
