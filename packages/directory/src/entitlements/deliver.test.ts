/** That what a tenant is entitled to reaches its scopes, whatever happens on the way (requirement C-03). */
import type { EntitlementProjection } from '@freehold/contracts';
import { beforeEach, describe, expect, test } from 'vitest';
import { openPlatform, type Platform } from '../../test/platform.ts';
import type { OpsFailureRecord, ScopeRecord } from '../declarations/index.ts';

let platform: Platform;
let tenant: string;
let scope: ScopeRecord;

beforeEach(async () => {
  platform = await openPlatform();
  tenant = (await platform.tenant('acme')).id;
  scope = await platform.scope(tenant);
});

const put = (key: string, body: Record<string, unknown> = {}) =>
  platform.call('entitlements.put', { params: { tenant, key }, body });
const remove = (key: string) => platform.call('entitlements.delete', { params: { tenant, key } });
const told = (id: string = scope.id): EntitlementProjection['items'] | undefined =>
  platform.fieldwork.entitled.get(id)?.items;
const pending = async (): Promise<number> => {
  const answer = await platform.value<{ delivery: { pendingScopes: number } }>('entitlements.list', {
    params: { tenant },
  });
  return answer.delivery.pendingScopes;
};
const failures = async (): Promise<OpsFailureRecord[]> =>
  (await platform.value<{ items: OpsFailureRecord[] }>('ops-failures.list')).items;
const away = async (): Promise<Response> => {
  throw new TypeError('connection refused');
};

const NOTHING = { plan: null, quota: null, expiresAt: null };

describe.each(['bound', 'local'] as const)('a vertical that is %s', (reach) => {
  test('C-03: a change has reached every scope of the tenant, and no other, when it is answered', async () => {
    platform.reach = reach;
    const second = await platform.scope(tenant, 'second');
    const { id: other } = await platform.tenant('globex');
    const foreign = await platform.scope(other);
    await put('seats', { quota: 5, expiresAt: '2026-12-01T00:00:00.000Z' });
    await put('reports', { plan: 'pro' });
    const all = {
      reports: { ...NOTHING, plan: 'pro' },
      seats: { ...NOTHING, quota: 5, expiresAt: '2026-12-01T00:00:00.000Z' },
    };
    expect([told(), told(second.id), told(foreign.id)]).toEqual([all, all, undefined]);
    await remove('seats');
    expect(told(second.id)).toEqual({ reports: all.reports });
    expect(await pending()).toBe(0);
  });
});

test('C-03: a scope that is suspended or archived is told as well, and of another tenant none is asked again', async () => {
  const archived = await platform.scope(tenant, 'archived');
  const { id: other } = await platform.tenant('globex');
  const foreign = await platform.scope(other);
  await platform.call('entitlements.put', { params: { tenant: other, key: 'theirs' }, body: {} });
  for (const [{ id }, status] of [
    [scope, 'suspended'],
    [archived, 'archived'],
  ] as const)
    await platform.call('scopes.set-status', { params: { tenant, scope: id }, body: { status } });
  const before = platform.fieldwork.requests.length;
  await put('seats', { quota: 5 });
  const all = { seats: { ...NOTHING, quota: 5 } };
  expect([told(), told(archived.id), told(foreign.id)]).toEqual([all, all, { theirs: NOTHING }]);
  const asked = platform.fieldwork.requests
    .slice(before)
    .map(({ body }) => (body as { scopeId: string }).scopeId);
  expect(asked.sort()).toEqual([scope.id, archived.id].sort());
  // Nor later: there is nothing left to tell.
  expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
});

test('C-03: a scope that is made later knows what its tenant has; one of a tenant that has nothing is not asked', async () => {
  await put('seats', { quota: 5 });
  const later = await platform.scope(tenant, 'later');
  expect(told(later.id)).toEqual({ seats: { ...NOTHING, quota: 5 } });
  const { id: other } = await platform.tenant('globex');
  const before = platform.fieldwork.requests.length;
  await platform.scope(other);
  const asked = platform.fieldwork.requests.slice(before).map(({ url }) => new URL(url).pathname);
  expect(asked).toEqual(['/internal/provision']);
});

test('C-03: a scope that was taken back in time is told again what is true now', async () => {
  await put('seats', { quota: 5 });
  const params = { tenant, scope: scope.id };
  const { id: snapshot } = await platform.value<{ id: string }>('snapshots.take', { params, body: {} });
  await remove('seats');
  // What was restored still knows of the seats.
  platform.reach = 'both';
  for (const again of [
    () => platform.call('scopes.restore', { params, body: { from: { snapshot } } }),
    () => platform.call('scopes.rewind', { params, body: { bookmark: 'bm_1' } }),
  ]) {
    platform.fieldwork.entitled.set(scope.id, { revision: 1, items: { seats: { ...NOTHING, quota: 5 } } });
    await again();
    await expect.poll(() => told()).toEqual({});
  }
});

