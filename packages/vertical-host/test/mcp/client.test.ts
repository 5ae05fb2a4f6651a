/** The official client, of both eras, over a real socket: what people's software sees of a vertical. */
import { request as httpRequest } from 'node:http';
import { type InvokeResult, PlatformError, pageOf, pageQuery, problemSchema } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { MCP_META } from '@freehold/operations/mcp';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type Context, Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ListingStub } from '../../src/mcp/mcp-endpoint.ts';
import type { McpRecord } from '../../src/mcp/records.ts';
import { mountOperations } from '../../src/mount-operations.ts';
import { declare } from '../fixtures.ts';
import { type Listening, listen } from './listen.ts';

const order = z.strictObject({ id: z.string(), note: z.string().nullable() }).meta({ id: 'Order' });

const item = z.object({ id: z.string(), name: z.string() }).meta({ id: 'Item' });
const ITEMS = ['drill', 'saw', 'a/b?c', 'lamp', 'hose'].map((id) => ({ id, name: `A ${id}` }));

const operations: OperationTable = {
  'order/update': declare({
    input: z.strictObject({ id: z.string(), note: z.string().nullable() }),
    output: order,
    entity: ({ id }) => ({ type: 'order', id }),
    http: { method: 'PATCH', path: '/api/orders/:id' },
    mcp: { prompt: 'Write a note at {id}, and show it to me first.' },
  }),
  'order/list': declare({
    input: z.strictObject({ limit: z.int().min(1).max(50).default(10) }),
    output: z.array(order),
    http: { method: 'GET', path: '/api/orders' },
  }),
  'item/list': declare({
    input: z.strictObject({ ...pageQuery, limit: z.int().min(1).max(2).default(2) }),
    output: pageOf(item),
    http: { method: 'GET', path: '/api/items' },
  }),
  'item/get': declare({
    input: z.strictObject({ item: z.string() }),
    output: item,
    http: { method: 'GET', path: '/api/items/:item' },
  }),
  'order/count': declare({
    input: z.strictObject({}),
    output: z.int().nullable(),
    http: { method: 'GET', path: '/api/orders/count' },
  }),
};

/** A scope of one order, with versions and remembered answers as the kernel has them. */
function makeScope(): ListingStub {
  let version = 1;
  let note: string | null = null;
  const answers = new Map<string, InvokeResult>();
  return {
    invoke: async ({ operation, input, idempotencyKey, ifMatch }) => {
      const read = { invocation: null, version: null, replayed: false };
      if (operation === 'order/list') return { ...read, output: [{ id: 'ord_1', note }] };
      if (operation === 'order/count') return { ...read, output: null };
      if (operation === 'item/list') {
        const { limit = 2, cursor = '0' } = input as { limit?: number; cursor?: string };
        const end = Number(cursor) + limit;
        const nextCursor = end < ITEMS.length ? String(end) : null;
        return { ...read, output: { items: ITEMS.slice(Number(cursor), end), nextCursor } };
      }
      if (operation === 'item/get') return { ...read, version: 'evt_9', output: itemOf(input) };
      const known = idempotencyKey === undefined ? undefined : answers.get(idempotencyKey);
      if (known) return { ...known, replayed: true };
      if (ifMatch !== undefined && ifMatch !== `evt_${version}`)
        throw new PlatformError('precondition_failed', 'Another member changed this in the meantime.');
      note = z.object({ note: z.string().nullable() }).parse(input).note;
      version += 1;
      const result = {
        output: { id: 'ord_1', note },
        invocation: 'inv_1',
        version: `evt_${version}`,
        replayed: false,
      };
      if (idempotencyKey !== undefined) answers.set(idempotencyKey, result);
      return result;
    },
  };
}

function itemOf(input: unknown) {
  const found = ITEMS.find(({ id }) => id === (input as { item: string }).item);
  if (!found) throw new PlatformError('not_found', 'There is no such item.');
  return found;
}

const records: McpRecord[] = [
  { type: 'item', parameter: 'item', readId: (text) => text, titleField: 'name' },
];

let server: Listening;
beforeEach(async () => {
  const app = new Hono();
  const scope = makeScope();
  const resolve = (c: Context) => {
    if (c.req.header('authorization') !== 'Bearer good')
      throw new PlatformError('unauthenticated', 'Sign in first.');
    return scope;
  };
  mountOperations(app, operations, resolve, { mcp: { records } });
  server = await listen((request) => app.fetch(request));
});
afterEach(() => server[Symbol.asyncDispose]());

