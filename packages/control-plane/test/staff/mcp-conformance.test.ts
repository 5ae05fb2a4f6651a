/**
 * The official conformance suite against the questions of the staff tools. It calls tools by name: each is a destructive
 * operation with a plan here. What it asks beside (other kinds of questions, several at once) no operation asks.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AdminOperation } from '@freehold/directory/declarations';
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Listening, listen } from '../../../vertical-host/test/mcp/listen.ts';
import type { ControlPlaneEnv } from '../../src/http/env.ts';
import { mountMcp } from '../../src/mcp/mcp-endpoint.ts';

const SUITE = join(
  dirname(fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))),
  'dist/index.js',
);

const diagnostic = (name: string): AdminOperation => ({
  name,
  summary: 'Do it',
  tag: 'Test',
  method: 'POST',
  path: `/${name}`,
  input: { query: z.strictObject({ dryRun: z.boolean().optional() }) },
  output: z.object({ said: z.string() }),
  plan: z.object({ dryRun: z.literal(true), things: z.int() }),
  success: 200,
  builder: 'none',
  audit: 'audit',
  destructive: true,
});

const NAMES = ['elicitation', 'request_state', 'tampered_state'].map(
  (name) => `test_input_required_result_${name}`,
);

let server: Listening;
let scratch: string;
beforeAll(async () => {
  const app = new Hono<ControlPlaneEnv>();
  app.use(async (c, next) => {
    c.set('requestId', 'req_test');
    await next();
  });
  mountMcp(app, {
    hostAdmin: {
      authenticate: async () => ({ kind: 'service', id: 'tok_suite', name: 'suite' }),
      perform: async ({ query }) => ({
        status: 200,
        value: query.dryRun === true ? { dryRun: true, things: 3 } : { said: 'state-ok' },
        replayed: false,
      }),
    },
    operations: Object.fromEntries(NAMES.map((name) => [name, diagnostic(name)])),
    origin: () => server.origin,
    hostnames: [],
    onIncident: (error) => {
      throw error;
    },
    admit: () => undefined,
    now: () => Date.now(),
  });
  // The suite knows no tokens.
  server = await listen((request) => {
    request.headers.set('authorization', 'Bearer fh_svc_suite');
    return app.fetch(request);
  });
  scratch = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(scratch, { recursive: true });
});

test.concurrent.each([
  ['request-state', 3],
  ['tampered-state', 2],
  ['missing-input-response', 2],
])('spec C-09: input-required-result-%s passes', async (name, checks) => {
  const scenario = `input-required-result-${name}`;
  const at = ['--url', `${server.origin}/mcp`, '-o', join(scratch, name)];
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
    execFile(
      process.execPath,
      [SUITE, 'server', '--scenario', scenario, ...at],
      { cwd: scratch },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code ?? 1) : 0, out: stdout + stderr }),
    );
  });
  expect(code, out).toBe(0);
  expect(out).toContain(`Passed: ${checks}/${checks}, 0 failed, 0 warnings`);
});
