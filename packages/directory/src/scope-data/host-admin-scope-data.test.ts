/** The read ladder: the same answers and the same access rows from a worker and from a co-located host. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import { EVENT } from '../../test/vertical-double.ts';
import type { AdminOperationName } from '../declarations/index.ts';

type Read = {
  name: AdminOperationName;
  path: string;
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  asked: Record<string, string>;
  items: number | null;
  other: string | null;
};

const ORDER = { entityType: 'order', entityId: 'ord_1' };

const READS: Read[] = [
  {
    name: 'history.get',
    path: 'history',
    query: ORDER,
    asked: { ...ORDER, limit: '20' },
    items: 2,
    other: 'order/ord_1',
  },
  {
    name: 'history.get',
    path: 'history',
    query: { ...ORDER, limit: 1 },
    asked: { ...ORDER, limit: '1' },
    items: 1,
    other: 'order/ord_1',
  },
  {
    name: 'history.get',
    path: 'history',
    query: { ...ORDER, entityId: 'ord_2', cursor: 'abc' },
    asked: { ...ORDER, entityId: 'ord_2', limit: '20', cursor: 'abc' },
    items: 0,
    other: 'order/ord_2',
  },
  {
    name: 'cause.get',
    path: 'cause',
    params: { event: EVENT },
    asked: { event: EVENT },
    items: 1,
    other: EVENT,
  },
  {
    name: 'effects.get',
    path: 'effects',
    params: { event: EVENT },
    asked: { event: EVENT },
    items: 3,
    other: EVENT,
  },
  { name: 'denials.list', path: 'denials', asked: { limit: '20' }, items: 1, other: null },
  {
    name: 'denials.list',
    path: 'denials',
    query: { actor: 'prn_1', permission: 'order.complete' },
    asked: { actor: 'prn_1', permission: 'order.complete', limit: '20' },
    items: 1,
    other: null,
  },
  { name: 'denials.summary', path: 'denials/summary', asked: { groupBy: 'actor' }, items: 1, other: null },
  {
    name: 'denials.summary',
    path: 'denials/summary',
    query: { groupBy: 'operation' },
    asked: { groupBy: 'operation' },
    items: 2,
    other: null,
  },
  // spec C-09: migrations are read from whichever side holds them, with no access row
  { name: 'migrations.get', path: 'migrations', asked: {}, items: null, other: null },
];

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const read = ({ name, params, query }: Pick<Read, 'name' | 'params' | 'query'>) =>
    platform.call(name, {
      params: { tenant: scope.tenant, scope: scope.id, ...params },
      ...(query ? { query } : {}),
      as: SERVICE,
    });
  return { platform, scope, read };
}

describe.each(READS)('spec C-05, C-06, C-07, C-10: $name $query', (each) => {
  test('the worker and the co-located host give one answer and one access row', async () => {
    const { platform, scope, read } = await openWithScope();
    const before = platform.fieldwork.requests.length;

    const delegated = await read(each);
    const asked = platform.fieldwork.requests.slice(before);
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
    const url = new URL(asked[0]?.url ?? '');
    expect(url.pathname).toBe(`/internal/${each.path}`);
    expect(url.host).toBe('vertical.internal');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      tenantId: scope.tenant,
      scopeId: scope.id,
      ...each.asked,
    });

    platform.reach = 'local';
    const colocated = await read(each);
    expect(colocated).toEqual(delegated);
    expect(platform.fieldwork.requests).toHaveLength(before + 1);

    const rows = (await platform.accessLog()).map(({ id: _id, requestId: _requestId, ...row }) => row);
    const row = {
      at: '2026-11-21T08:00:00.000Z',
      actor: SERVICE,
      token: SERVICE.id,
      operation: each.name,
      target: { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork', other: each.other },
      items: each.items,
    };
    expect(rows).toEqual(each.items === null ? [] : [row, row]);
    expect(await platform.adminLog({ actor: SERVICE.id })).toEqual([]);
  });

  test('bound to no vertical it is 501 with a diagnosis, and no access row', async () => {
    const { platform, read } = await openWithScope();
    platform.reach = 'none';
    expect(await refusal(read(each))).toMatchObject({
      status: 501,
      code: 'unsupported',
      reason: 'no_vertical',
      message: expect.stringContaining('fieldwork'),
    });
    expect(await platform.accessLog()).toEqual([]);
  });

  test.each([
    [
      'its own refusal passes through',
      async () => problemDocument(new PlatformError('rate_limited', 'Slow down.', { reason: 'busy' })),
      { status: 429, code: 'rate_limited', reason: 'busy', message: 'Slow down.' },
    ],
    [
      'unreachable is 502',
      async () => {
        throw new TypeError('fetch failed');
      },
      { status: 502, code: 'runtime_fault', reason: 'vertical_unreachable' },
    ],
    [
      'an answer that is not JSON is 502',
      async () => new Response('<html>'),
      { status: 502, reason: 'vertical_answer' },
    ],
    ['an answer outside the contract is 502', async () => Response.json({ things: [] }), { status: 502 }],
    ['an unexplained 500 is 502', async () => new Response('oops', { status: 500 }), { status: 502 }],
    [
      'a redirect is not followed',
      async () => new Response(null, { status: 302, headers: { location: 'http://elsewhere.example' } }),
      { status: 502 },
    ],
  ])('a failing worker: %s, and no access row is written', async (_, fault, expected) => {
    const { platform, read } = await openWithScope();
    platform.fieldwork.fault = fault;
    expect(await refusal(read(each))).toMatchObject(expected);
    platform.fieldwork.fault = null;
    expect(await platform.accessLog()).toEqual([]);
  });
});

test('spec C-07: both branches refuse alike when the vertical does not know the scope', async () => {
  const { platform, scope, read } = await openWithScope();
  platform.fieldwork.provisioned.delete(scope.id);
  const delegated = await refusal(read({ name: 'denials.list' }));
  platform.reach = 'local';
  expect(await refusal(read({ name: 'denials.list' }))).toEqual(delegated);
  expect(delegated).toMatchObject({ status: 404, code: 'not_found' });
});

test('a co-located host that breaks its contract is 502 as well', async () => {
  const { platform, read } = await openWithScope();
  platform.reach = 'local';
  Object.assign(platform.fieldwork.local, { listDenialsLocal: async () => ({ things: [] }) });
  expect(await refusal(read({ name: 'denials.list' }))).toMatchObject({ status: 502 });
});

test('spec C-23: the summary by operation echoes groupBy and counts the null bucket', async () => {
  const { read } = await openWithScope();
  const { value } = await read({ name: 'denials.summary', query: { groupBy: 'operation' } });
  expect(value).toMatchObject({
    groupBy: 'operation',
    total: 2,
    buckets: [{}, { operation: null, count: 1 }],
  });
});
