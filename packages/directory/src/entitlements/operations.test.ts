/** The entitlements of a tenant for staff and its builder (requirement C-03). */
import { expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { EntitlementRecord } from '../admin-operations.ts';

const put = (platform: Platform, tenant: string, key: string, body: Record<string, unknown>, more = {}) =>
  platform.call('entitlements.put', { params: { tenant, key }, body, ...more });
const list = (platform: Platform, tenant: string, more = {}) =>
  platform.value<{ items: EntitlementRecord[]; nextCursor: string | null }>('entitlements.list', {
    params: { tenant },
    ...more,
  });

test('C-03: an entitlement is given, replaced as a whole, and taken away, with one row each', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const expiresAt = '2026-12-01T00:00:00.000Z';
  const first = await put(platform, tenant, 'seats', { quota: 5, plan: 'pro', expiresAt });
  expect(first.value).toEqual({
    tenant,
    key: 'seats',
    plan: 'pro',
    quota: 5,
    expiresAt,
    state: 'active',
    createdAt: '2026-11-21T08:00:00.000Z',
    updatedAt: '2026-11-21T08:00:00.000Z',
    etag: first.etag,
  });
  platform.clock.ms += 60_000;
  const second = await put(platform, tenant, 'seats', { quota: 8 });
  expect(second.value).toMatchObject({
    ...{ plan: null, quota: 8, expiresAt: null },
    createdAt: '2026-11-21T08:00:00.000Z',
    updatedAt: '2026-11-21T08:01:00.000Z',
  });
  expect((await list(platform, tenant)).items).toEqual([second.value]);
  await platform.call('entitlements.delete', { params: { tenant, key: 'seats' } });
  expect((await list(platform, tenant)).items).toEqual([]);

  const target = { tenant, scope: null, vertical: null, other: 'seats' };
  const five = { plan: 'pro', quota: 5, expiresAt };
  const eight = { plan: null, quota: 8, expiresAt: null };
  expect((await platform.adminLog()).slice(1)).toMatchObject([
    { action: 'entitlements.put', target, before: null, after: five },
    { action: 'entitlements.put', target, before: five, after: eight },
    { action: 'entitlements.delete', target, before: eight, after: null },
  ]);
});

test('C-03: the same again changes nothing and writes no row', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const first = await put(platform, tenant, 'seats', { quota: 5 });
  const before = await platform.adminLog();
  expect((await put(platform, tenant, 'seats', { quota: 5 })).value).toEqual(first.value);
  expect(await platform.adminLog()).toEqual(before);
});

test('C-03: one that has expired stays listed as lapsed, and one that never does not', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  await put(platform, tenant, 'seats', { quota: 5, expiresAt: '2026-11-21T08:00:01.000Z' });
  await put(platform, tenant, 'reports', { plan: 'pro' });
  const states = async () => (await list(platform, tenant)).items.map(({ key, state }) => [key, state]);
  platform.clock.ms += 999;
  expect(await states()).toEqual([
    ['reports', 'active'],
    ['seats', 'active'],
  ]);
  platform.clock.ms += 1;
  expect(await states()).toEqual([
    ['reports', 'active'],
    ['seats', 'lapsed'],
  ]);
});

test('C-03: If-Match is honoured by PUT and DELETE', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const params = { tenant, key: 'seats' };
  expect(await refusal(put(platform, tenant, 'seats', { quota: 5 }, { ifMatch: '"1"' }))).toMatchObject({
    status: 412,
  });
  const first = await put(platform, tenant, 'seats', { quota: 5 });
  const second = await put(platform, tenant, 'seats', { quota: 6 }, { ifMatch: `"${first.etag}"` });
  const stale = { ifMatch: `"${first.etag}"` };
  expect(await refusal(put(platform, tenant, 'seats', { quota: 7 }, stale))).toMatchObject({ status: 412 });
  expect(await refusal(platform.call('entitlements.delete', { params, ...stale }))).toMatchObject({
    status: 412,
  });
  await platform.call('entitlements.delete', { params, ifMatch: `"${second.etag}"` });
  expect(await refusal(platform.call('entitlements.delete', { params }))).toMatchObject({
    status: 404,
    reason: 'unknown_entitlement',
  });
  expect(await platform.adminLog()).toHaveLength(4);
});

test.each([
  [{ quota: -1 }],
  [{ quota: 1.5 }],
  [{ quota: '5' }],
  [{ plan: '' }],
  [{ expiresAt: 'tomorrow' }],
  [{ expiresAt: '2026-12-01T00:00:00Z' }],
  [{ seats: 5 }],
])('C-03: %j is refused, and nothing is written', async (body) => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  expect(await refusal(put(platform, tenant, 'seats', body))).toMatchObject({ status: 400 });
  expect((await list(platform, tenant)).items).toEqual([]);
  expect(await platform.adminLog()).toHaveLength(1);
});

test.each(['Seats', 'seats.', '.seats', 'two words', 'a'.repeat(65), ''])(
  'C-03: %j is no key',
  async (key) => {
    const platform = await openPlatform();
    const { id: tenant } = await platform.tenant('acme');
    expect(await refusal(put(platform, tenant, key, {}))).toMatchObject({ status: 400 });
  },
);

test('C-03: a tenant has at most a hundred, and they are read page by page', async () => {
  const platform = await openPlatform();
  const { id: tenant } = await platform.tenant('acme');
  const keys = Array.from({ length: 100 }, (_, i) => `k${String(i).padStart(3, '0')}`);
  for (const key of keys) await put(platform, tenant, key, {});
  expect(await refusal(put(platform, tenant, 'one-more', {}))).toMatchObject({
    status: 409,
    reason: 'too_many_entitlements',
  });
  // An existing one may still be changed.
  expect(await put(platform, tenant, 'k000', { quota: 1 })).toMatchObject({ status: 200 });
  const page = await list(platform, tenant, { query: { limit: 60 } });
  const rest = await list(platform, tenant, { query: { limit: 60, cursor: page.nextCursor } });
  expect([...page.items, ...rest.items].map(({ key }) => key)).toEqual(keys);
});

test('C-03: a builder reads the entitlements of its own tenant, and of no other', async () => {
  const platform = await openPlatform();
  const { id: ours } = await platform.tenant('acme');
  const { id: theirs } = await platform.tenant('globex');
  await put(platform, ours, 'seats', { quota: 5 });
  await put(platform, theirs, 'seats', { quota: 99 });
  const as = platform.builder(ours);
  expect((await list(platform, ours, { as })).items).toMatchObject([{ quota: 5 }]);
  expect(await refusal(list(platform, theirs, { as }))).toMatchObject({ status: 404 });
});

test('C-03: a tenant that is not there has no entitlements, and no empty list of them', async () => {
  const platform = await openPlatform();
  const tenant = 'tnt_01jd0000000000000000000009';
  for (const call of [
    list(platform, tenant),
    put(platform, tenant, 'seats', { quota: 5 }),
    platform.call('entitlements.delete', { params: { tenant, key: 'seats' } }),
  ])
    expect(await refusal(call)).toMatchObject({ status: 404, reason: 'unknown_tenant' });
});
