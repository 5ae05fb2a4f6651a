/** JSON-RPC messages as clients of 2026-07-28 send them, and the answers to them. */
import { expect } from 'vitest';
import { z } from 'zod';

const block = z.object({ type: z.string(), text: z.string().optional() }).loose();

const answer = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  error: z
    .object({ code: z.int(), message: z.string(), data: z.unknown() })
    .partial({ data: true })
    .optional(),
  result: z
    .object({
      isError: z.boolean().optional(),
      content: z.array(block).optional(),
      tools: z.array(z.object({ name: z.string() }).loose()).optional(),
      _meta: z.record(z.string(), z.unknown()).optional(),
    })
    .loose()
    .default({}),
});

/** A message of any revision, but for its body. */
export const ANY_JSON_RPC = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
};

/** One request of revision 2026-07-28, whose id is 1. */
export function modernCall(
  method: string,
  params: { readonly name?: string; readonly uri?: string; readonly [key: string]: unknown } = {},
  meta: object = {},
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  const named = params.name ?? params.uri;
  return {
    method: 'POST',
    headers: {
      ...ANY_JSON_RPC.headers,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  };
}

/** The JSON-RPC answer that a response carries. */
export async function rpcOf(response: Response) {
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  return answer.parse(await response.json());
}
