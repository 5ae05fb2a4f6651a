/** Successful answers: JSON that no cache keeps, for what one caller may see is nobody else's. */
import { REQUEST_ID_HEADER } from '@freehold/contracts/http';
import type { Context } from 'hono';
import { requestIdOf } from './request-id.ts';

/** The headers of every answer, with a body or without. */
export function privateHeaders(c: Context): Record<string, string> {
  return { 'cache-control': 'private, no-store', [REQUEST_ID_HEADER]: requestIdOf(c) };
}

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
