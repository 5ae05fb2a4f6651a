/** A scope's health: what its application answers, and that an application that does not answer is a finding. */
import { LIMIT_MAX, PlatformError, problemDocument } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { openPlatform, refusal } from '../../test/platform.ts';
import type { ScopeHealth } from '../admin-operations.ts';

async function openWithScope() {
  const platform = await openPlatform();
  const scope = await platform.scope((await platform.tenant('acme')).id);
  const params = { tenant: scope.tenant, scope: scope.id };
  return { platform, scope, health: () => platform.value<ScopeHealth>('health.get', { params }) };
}

test('spec C-05, C-06, C-07: the worker and the co-located host give one health and one access row', async () => {
  const { platform, scope, health } = await openWithScope();
  const delegated = await health();
  platform.reach = 'local';
  expect(await health()).toEqual(delegated);
  expect(delegated).toEqual({
    status: 'warning',
    lifecycle: 'active',
    checks: [
      { name: 'migrations', status: 'ok', count: 1, more: false, problem: null },
      { name: 'dead-letters', status: 'warning', count: 1, more: false, problem: null },
      { name: 'platform-requests', status: 'ok', count: 0, more: false, problem: null },
    ],
  });
  const rows = (await platform.accessLog()).map(({ id: _id, requestId: _requestId, ...row }) => row);
  expect(rows).toHaveLength(2);
  expect(rows[0]).toEqual(rows[1]);
  expect(rows[0]).toMatchObject({
    operation: 'health.get',
    items: 3,
    target: { scope: scope.id, other: null },
  });
});

test('spec C-05: a full page is marked with more, and a suspended scope says so', async () => {
  const { platform, scope, health } = await openWithScope();
  platform.reach = 'local';
  const asked: unknown[] = [];
  const { deadLettersLocal, listPlatformRequests } = platform.fieldwork.local;
  Object.assign(platform.fieldwork.local, {
    deadLettersLocal: async (query: Parameters<typeof deadLettersLocal>[0]) => {
      asked.push(query.limit);
      return { ...(await deadLettersLocal(query)), nextCursor: 'abc' };
    },
    listPlatformRequests: async (query: Parameters<typeof listPlatformRequests>[0]) => {
      asked.push(query.limit);
      return { ...(await listPlatformRequests(query)), nextCursor: 'abc' };
    },
  });
  const params = { tenant: scope.tenant, scope: scope.id };
  await platform.call('scopes.set-status', { params, body: { status: 'suspended' } });
  const { lifecycle, checks } = await health();
  expect(lifecycle).toBe('suspended');
  expect(checks.map(({ name, more }) => [name, more])).toEqual([
    ['migrations', false],
    ['dead-letters', true],
    ['platform-requests', true],
  ]);
  // As many as one page can hold, so that "more" is rare.
  expect(asked).toEqual([LIMIT_MAX, LIMIT_MAX]);
});

test('spec C-05: one check that fails makes the scope failing, whatever the others warn of', async () => {
  const { platform, health } = await openWithScope();
  platform.reach = 'local';
  Object.assign(platform.fieldwork.local, {
    appliedMigrationsLocal: () =>
      Promise.reject(new PlatformError('unavailable', 'Busy.', { reason: 'busy' })),
  });
  const { status, checks } = await health();
  expect(status).toBe('failing');
  expect(checks).toMatchObject([
    { status: 'failing', problem: { code: 'unavailable', reason: 'busy', detail: 'Busy.' } },
    { status: 'warning', problem: null },
    { status: 'ok', problem: null },
  ]);
});

test.each([
  [
    'that cannot be reached',
    async () => {
      throw new TypeError('fetch failed');
    },
    { code: 'runtime_fault', reason: 'vertical_unreachable' },
  ],
  ['that answers nonsense', async () => new Response('<html>'), { reason: 'vertical_answer' }],
  [
    'that refuses',
    async () => problemDocument(new PlatformError('rate_limited', 'Slow down.')),
    { code: 'rate_limited', reason: null, detail: 'Slow down.' },
  ],
])('an application %s makes the scope failing, and the read is logged', async (_, fault, problem) => {
  const { platform, health } = await openWithScope();
  platform.fieldwork.fault = fault;
  const found = await health();
  platform.fieldwork.fault = null;
  expect(found.status).toBe('failing');
  for (const check of found.checks) expect(check).toMatchObject({ status: 'failing', count: null, problem });
  expect(await platform.accessLog()).toHaveLength(1);
});

test('a scope that its application does not know is failing, with the reason', async () => {
  const { platform, scope, health } = await openWithScope();
  platform.fieldwork.provisioned.delete(scope.id);
  const delegated = await health();
  expect(delegated.checks[0]?.problem).toMatchObject({ code: 'not_found', reason: 'unknown_scope' });
  platform.reach = 'local';
  expect(await health()).toEqual(delegated);
});

test('bound to no vertical it is 501 with a diagnosis, and no access row', async () => {
  const { platform, health } = await openWithScope();
  platform.reach = 'none';
  expect(await refusal(health())).toMatchObject({ status: 501, reason: 'no_vertical' });
  expect(await platform.accessLog()).toEqual([]);
});

test('a bug in a co-located host is not passed off as a finding', async () => {
  const { platform, health } = await openWithScope();
  platform.reach = 'local';
  Object.assign(platform.fieldwork.local, { deadLettersLocal: () => Promise.reject(new TypeError('a bug')) });
  await expect(health()).rejects.toThrow('a bug');
});
