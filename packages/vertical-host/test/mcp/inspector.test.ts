/** The official inspector’s command line against the mount, as a builder uses it to look at a vertical’s tools. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { mountOperations } from '../../src/mount-operations.ts';
import { declare, fakeScope } from '../fixtures.ts';
import { type Listening, listen } from './listen.ts';

const TIMEOUT_MS = 60_000;

const operations = {
  'order/read': declare({
    input: z.strictObject({ id: z.string(), lines: z.int().max(50).default(10) }),
    output: z.strictObject({ id: z.string(), title: z.string() }),
    http: { method: 'GET', path: '/api/orders/:id' },
  }),
  'order/rename': declare({
    input: z.strictObject({ id: z.string(), title: z.string() }),
    output: z.strictObject({ id: z.string(), title: z.string() }),
    http: { method: 'PATCH', path: '/api/orders/:id' },
  }),
};

let server: Listening;
let home: string;
beforeAll(async () => {
  const app = new Hono();
  const scope = fakeScope(operations, ({ operation, input }) => {
    const { id, title = 'Roof' } = input as { id: string; title?: string };
    if (operation === 'order/rename' && title === 'taken')
      throw new PlatformError('conflict', 'There is an order of that title.', { reason: 'title_taken' });
    return { output: { id, title } };
  });
  mountOperations(app, operations, (c) => {
    if (c.req.header('authorization') !== 'Bearer good')
      throw new PlatformError('unauthenticated', 'Sign in first.');
    return scope;
  });
  server = await listen((request) => app.fetch(request));
  home = await mkdtemp(join(tmpdir(), 'mcp-inspector-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

/** One line of the inspector, without settings and without a terminal. */
function inspect(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const program = join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), LAUNCHER);
  const line = ['--cli', `${server.origin}/api/mcp`, '--transport', 'http', '--stored-auth-only', ...args];
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: home };
    execFile(process.execPath, [program, ...line], { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
}
const PACKAGE = '@modelcontextprotocol/inspector/package.json';
const LAUNCHER = 'clients/launcher/build/index.js';
const asUser = (...args: string[]) => inspect('--header', 'authorization: Bearer good', ...args);

describe('D-11 the inspector', { timeout: TIMEOUT_MS }, () => {
  test('lists the tools, and finds no fault with their schemas', async () => {
    const { exitCode, stdout, stderr } = await asUser('--method', 'tools/list', '--strict');
    expect(exitCode, stderr).toBe(0);
    const { tools } = JSON.parse(stdout);
    expect(tools).toMatchObject([
      { name: 'order_read', annotations: { readOnlyHint: true } },
      { name: 'order_rename', annotations: { readOnlyHint: false } },
    ]);
  });

  test('calls one, and gets its structured answer', async () => {
    const { exitCode, stdout, stderr } = await asUser(
      ...['--method', 'tools/call', '--tool-name', 'order_rename'],
      ...['--tool-args-json', '{"id":"7","title":"Gutter"}'],
    );
    expect(exitCode, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { id: '7', title: 'Gutter' } });
  });

  test('shows a refusal as the problem that it is', async () => {
    const { stdout } = await asUser(
      ...['--method', 'tools/call', '--tool-name', 'order_rename'],
      ...['--tool-args-json', '{"id":"7","title":"taken"}'],
    );
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ isError: true });
    expect(JSON.parse(result.content.at(-1).text)).toMatchObject({ code: 'conflict', reason: 'title_taken' });
  });

  test('is not let in without a token, and learns nothing', async () => {
    const { exitCode, stdout } = await inspect('--method', 'tools/list');
    expect(exitCode).not.toBe(0);
    expect(stdout).not.toContain('order_read');
  });
});
