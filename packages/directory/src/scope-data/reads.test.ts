/**
 * The read ladder: which transport is asked, with which question, and one access row for either.
 * `test/both-transports.test.ts` shows on a real scope that both answer alike: the double here ignores filters.
 */
import { PlatformError, problemDocument } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, refusal, SERVICE } from '../../test/platform.ts';
import { EVENT, INVOCATION } from '../../test/vertical-double.ts';
import type { AdminOperationName } from '../admin-operations.ts';

type Read = {
  name: AdminOperationName;
  path: string;
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: Record<string, unknown>;
  asked: Record<string, string>;
  /** The body of the question; undefined: it is a GET. */
  sent?: Record<string, unknown>;
  items: number | null;
  other: string | null;
};

const ORDER = { entityType: 'order', entityId: 'ord_1' };

const FILTERS = [{ column: 'id', op: '=', value: 'ord_1' }];

const READS: Read[] = [
  { name: 'tables.list', path: 'tables', asked: {}, items: 1, other: null },
  {
    name: 'tables.read',
    path: 'tables/orders',
    params: { table: 'orders' },
    asked: { filters: '[]', order: 'asc', limit: '20' },
    items: 1,
    other: 'orders',
  },
  {
    name: 'tables.read',
    path: 'tables/orders',
    params: { table: 'orders' },
    query: { filters: JSON.stringify(FILTERS), order: 'desc', limit: 5, cursor: 'tables.read~abc' },
    asked: { filters: JSON.stringify(FILTERS), order: 'desc', limit: '5', cursor: 'abc' },
    items: 1,
    other: 'orders',
  },
  {
    name: 'query.run',
    path: 'query',
    body: { sql: 'SELECT id FROM orders WHERE id = ?', params: ['ord_1'] },
    asked: {},
    sent: { sql: 'SELECT id FROM orders WHERE id = ?', params: ['ord_1'] },
    items: 1,
    other: 'sha256:e7a6dd30ebb1955ded09b5e3da3a3c30309583aa28d3e4aec2797e16e1aa1081',
  },
  { name: 'facets.get', path: 'facets', asked: { groupBy: 'type' }, items: 1, other: null },
  {
    name: 'facets.get',
    path: 'facets',
    query: { groupBy: 'day', entityType: 'order', since: '2026-11-01T00:00:00.000Z' },
    asked: { groupBy: 'day', entityType: 'order', since: '2026-11-01T00:00:00.000Z' },
    items: 1,
    other: null,
  },
  {
    name: 'invocation.get',
    path: 'invocation',
    params: { invocation: INVOCATION },
    asked: { invocation: INVOCATION },
    items: 1,
    other: INVOCATION,
  },
  { name: 'dead-letters.list', path: 'dead-letters', asked: { limit: '20' }, items: 1, other: null },
  {
    name: 'dead-letters.list',
    path: 'dead-letters',
    query: { subscriber: 'invoices', limit: 3 },
    asked: { subscriber: 'invoices', limit: '3' },
    items: 1,
    other: null,
  },
  // spec C-04: the moments that a rewind can reach, with no access row either
  { name: 'bookmarks.list', path: 'bookmarks', asked: { limit: '20' }, items: null, other: null },
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
    query: { ...ORDER, entityId: 'ord_2', cursor: 'history.get~abc' },
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
  const read = ({ name, params, query, body }: Pick<Read, 'name' | 'params' | 'query' | 'body'>) =>
    platform.call(name, {
      params: { tenant: scope.tenant, scope: scope.id, ...params },
      ...(query ? { query } : {}),
      ...(body ? { body } : {}),
      as: SERVICE,
    });
  return { platform, scope, read };
}

