/** The message of a request to an MCP endpoint, and the refusal of what is none, in the words of JSON-RPC 2.0. */
import { PlatformError } from '@freehold/contracts';

export type McpMessage = Readonly<Record<string, unknown>>;

/** Body faults that mean that there was no JSON at all (JSON-RPC 2.0, "Parse error"). */
const UNPARSED: ReadonlySet<string | undefined> = new Set([
  'body_incomplete',
  'body_not_utf8',
  'body_not_json',
]);

/**
 * The message, or the response that refuses it. A list of messages is none: 2025-06-18 took batches out.
 * @param read reads the body as one JSON object; what it refuses with `validation_failed` is answered, and everything
 * else that it throws goes on.
 */
export async function readMcpMessage(read: () => Promise<McpMessage>): Promise<McpMessage | Response> {
  try {
    const message = await read();
    // This server sends no events of its own, so that it holds no connection open for them.
    return message.method === 'subscriptions/listen'
      ? rpcError(404, -32601, 'Method not found', message)
      : message;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== 'validation_failed') throw thrown;
    return rpcError(400, UNPARSED.has(thrown.reason) ? -32700 : -32600, thrown.message);
  }
}

/** The answer to a message that is refused as a whole, with its id where it has one. */
export function rpcError(status: number, code: number, message: string, { id }: McpMessage = {}): Response {
  const asked = typeof id === 'string' || typeof id === 'number' ? id : null;
  return Response.json({ jsonrpc: '2.0', id: asked, error: { code, message } }, { status });
}
