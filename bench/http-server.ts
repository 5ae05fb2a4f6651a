/** One server of the HTTP benchmark, in a process of its own: `ours` or `bare`. Tells its parent its port. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { mountOperations } from '@freehold/vertical-host';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { openBareNotes } from './bare-notes.ts';
import { openNotes } from './notes.ts';

const [kind, directory] = process.argv.slice(2) as ['ours' | 'bare', string];
const server = createServer(kind === 'ours' ? await ours() : bare());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/op/note/write` });

async function ours(): Promise<RequestListener> {
  const { stub, operations } = await openNotes(join(directory, 'http'));
  const app = new Hono();
  mountOperations(app, operations, () => stub);
  return getRequestListener(app.fetch);
}

function bare(): RequestListener {
  const { write } = openBareNotes(join(directory, 'http-bare.sqlite'));
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString('utf8'));
      write(1);
      response.setHeader('content-type', 'application/json').end('{"note":"not_1"}');
    });
  };
}
