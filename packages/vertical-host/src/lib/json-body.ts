/** The JSON body of a request, also when a middleware has read it before. */
import { type IncomingBody, readJsonObject } from '@freehold/contracts/http';
import type { Context } from 'hono';
import { requestBody } from './request-body.ts';

/** @throws PlatformError as {@link readJsonObject} does. */
export function readBody(c: Context, limitBytes?: number): Promise<Readonly<Record<string, unknown>>> {
  return readJsonObject(new ContextBody(c), limitBytes);
}

/**
 * The body of hono's request, asked for once its headers are accepted. A class, because an object literal with a getter
 * gets a hidden class of its own each time, and the engine's memory fills with those.
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
    // hono keeps what it read.
    return req.raw.bodyUsed ? req.arrayBuffer() : req.raw.arrayBuffer();
  }
}
