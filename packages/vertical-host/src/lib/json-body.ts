/** The JSON body of a request, also when a middleware has read it before. */
import { readJsonObject } from '@freehold/contracts/http';
import type { Context } from 'hono';
import { requestBody } from './request-body.ts';

/** @throws PlatformError as {@link readJsonObject} does. */
export function readBody(c: Context, limitBytes?: number): Promise<Readonly<Record<string, unknown>>> {
  const request = {
    headers: c.req.raw.headers,
    // Asked for once the headers are accepted.
    get body() {
      return requestBody(c);
    },
  };
  return readJsonObject(request, limitBytes);
}