describe.each(READS)('spec C-05, C-06, C-07, C-10: $name $query', (each) => {
  test('the worker gets exactly this question, the co-located host the same instead of it, and each read leaves one access row', async () => {
    const { platform, scope, read } = await openWithScope();
    const before = platform.fieldwork.requests.length;

    const delegated = await read(each);
    const asked = platform.fieldwork.requests.slice(before);
    expect(asked.map(({ method }) => method)).toEqual([each.sent ? 'POST' : 'GET']);
    const url = new URL(asked[0]?.url ?? '');
    expect(url.pathname).toBe(`/internal/${each.path}`);
    expect(url.host).toBe('vertical.internal');
    const whose = { tenantId: scope.tenant, scopeId: scope.id };
    expect(Object.fromEntries(url.searchParams)).toEqual(each.sent ? {} : { ...whose, ...each.asked });
    expect(asked[0]?.body).toEqual(each.sent && { ...whose, ...each.sent });

    platform.reach = 'local';
    const colocated = await read(each);
    expect(colocated).toEqual(delegated);
    expect(platform.fieldwork.requests).toHaveLength(before + 1);

    // With both, the worker is asked: the host in this process need not be the one that serves.
    platform.reach = 'both';
    expect(await read(each)).toEqual(delegated);
    expect(platform.fieldwork.requests).toHaveLength(before + 2);

    const rows = (await platform.accessLog()).map(({ id: _id, requestId: _requestId, ...row }) => row);
    const row = {
      at: '2026-11-21T08:00:00.000Z',
      actor: SERVICE,
      token: SERVICE.id,
      operation: each.name,
      target: { tenant: scope.tenant, scope: scope.id, vertical: 'fieldwork', other: each.other },
      items: each.items,
    };
    expect(rows).toEqual(each.items === null ? [] : [row, row, row]);
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

test('spec C-07: of counted events the log says how many buckets were shown, not how many events they hold', async () => {
  const { platform, read } = await openWithScope();
  platform.reach = 'local';
  const { facetEventsLocal } = platform.fieldwork.local;
  Object.assign(platform.fieldwork.local, {
    facetEventsLocal: async (query: Parameters<typeof facetEventsLocal>[0]) => {
      const { buckets, ...rest } = await facetEventsLocal(query);
      return { ...rest, total: 40, buckets: [...buckets, { ...buckets[0], key: 'order.made', count: 39 }] };
    },
  });
  expect((await read({ name: 'facets.get' })).value).toMatchObject({ total: 40 });
  expect(await platform.accessLog()).toMatchObject([{ operation: 'facets.get', items: 2 }]);
});

test('spec C-06: where a worker is bound, its failure is the answer, and the host is not asked', async () => {
  const { platform, read } = await openWithScope();
  platform.reach = 'both';
  platform.fieldwork.fault = () => Promise.reject(new TypeError('fetch failed'));
  for (const each of READS)
    expect(await refusal(read(each)), each.name).toMatchObject({
      status: 502,
      reason: 'vertical_unreachable',
    });
  platform.fieldwork.fault = null;
  expect(await platform.accessLog()).toEqual([]);
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

test('spec C-30: the access log counts the buckets of a summary, and not the events in them', async () => {
  const { platform, read } = await openWithScope();
  platform.reach = 'local';
  const lastAt = '2026-11-21T08:00:00.000Z';
  Object.assign(platform.fieldwork.local, {
    summarizeDenialsLocal: async () => ({
      groupBy: 'operation',
      total: 9,
      buckets: [
        { operation: 'order/complete', count: 8, lastAt },
        { operation: null, count: 1, lastAt },
      ],
    }),
  });
  await read({ name: 'denials.summary', query: { groupBy: 'operation' } });
  expect(await platform.accessLog()).toMatchObject([{ operation: 'denials.summary', items: 2 }]);
});

test('spec C-05: a query says its limits, and the access log which statement it was without its text', async () => {
  const { platform, read } = await openWithScope();
  const body = { sql: "SELECT * FROM people WHERE name = 'Ada Example'" };
  const { value } = await read({ name: 'query.run', body });
  expect(value).toMatchObject({ limits: { rows: 1_000, bytes: 4_194_304, timeMs: 5_000 }, truncated: null });
  const log = JSON.stringify(await platform.accessLog());
  expect(log).not.toContain('Ada');
  expect(log).toContain('sha256:');
});

test('an unknown table is the refusal of whichever side was asked', async () => {
  const { platform, read } = await openWithScope();
  const ask = { name: 'tables.read', params: { table: 'customers' } } as const;
  const delegated = await refusal(read(ask));
  platform.reach = 'local';
  expect(await refusal(read(ask))).toEqual(delegated);
  expect(delegated).toMatchObject({ status: 404, reason: 'unknown_table' });
});

test.each(['..', '.', '', 'a/b', 'a?b', '%2e%2e', 'x'.repeat(129)])(
  'a table called %j is refused before any vertical is asked',
  async (table) => {
    const { platform, read } = await openWithScope();
    const before = platform.fieldwork.requests.length;
    expect(await refusal(read({ name: 'tables.read', params: { table } }))).toMatchObject({ status: 400 });
    expect(platform.fieldwork.requests).toHaveLength(before);
  },
);
