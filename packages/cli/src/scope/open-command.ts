/** `freehold scope open` shows a copy on this machine, in a browser or with one statement. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { cellText } from '../admin/answer-text.ts';
import { contents } from '../admin/read-input.ts';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { tableText } from '../output/table.ts';
import { readCopy, requireCopy } from './copy.ts';
import { makeWindow } from './window.ts';

const ROWS_MAX = 10_000;

export const openCommand = command({
  path: ['scope', 'open'],
  summary: 'Look into a copy of a scope',
  description: [
    'Opens a window in the browser on a copy that freehold scope pull brought: its tables, page by page, and a box for one',
    'statement that reads. It listens on this machine alone, at an unguessable address, until Ctrl-C. The file is',
    'never written. With --query it answers one statement, and ends.',
  ].join('\n'),
  examples: [
    { line: 'freehold scope open acme.sqlite', does: 'in the browser' },
    {
      line: 'freehold scope open acme.sqlite --query "SELECT count(*) FROM jobs" --json',
      does: 'without one',
    },
  ],
  arguments: [{ name: 'file', summary: 'The copy', isFile: true }],
  options: {
    port: { summary: 'The port to listen at; the default is one that is free', placeholder: 'number' },
    query: { summary: 'Answer this statement, and open no window', placeholder: 'text|@file|-' },
  },
  input: z.strictObject({
    file: z.string().min(1, 'must not be empty'),
    port: z
      .string()
      .regex(/^\d{1,5}$/, 'must be a port')
      .transform(Number)
      .pipe(z.number().max(65_535, 'must be a port'))
      .optional(),
    query: z.string().min(1, 'must not be empty').optional(),
  }),
  run: async ({ file, port = 0, query }, world) => {
    const copy = resolve(world.cwd, file);
    await requireCopy(copy);
    if (query !== undefined) return answerQuery(copy, await contents(query, '--query', world), world);
    const { url, closed } = await serve(copy, port, world);
    const opened = world.isTerminal && (await world.openBrowser(url));
    return {
      value: { url, file: copy },
      text: `${opened ? 'The window is open in your browser. If it is not:' : 'Open this address:'}\n${url}\nCtrl-C ends it.`,
      until: closed,
    };
  },
});

async function answerQuery(file: string, sql: string, world: World) {
  const value = await readCopy({ file, sql, params: [], rowsMax: ROWS_MAX }, { signal: world.interrupted });
  const cells = value.rows.map((row) => row.map(cellText));
  const table =
    value.rows.length === 0 ? 'There are no rows.' : tableText(value.columns, cells, world.output.columns);
  const more = value.truncated ? [`There are more rows: these are the first ${ROWS_MAX}.`] : [];
  return { value, text: [table, ...more].join('\n') };
}

/** Listens until Ctrl-C, which is the normal way to close the window. */
async function serve(file: string, port: number, { random, interrupted }: World) {
  const secret = Buffer.from(random(24)).toString('base64url');
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  const host = () => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const window = makeWindow({ file, secret, host });

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    try {
      const headers = new Headers();
      if (incoming.headers.host !== undefined) headers.set('host', incoming.headers.host);
      const method = incoming.method ?? 'GET';
      const url = new URL(incoming.url ?? '/', `http://${host()}`);
      const response = await window(new Request(url, { method, headers }));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch {
      // The request is malformed, or the copy is gone.
      outgoing.writeHead(500, { 'content-type': 'text/plain' }).end('The copy cannot be read.\n');
    }
  };

  const closed = new Promise<void>((done) => {
    server.once('close', done);
  });
  await new Promise<void>((listening, failed) => {
    server.once('listening', listening);
    server.once('error', (cause) =>
      failed(new PlatformError('conflict', `Port ${port} of this machine cannot be used.`, { cause })),
    );
    server.listen(port, '127.0.0.1');
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  interrupted.addEventListener('abort', close, { once: true });
  if (interrupted.aborted) close();
  return { url: `http://${host()}/${secret}/`, closed };
}