async function connect(mode: 'auto' | 'legacy', token = 'good'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.origin}/api/mcp`), { requestInit }),
  );
  return client;
}

function problemIn(result: CallToolResult) {
  return problemSchema.parse(result._meta?.[MCP_META.problem]);
}

describe.each([
  ['auto', '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const)('D-11 a client that negotiates %s', (mode, revision) => {
  test('speaks the revision, and is told of tools, resources, prompts and nothing else', async () => {
    const client = await connect(mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: false },
      resources: { listChanged: false },
      prompts: { listChanged: false },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'order_update',
      'order_list',
      'item_list',
      'item_get',
      'order_count',
    ]);
    expect(tools[0]).toMatchObject({
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: false,
      },
    });
    await client.close();
  });

  test('finds every answer to fit its output schema, lists and null included', async () => {
    const client = await connect(mode);
    // The client has compiled the schemas by now, and refuses answers that do not fit.
    await client.listTools();
    const updated = await client.callTool({ name: 'order_update', arguments: { id: 'ord_1', note: 'a' } });
    expect(updated.structuredContent).toEqual({ id: 'ord_1', note: 'a' });
    const listed = await client.callTool({ name: 'order_list', arguments: {} });
    const orders = [{ id: 'ord_1', note: 'a' }];
    // The older revision knows objects only, and is told so in its tool list.
    expect(listed.structuredContent).toEqual(mode === 'auto' ? orders : { result: orders });
    expect(listed.content).toEqual([{ type: 'text', text: JSON.stringify(orders) }]);
    const counted = await client.callTool({ name: 'order_count', arguments: {} });
    expect(counted.structuredContent).toEqual(mode === 'auto' ? null : { result: null });
    await client.close();
  });

  test('repeats a call by its key, and is told', async () => {
    const client = await connect(mode);
    const change = (note: string) =>
      client.callTool({
        name: 'order_update',
        arguments: { id: 'ord_1', note },
        _meta: { [MCP_META.idempotencyKey]: 'k-1' },
      });
    const first = await change('a');
    expect(first._meta).toMatchObject({ [MCP_META.version]: 'evt_2', [MCP_META.invocation]: 'inv_1' });
    expect(first._meta).not.toHaveProperty([MCP_META.replayed]);
    const second = await change('a');
    expect(second.structuredContent).toEqual(first.structuredContent);
    expect(second._meta).toMatchObject({ [MCP_META.version]: 'evt_2', [MCP_META.replayed]: true });
    await client.close();
  });

  test('states the version it has seen, and a stale one is refused', async () => {
    const client = await connect(mode);
    const change = (seen: string) =>
      client.callTool({
        name: 'order_update',
        arguments: { id: 'ord_1', note: 'b' },
        _meta: { [MCP_META.ifMatch]: seen },
      });
    const done = await change('evt_1');
    expect(done.isError).toBeUndefined();
    const stale = await change('evt_1');
    expect(stale.isError).toBe(true);
    expect(problemIn(stale)).toMatchObject({ code: 'precondition_failed', status: 412 });
    expect((await change(String(done._meta?.[MCP_META.version]))).isError).toBeUndefined();
    await client.close();
  });

  test('asks for a tool that is not there, and is told by the protocol', async () => {
    const client = await connect(mode);
    await expect(client.callTool({ name: 'order_drop', arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    await client.close();
  });

  test('lists records page by page, and reads each at its address, with its version', async () => {
    const client = await connect(mode);
    const { resources } = await client.listResources();
    expect(resources.map(({ title }) => title)).toEqual(ITEMS.map(({ name }) => name));
    expect(resources[2]).toMatchObject({ uri: 'freehold://item/a%2Fb%3Fc', mimeType: 'application/json' });
    for (const [index, { uri }] of resources.entries()) {
      const { contents } = await client.readResource({ uri });
      expect(contents).toMatchObject([{ uri, _meta: { [MCP_META.version]: 'evt_9' } }]);
      expect(JSON.parse((contents[0] as { text: string }).text)).toEqual(ITEMS[index]);
    }
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'freehold://item/{id}',
      'freehold://item/{id}/history{?cursor}',
    ]);
    await expect(client.readResource({ uri: 'freehold://item/nail' })).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'freehold://item/nail' },
    });
    await client.close();
  });

  test('lists the sentences of tools, and gets the words of one with its arguments', async () => {
    const client = await connect(mode);
    const { prompts } = await client.listPrompts();
    expect(prompts).toMatchObject([
      { name: 'order_update', title: 'A sample', arguments: [{ name: 'id', required: true }] },
    ]);
    const { messages } = await client.getPrompt({ name: 'order_update', arguments: { id: 'ord_1' } });
    const text = [
      'Write a note at ord_1, and show it to me first.',
      'The tool for this is order_update, with these arguments: {"id":"ord_1"}. It also needs: note.',
    ].join('\n\n');
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text } }]);
    for (const given of [{}, { id: '' }, { id: 'ord_1', note: 'x' }])
      await expect(client.getPrompt({ name: 'order_update', arguments: given })).rejects.toMatchObject({
        code: -32602,
      });
    await expect(client.getPrompt({ name: 'order_list' })).rejects.toMatchObject({ code: -32602 });
    await client.close();
  });

  test('makes many calls at once', async () => {
    const client = await connect(mode);
    const calls = Array.from({ length: 20 }, () => client.callTool({ name: 'order_list', arguments: {} }));
    for (const result of await Promise.all(calls)) expect(result.isError).toBeUndefined();
    await client.close();
  });

  test('without a token it does not get in', async () => {
    await expect(connect(mode, 'bad')).rejects.toThrow(/401|unauthori[sz]ed|authoriz/i);
  });
});

describe('D-11 DNS rebinding', () => {
  /** The status of a list that is asked for as a browser would that was led here. */
  const statusOf = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest(
        `${server.origin}/api/mcp`,
        {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            authorization: 'Bearer good',
            ...headers,
          },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject);
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
    });

  test('a name and a page are let in together, or not at all', async () => {
    const own = new URL(server.origin).host;
    const port = new URL(server.origin).port;
    expect(await statusOf({ host: own })).toBe(200);
    expect(await statusOf({ host: own, origin: server.origin })).toBe(200);
    expect(await statusOf({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200);
    expect(await statusOf({ host: 'evil.example', origin: 'http://evil.example' })).toBe(403);
    expect(await statusOf({ host: `evil.example:${port}` })).toBe(403);
    expect(await statusOf({ host: own, origin: 'http://evil.example' })).toBe(403);
    expect(await statusOf({ host: own, origin: 'null' })).toBe(403);
    expect(await statusOf({ host: own, origin: `http://127.0.0.1:${Number(port) - 1}` })).toBe(403);
    expect(await statusOf({ host: own, 'sec-fetch-site': 'cross-site' })).toBe(403);
  });
});