test('C-03: an answer that was lost while a scope was restored does not leave it with what it had', async () => {
  await put('seats', { quota: 5 });
  await remove('seats');
  platform.fieldwork.fault = away;
  const call = platform.call('scopes.rewind', {
    params: { tenant, scope: scope.id },
    body: { bookmark: 'bm_1' },
  });
  await expect(call).rejects.toMatchObject({ reason: 'outcome_unknown' });
  platform.fieldwork.fault = null;
  platform.fieldwork.entitled.set(scope.id, { revision: 1, items: { seats: { ...NOTHING, quota: 5 } } });
  // Not before the rewind is certainly over, or it would be forgotten again.
  expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
  platform.clock.ms += 5 * 60_000;
  expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 1, failed: 0 });
  expect(told()).toEqual({});
});

describe('C-03: a scope that cannot be reached', () => {
  test('does not hold the change up, is counted and reported once, and is told when it is back', async () => {
    platform.fieldwork.fault = away;
    expect(await put('seats', { quota: 5 })).toMatchObject({ status: 200 });
    expect(await pending()).toBe(1);
    expect(await failures()).toMatchObject([
      { operation: 'entitlements.deliver', tenant, scope: scope.id, reason: 'vertical_unreachable' },
    ]);

    // Not at once: it is tried after half a minute, then after a minute.
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
    platform.clock.ms += 30_000;
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 1 });
    expect(await failures()).toHaveLength(1);
    platform.fieldwork.fault = null;
    platform.clock.ms += 59_999;
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
    platform.clock.ms += 1;
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 1, failed: 0 });
    expect([told(), await pending()]).toEqual([{ seats: { ...NOTHING, quota: 5 } }, 0]);
  });

  test('is tried at least every hour, however long it stays away', async () => {
    platform.fieldwork.fault = away;
    await put('seats', { quota: 5 });
    for (let round = 0; round < 12; round++) {
      platform.clock.ms += 60 * 60_000;
      expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 1 });
    }
    platform.clock.ms += 60 * 60_000 - 1;
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
  });

  test('is told by the next process when this one ends', async () => {
    platform.fieldwork.fault = away;
    await put('seats', { quota: 5 });
    await platform.tamper(() => undefined);
    platform.fieldwork.fault = null;
    platform.clock.ms += 60_000;
    expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 1, failed: 0 });
    expect(told()).toEqual({ seats: { ...NOTHING, quota: 5 } });
  });

  test.each([
    ['one that answers without having understood', { scopeId: 'self', roles: [] }],
    ['one that answers about another scope', { scopeId: 'scp_01jd0000000000000000000009', entitlements: [] }],
  ])('so is %s', async (_, answer) => {
    const scopeId = answer.scopeId === 'self' ? scope.id : answer.scopeId;
    platform.fieldwork.fault = async () => Response.json({ ...answer, scopeId });
    await put('seats', { quota: 5 });
    expect(await failures()).toMatchObject([{ reason: 'vertical_answer' }]);
  });

  test('so is a vertical that nobody answers for, and a host without a place for them', async () => {
    platform.reach = 'none';
    await put('seats', { quota: 5 });
    expect(await failures()).toMatchObject([{ reason: 'no_vertical' }]);
    platform.reach = 'local';
    Reflect.deleteProperty(platform.fieldwork.local, 'projectEntitlementsLocal');
    await put('seats', { quota: 6 });
    expect((await failures())[0]).toMatchObject({ reason: 'no_entitlements' });
    expect(platform.incidents).toEqual([]);
  });
});

test('C-03: while a scope is being told, nobody else tells it, and what is newer follows', async () => {
  const answered = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const seen: string[][] = [];
  platform.fieldwork.fault = async (request) => {
    const { entitlements } = (await request.json()) as { entitlements: EntitlementProjection };
    seen.push(Object.keys(entitlements.items));
    begun.resolve();
    if (seen.length === 1) await answered.promise;
    return Response.json({ scopeId: scope.id, entitlements: Object.keys(entitlements.items) });
  };
  const first = put('seats');
  await begun.promise;
  await put('reports');
  expect(seen).toEqual([['seats']]);
  answered.resolve();
  await first;
  expect(seen).toEqual([['seats'], ['reports', 'seats']]);
  expect(await pending()).toBe(0);
});

test('C-03: forty scopes are all told, the first twenty before the answer', async () => {
  for (let i = 0; i < 39; i++) await platform.scope(tenant, `s${i}`);
  await put('seats');
  expect(platform.fieldwork.entitled.size).toBeGreaterThanOrEqual(20);
  await expect.poll(pending).toBe(0);
  expect(platform.fieldwork.entitled.size).toBe(40);
});
