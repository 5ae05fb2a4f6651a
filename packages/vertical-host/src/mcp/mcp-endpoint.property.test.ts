import { PlatformError, problemSchema } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import fc from 'fast-check';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { runs } from '../../../testkit/src/index.ts';

const RUNS = runs(1_000, 300);

import { fakeScope, sampleOperations } from '../../test/fixtures.ts';
import { mountOperations } from '../mount-operations.ts';
import { mcpToolsOf } from './tools.ts';

const TOOLS = mcpToolsOf(sampleOperations).map(({ name }) => name);

const method = fc.oneof(
  { weight: 5, arbitrary: fc.constant('tools/call') },
  fc.constantFrom(
    'tools/list',
    'server/discover',
    'initialize',
    'ping',
    'subscriptions/listen',
    'notifications/initialized',
    'notifications/cancelled',
    'logging/setLevel',
    'completion/complete',
    '__proto__',
    'constructor',
    '',
  ),
  fc.string(),
);

const meta = fc.record(
  {
    'io.modelcontextprotocol/protocolVersion': fc.oneof(
      { weight: 5, arbitrary: fc.constant('2026-07-28') },
      fc.constantFrom('2025-11-25', 'v999', ''),
      fc.jsonValue(),
    ),
    'io.modelcontextprotocol/clientCapabilities': fc.oneof(
      { weight: 5, arbitrary: fc.constant({}) },
      fc.jsonValue(),
    ),
    'freehold/idempotencyKey': fc.oneof(fc.constantFrom('k-1', '', 'a b', '"k"'), fc.jsonValue()),
    'freehold/ifMatch': fc.oneof(fc.constantFrom('evt_1', '*', '"evt_1"', ''), fc.jsonValue()),
    progressToken: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

const fieldName = fc.oneof(
  fc.constantFrom('id', 'limit', 'note', 'order', 'number', 'format', 'constructor'),
  fc.string(),
);

const params = fc.record(
  {
    name: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...TOOLS) },
      fc.constantFrom('toString', 'order/read'),
      fc.jsonValue(),
    ),
    arguments: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom({ id: '7' }, { format: 'csv' }, {}, { id: '7', note: null }) },
      { weight: 2, arbitrary: fc.dictionary(fieldName, fc.jsonValue()) },
      fc.jsonValue(),
    ),
    cursor: fc.jsonValue(),
    requestState: fc.jsonValue(),
    inputResponses: fc.jsonValue(),
    _meta: fc.oneof({ weight: 6, arbitrary: meta }, fc.jsonValue()),
  },
  { requiredKeys: [] },
);

/** Tools with arguments that they take. */
const FITTING = [
  { name: 'order_read', arguments: { id: '7' } },
  { name: 'order_list', arguments: {} },
  { name: 'order_update', arguments: { id: '7', note: null } },
  { name: 'order_export', arguments: { format: 'csv' } },
  { name: 'line_remove', arguments: { order: '7', number: 1 } },
];

/** Calls with everything that a client says; without `_meta`, as one of the older revision says it. */
const wellFormed = fc
  .record({
    id: fc.oneof(fc.integer(), fc.string()),
    fitting: fc.constantFrom(...FITTING),
    conditions: fc.record(
      {
        'freehold/idempotencyKey': fc.oneof(fc.constantFrom('k-1', '"k"', ''), fc.string()),
        'freehold/ifMatch': fc.oneof(fc.constantFrom('evt_1', '*', '"evt_1"'), fc.string()),
      },
      { requiredKeys: [] },
    ),
    older: fc.boolean(),
  })
  .map(({ id, fitting, conditions, older }) => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const _meta = { ...(older ? {} : envelope), ...conditions };
    return { jsonrpc: '2.0', id, method: 'tools/call', params: { ...fitting, _meta } };
  });

