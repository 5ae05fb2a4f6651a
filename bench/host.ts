/**
 * The cost of the mounts: an operation as an HTTP route beside the same handler on hono alone and on bare `node:http`,
 * and as an MCP tool beside the official SDK with one trivial tool, and beside its own route. Nothing is stored, so
 * that storage does not hide the difference. Each server is a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import autocannon from 'autocannon';
import { compareRounds, type Row } from './harness.ts';

const CONNECTIONS = 32;
const SECONDS = 2;

const ARGUMENTS = { text: 'a short note', tags: ['new', 'from a bench'] };
const ANSWER = { note: 'not_1', length: ARGUMENTS.text.length };

interface Call {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const ROUTE: Call = {
  path: '/api/op/note/write',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(ARGUMENTS),
};

const REVISION = '2026-07-28';
const TOOL: Call = {
  path: '/api/mcp',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': REVISION,
    'mcp-method': 'tools/call',
    'mcp-name': 'note_write',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'note_write',
      arguments: ARGUMENTS,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }),
};

const WIDGET: Call = {
  path: '/public/notes',
  headers: { 'content-type': 'application/json', origin: 'https://site-999.example' },
  body: JSON.stringify(ARGUMENTS),
};

export async function benchHost(): Promise<Row[]> {
  const [ours, hono, node, sdk] = await Promise.all(['ours', 'hono', 'node', 'sdk'].map(startServer));
  const servers = [ours, hono, node, sdk] as [Server, Server, Server, Server];
  try {
    return await measured(servers);
  } finally {
    for (const { child } of servers) child.kill();
  }
}

async function measured([ours, hono, node, sdk]: [Server, Server, Server, Server]): Promise<Row[]> {
  for (const server of [ours, hono, node]) await requireAnswer(server, ROUTE);
  for (const server of [ours, hono]) await requireAnswer(server, WIDGET);
  for (const server of [ours, sdk]) await requireAnswer(server, TOOL);
  const row = (name: string, against: string, call: Call, peer: readonly [Server, Call], atLeast: number) =>
    compareRounds(
      {
        name,
        against,
        rounds: 3,
        ours: () => callsPerSecond(ours, call),
        peer: () => callsPerSecond(...peer),
      },
      atLeast,
    );
  return [
    await row('operation over HTTP', 'the same handler on hono alone', ROUTE, [hono, ROUTE], 0.67),
    await row('operation over HTTP', 'the same handler on node:http', ROUTE, [node, ROUTE], 0.4),
    await row('operation as an MCP tool', 'a bare server of the SDK', TOOL, [sdk, TOOL], 1),
    await row('operation as an MCP tool', 'the same operation as a route', TOOL, [ours, ROUTE], 0.2),
    await row(
      'public surface, the last of 1,000 origins',
      'hono and its cors()',
      WIDGET,
      [hono, WIDGET],
      0.5,
    ),
  ];
}

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
}

async function startServer(kind: string): Promise<Server> {
  const child = fork(join(import.meta.dirname, 'host-server.ts'), [kind]);
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { child, url };
}

/** Checks that a server does the work before its speed is measured. */
async function requireAnswer({ url }: Server, { path, headers, body }: Call): Promise<void> {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
  const text = await response.text();
  const answer: { readonly result?: { readonly structuredContent?: unknown } } = JSON.parse(text);
  if (!isDeepStrictEqual(answer.result?.structuredContent ?? answer, ANSWER))
    throw new Error(`${url}${path} answered ${text}`);
}

async function callsPerSecond({ url }: Server, { path, headers, body }: Call): Promise<number> {
  const result = await autocannon({
    url: `${url}${path}`,
    method: 'POST',
    headers,
    body,
    connections: CONNECTIONS,
    duration: SECONDS,
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}${path}: ${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.average;
}
