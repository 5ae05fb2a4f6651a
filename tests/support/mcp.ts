/** The official MCP client of a signed-in person. */
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Caller } from './http.ts';

/**
 * Connects it with the cookies of the person's browser.
 * @param mode `auto`: revision 2026-07-28; `legacy`: 2025-11-25.
 * @param asks what the person says to a question. Default: the client cannot ask.
 */
export async function connectMcp(
  caller: Caller,
  origin: string,
  mode: 'auto' | 'legacy' = 'auto',
  asks?: (message: string) => ElicitResult,
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode }, capabilities: asks ? { elicitation: { form: {} } } : {} },
  );
  if (asks) client.setRequestHandler('elicitation/create', ({ params }) => asks(params.message));
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/api/mcp', origin), {
      // Only its callers can resolve the host names of a test.
      fetch: async (url, init) => {
        const { body } = init ?? {};
        return caller.open(String(url), {
          method: init?.method ?? 'GET',
          headers: Object.fromEntries(new Headers(init?.headers)),
          ...(typeof body === 'string' ? { json: JSON.parse(body) } : {}),
        });
      },
    }),
  );
  return client;
}
