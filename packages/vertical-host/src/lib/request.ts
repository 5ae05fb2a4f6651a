/** The parts of a request and of its JSON answer that every route needs: the id, the body, private headers. */
import { type IncomingBody, isRequestId, REQUEST_ID_HEADER, readJsonObject } from '@freehold/contracts/http';
import type { Context } from 'hono';

/**
 * The id of a request, the same for its whole life: the one that a middleware of the application set, else a new one. The
 * caller's own `x-request-id` is none: a caller must not choose the names of rows in our logs.
 */
export function requestIdOf(c: Context, newRequestId: () => string = () => crypto.randomUUID()): string {
  const known: unknown = c.get('requestId');
  if (isRequestId(known)) return known;
  const id = newRequestId();
  c.set('requestId', id);
  return id;
}

/** The body as a stream, also after a middleware has read it (hono caches what it read). Null without a body. */
export async function requestBody(c: Context): Promise<ReadableStream<Uint8Array> | null> {
  return c.req.raw.bodyUsed ? new Response(await c.req.arrayBuffer()).body : c.req.raw.body;
}

/** Reads the JSON body, also after a middleware has read it. @throws PlatformError as {@link readJsonObject} does. */
export function readBody(c: Context, limitBytes?: number): Promise<Readonly<Record<string, unknown>>> {
  return readJsonObject(new ContextBody(c), limitBytes);
}

/**
 * The body of hono's request, opened once its headers are accepted. A class, because each object literal with a getter
 * gets a hidden class of its own, and these fill the engine's memory.
 */
class ContextBody implements IncomingBody {
  readonly headers: Headers;
  readonly #c: Context;

  constructor(c: Context) {
    this.headers = c.req.raw.headers;
    this.#c = c;
  }

  get body(): Promise<ReadableStream<Uint8Array> | null> {
    return requestBody(this.#c);
  }

  whole(): Promise<ArrayBuffer> {
    const { req } = this.#c;
    return req.raw.bodyUsed ? req.arrayBuffer() : req.raw.arrayBuffer();
  }
}

/** The headers of every answer, with a body or without. No cache stores it: another caller may not see it. */
export function privateHeaders(c: Context): Record<string, string> {
  return { 'cache-control': 'private, no-store', [REQUEST_ID_HEADER]: requestIdOf(c) };
}

/** A successful answer. */
export function jsonResponse(
  c: Context,
  value: unknown,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      ...privateHeaders(c),
      ...headers,
    },
  });
}
