/** A call and its client: what the call learns when the client leaves, in both revisions. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answerMcp, type McpPolicy, type ToolCall } from './endpoint.ts';
import { type McpTool, toolHints, toolInputSchema } from './tools.ts';

const tool: McpTool = {
  name: 'order_wait',
  title: 'Wait',
  description: 'Wait',
  inputSchema: toolInputSchema(z.strictObject({})),
  annotations: toolHints({ readOnly: true, destructive: false, method: 'POST' }),
};

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A call on its way: the request of a client that can leave, and the call as the policy sees it. */
function called(revision: string, more: object = {}) {
  const leaving = new AbortController();
  const isModern = revision === '2026-07-28';
  const params = { name: tool.name, arguments: {}, _meta: { ...(isModern ? envelope : {}), ...more } };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    signal: leaving.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      ...(isModern ? { 'mcp-method': 'tools/call', 'mcp-name': tool.name } : {}),
    },
    body: JSON.stringify(message),
  });
  const begun = Promise.withResolvers<ToolCall<McpTool>>();
  const end = Promise.withResolvers<void>();
  const policy: McpPolicy<McpTool> = {
    serverInfo: { name: 'test', version: '1.0.0' },
    tools: [tool],
    listed: () => [tool],
    call: async (call) => {
      begun.resolve(call);
      await end.promise;
      return { value: null, replayed: false };
    },
    problemOf: (thrown) => Promise.reject(thrown),
    headers: {},
  };
  const answer = answerMcp(request, async () => message, policy);
  return { answer, begun: begun.promise, leave: () => leaving.abort(), end: () => end.resolve() };
}

describe.each(['2026-07-28', '2025-11-25'])('a call of %s', (revision) => {
  test('knows when its client leaves, and that is no failure', async () => {
    const { answer, begun, leave, end } = called(revision);
    const { signal } = await begun;
    expect(signal.aborted).toBe(false);
    leave();
    await expect.poll(() => signal.aborted).toBe(true);
    end();
    expect((await answer).status).toBe(revision === '2026-07-28' ? 499 : 200);
  });

  test('that reports to a client that left goes on', async () => {
    const { answer, begun, leave, end } = called(revision, { progressToken: 'p' });
    const { progress } = await begun;
    leave();
    await expect(progress?.({ progress: 1, message: 'one' })).resolves.toBeUndefined();
    end();
    await expect(answer).resolves.toBeInstanceOf(Response);
  });

  test('has no channel for progress where the client asked for none', async () => {
    const { answer, begun, end } = called(revision);
    expect(await begun).not.toHaveProperty('progress');
    end();
    expect((await answer).status).toBe(200);
  });
});
