import type { ScopeId, TenantId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeRequestLog, observed, type ServedRequest, servedNode, type VerticalFetch } from './serving.ts';

const node = {
  tenant: 'tnt_a' as TenantId,
  scope: 'scp_a' as ScopeId,
  vertical: 'fieldwork',
  version: '1.0.0',
  surface: 'app',
  origin: 'http://acme.localhost',
};

function open(fetch: VerticalFetch) {
  const served: ServedRequest[] = [];
  let nowMs = 1_000;
  const wrapped = observed(fetch, {
    now: () => {
      nowMs += 5;
      return nowMs;
    },
    onServed: (each) => void served.push(each),
  });
  const ask = async (path = '/orders?token=hush', init: RequestInit = {}) =>
    wrapped(new Request(`http://acme.localhost${path}`, init), { node, clientAddress: null });
  return { ask, served };
}

test('a request is told once, with whose it was and what came of it, and the code inside knows whose it is', async () => {
  let inside: unknown;
  const { ask, served } = open(async () => {
    await Promise.resolve();
    inside = servedNode();
    return new Response('made', { status: 201 });
  });
  expect((await ask('/orders', { method: 'POST' })).status).toBe(201);
  const { tenant, scope, vertical, version, surface } = node;
  expect(served).toEqual([
    { tenant, scope, vertical, version, surface, method: 'POST', status: 201, durationMs: 5 },
  ]);
  expect(inside).toMatchObject({ tenant, scope });
  expect(servedNode()).toBeNull();
});

test('what an application throws is a 500 that goes on', async () => {
  const { ask, served } = open(() => {
    throw new Error('our bug');
  });
  await expect(ask()).rejects.toThrow('our bug');
  expect(served).toMatchObject([{ status: 500 }]);
});

test('the management of a vertical is nobody’s request', async () => {
  const served: ServedRequest[] = [];
  const wrapped = observed(() => new Response('ok'), {
    now: () => 0,
    onServed: (each) => void served.push(each),
  });
  await wrapped(new Request('http://fieldwork.internal/'), { node: null, clientAddress: null });
  expect(served).toEqual([]);
});

test('a line is one JSON object, without anything that the sender wrote in the address', async () => {
  const lines: string[] = [];
  const log = makeRequestLog(
    (line) => lines.push(line),
    () => 0,
  );
  const { ask, served } = open(() => new Response('ok'));
  await ask();
  const [first] = served;
  if (first) log.onServed(first);
  log.onRequest({
    requestId: 'req_1',
    operation: 'tenants.list',
    method: 'GET',
    status: 200,
    durationMs: 3,
    actor: { kind: 'service', id: 'tok_1', name: 'the name of somebody' },
  });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ kind: 'application', tenant: 'tnt_a', status: 200 }),
    {
      level: 'info',
      at: '1970-01-01T00:00:00.000Z',
      kind: 'control-plane',
      requestId: 'req_1',
      operation: 'tenants.list',
      method: 'GET',
      status: 200,
      durationMs: 3,
      actor: { kind: 'service', id: 'tok_1' },
    },
  ]);
  expect(lines.join('')).not.toMatch(/hush|orders|somebody/);
});
