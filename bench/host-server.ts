/**
 * One server of the host benchmark, in a process of its own. All take the same body, judge it by the same schema and
 * give the same answer; only the surroundings differ. Tells its parent its port.
 */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OperationDeclaration } from '@freehold/operations';
import { makePublicActor, mountOperations, mountPublicSurface } from '@freehold/vertical-host';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { z } from 'zod';

const input = z.strictObject({ text: z.string().min(1).max(200), tags: z.array(z.string()).max(10) });
const output = z.strictObject({ note: z.string(), length: z.int() });

/** The work itself. */
function write(given: unknown): z.output<typeof output> {
  const { text } = input.parse(given);
  return { note: 'not_1', length: text.length };
}

const operation: OperationDeclaration<unknown, typeof input, typeof output> = {
  summary: 'Write a note',
  input,
  output,
  permission: 'note.write',
  http: { method: 'POST', path: '/api/op/note/write' },
  run: (_ctx, given) => write(given),
};

const answered = { invocation: 'inv_1', version: null, replayed: false };
const stub = {
  invoke: async (call: { readonly input: unknown }) => ({ ...answered, output: write(call.input) }),
};
/** The last origin is the one that calls. */
const origins = Array.from({ length: 1_000 }, (_, i) => `https://site-${i}.example`);

const KINDS: Readonly<Record<string, () => RequestListener>> = {
  ours: () => {
    const app = new Hono();
    mountOperations(app, { 'note/write': operation }, () => stub);
    mountPublicSurface(app, {
      service: 'desk',
      basePath: '/public',
      resolveActor: () => makePublicActor(stub, origins),
      routes: (route) =>
        route.post('/notes', async (c, { actor, body }) =>
          c.json((await actor.invoke('note/write', body)).output as object),
        ),
    });
    return getRequestListener(app.fetch);
  },
  hono: () => {
    const app = new Hono();
    app.post('/api/op/note/write', async (c) => c.json(write(await c.req.json())));
    app.use('/public/*', cors({ origin: origins }));
    app.post('/public/notes', async (c) => c.json(write(await c.req.json())));
    return getRequestListener(app.fetch);
  },
  node: () => (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const answer = write(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  },
  sdk: () => {
    const handler = createMcpHandler(() => {
      const mcp = new McpServer({ name: 'bare', version: '1.0.0' });
      mcp.registerTool('note_write', { inputSchema: input, outputSchema: output }, (given) => {
        const answer = write(given);
        return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
      });
      return mcp;
    });
    return getRequestListener((request) => handler.fetch(request));
  },
};

const server = createServer(KINDS[process.argv[2] ?? '']?.());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