/** Messages that are close to right, any JSON at all, and any bytes at all. */
const message = fc.oneof(
  { weight: 5, arbitrary: wellFormed },
  {
    weight: 8,
    arbitrary: fc.record(
      {
        jsonrpc: fc.oneof({ weight: 8, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
        id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
        method: fc.oneof({ weight: 8, arbitrary: method }, fc.jsonValue()),
        params: fc.oneof({ weight: 8, arbitrary: params }, fc.jsonValue()),
      },
      { requiredKeys: [] },
    ),
  },
  fc.jsonValue(),
);

const ascii = fc.string().map((each) => each.replaceAll(/[^\x20-\x7e]/g, ''));
const mostly = (usual: string, others: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, others);

const headers = fc.record(
  {
    'mcp-protocol-version': fc.oneof(fc.constantFrom('2026-07-28', '2025-11-25', 'v999'), ascii),
    'mcp-method': fc.oneof(fc.constantFrom('tools/call', 'tools/list'), ascii),
    'mcp-name': fc.oneof(fc.constantFrom(...TOOLS), ascii),
    'mcp-session-id': ascii,
    'last-event-id': ascii,
    accept: fc.oneof(fc.constantFrom('application/json, text/event-stream', '*/*'), ascii),
    origin: mostly('http://localhost', fc.oneof(fc.constantFrom('http://evil.example', 'null'), ascii)),
    host: mostly('localhost', fc.oneof(fc.constant('evil.example'), ascii)),
    'sec-fetch-site': mostly('same-origin', fc.constant('cross-site')),
    'content-type': mostly('application/json', fc.oneof(fc.constant('text/plain'), ascii)),
  },
  { requiredKeys: [] },
);

/** Whether the headers say what the message says, as those of a client do, or anything. */
const sent = fc
  .record({
    message,
    headers,
    honest: fc.integer({ max: 3, min: 0 }).map((each) => each > 0),
    bytes: fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, fc.uint8Array({ maxLength: 64 })),
  })
  .map((each) => ({ ...each, headers: each.honest ? honestHeaders(each.message) : each.headers }));

function honestHeaders(of: unknown): Record<string, string> {
  const { method: called, params: given } = Object(of) as { method?: unknown; params?: unknown };
  const { name, _meta } = Object(given) as { name?: unknown; _meta?: unknown };
  const version: unknown = Object(_meta)['io.modelcontextprotocol/protocolVersion'];
  const sayable = (key: string, value: unknown) =>
    typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) ? { [key]: value } : {};
  return {
    accept: 'application/json, text/event-stream',
    ...sayable('mcp-protocol-version', version),
    ...sayable('mcp-method', called),
    ...sayable('mcp-name', name),
  };
}

test('D-11 no message makes a 5xx, an answer that is neither JSON-RPC nor a problem, or a call that its schema refuses', async () => {
  let handled = 0;
  const operations: OperationTable = sampleOperations;
  const incidents: unknown[] = [];
  const scope = fakeScope(operations, ({ operation }) => {
    if (operation === 'order/export') throw new PlatformError('conflict', 'There is one already.');
    return { version: 'evt_1', invocation: 'inv_1' };
  });
  const app = new Hono();
  mountOperations(app, operations, () => scope, { onIncident: (error) => void incidents.push(error) });

  await fc.assert(
    fc.asyncProperty(sent, async ({ message, headers, bytes }) => {
      scope.calls.length = 0;
      const response = await app.request('http://localhost/api/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: bytes ? new Uint8Array(bytes) : JSON.stringify(message),
      });
      expect(incidents).toEqual([]);
      expect(response.status).toBeLessThan(500);
      expect(response.headers.get('mcp-session-id')).toBeNull();
      await judgeAnswer(response);
      for (const call of scope.calls) {
        handled += 1;
        expect(operations[call.operation]?.input.safeParse(call.input).success).toBe(true);
        expect(Object.getPrototypeOf(call.input)).toBe(Object.prototype);
        if (call.idempotencyKey !== undefined) expect(call.idempotencyKey).toMatch(/^[\x21-\x7e]{1,255}$/);
        if (call.ifMatch !== undefined) expect(call.ifMatch).toMatch(/^[\x21\x23-\x7e]{1,255}$/);
      }
    }),
    { numRuns: RUNS },
  );
  // The generator reaches handlers, and is not all refusals.
  expect(handled).toBeGreaterThan(RUNS / 20);
}, 30_000);

/** Holds that an answer is one JSON-RPC message, a problem document, or (a notification's) nothing. */
async function judgeAnswer(response: Response): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  const text = await response.text();
  if (type.startsWith('application/problem+json'))
    return void expect(problemSchema.parse(JSON.parse(text)).status).toBe(response.status);
  if (response.status === 202) return void expect(text).toBe('');
  const data = type.startsWith('text/event-stream') ? /^data: (.+)$/m.exec(text)?.[1] : text;
  const answer: unknown = JSON.parse(data ?? '');
  expect(answer).toMatchObject({ jsonrpc: '2.0' });
  expect('result' in Object(answer) !== 'error' in Object(answer)).toBe(true);
}
