/** The official MCP client of a signed-in person. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Caller } from './http.ts';

/**
 * Connects it with the cookies of the person's browser.
 * @param mode `auto`: revision 2026-07-28; `legacy`: 2025-11-25.
 */
export async function connectMcp(
  caller: Caller,
  origin: string,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/api/mcp', origin), {
      // Only its callers can resolve the host names of a test.
      fetch: async (url, init) => {
        const { body } = init ?? {};
        const { status, headers, text } = await caller.ask(String(url), {
          method: init?.method ?? 'GET',
          headers: Object.fromEntries(new Headers(init?.headers)),
          ...(typeof body === 'string' ? { json: JSON.parse(body) } : {}),
        });
        return new Response(status === 204 || status === 202 ? null : text, { status, headers });
      },
    }),
  );
  return client;
}
