import type { ScopeId, TenantId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { makeRequestLog } from './feeds.ts';

test('a line is one JSON object, without the name of the actor', () => {
  const lines: string[] = [];
  const log = makeRequestLog(
    (line) => lines.push(line),
    () => 0,
  );
  log.onServed({
    tenant: 'tnt_a' as TenantId,
    scope: 'scp_a' as ScopeId,
    vertical: 'fieldwork',
    version: '1.0.0',
    surface: 'app',
    method: 'GET',
    place: 'GET/api/orders/id',
    status: 200,
    durationMs: 5,
    atMs: 0,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    parentSpanId: null,
  });
  log.onRequest({
    requestId: 'req_1',
    clientRequestId: null,
    operation: 'tenants.list',
    method: 'GET',
    status: 200,
    durationMs: 3,
    actor: { kind: 'service', id: 'tok_1', name: 'a name' },
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
  expect(lines.join('')).not.toContain('a name');
});
