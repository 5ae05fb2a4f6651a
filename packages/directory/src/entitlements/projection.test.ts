/**
 * The particular facts of the projection of entitlements (C-03). The facts of every projection: `projector.test.ts`.
 */
import type { EntitlementProjection } from '@freehold/contracts';
import { beforeEach, expect, test } from 'vitest';
import { openPlatform, type Platform } from '../../test/platform.ts';
import type { OpsFailureRecord, ScopeRecord } from '../admin-operations.ts';

let platform: Platform;
let tenant: string;
let scope: ScopeRecord;

beforeEach(async () => {
  platform = await openPlatform();
  tenant = (await platform.tenant('acme')).id;
  scope = await platform.scope(tenant);
});

const put = (key: string, body: Record<string, unknown> = {}, of = tenant) =>
  platform.call('entitlements.put', { params: { tenant: of, key }, body });
const told = (id: string = scope.id): EntitlementProjection['items'] | undefined =>
  platform.fieldwork.entitled.get(id)?.items;
const failures = async (): Promise<OpsFailureRecord[]> =>
  (await platform.value<{ items: OpsFailureRecord[] }>('ops-failures.list')).items;

const NOTHING = { plan: null, quota: null, expiresAt: null };

test('C-03: the scopes of a tenant hear of its entitlements, and no other is asked, then or later', async () => {
  const { id: other } = await platform.tenant('globex');
  const foreign = await platform.scope(other);
  await put('theirs', {}, other);
  const before = platform.fieldwork.requests.length;
  await put('seats', { quota: 5, expiresAt: '2026-12-01T00:00:00.000Z' });
  await put('reports', { plan: 'pro' });
  expect([told(), told(foreign.id)]).toEqual([
    {
      reports: { ...NOTHING, plan: 'pro' },
      seats: { ...NOTHING, quota: 5, expiresAt: '2026-12-01T00:00:00.000Z' },
    },
    { theirs: NOTHING },
  ]);
  const asked = platform.fieldwork.requests
    .slice(before)
    .map(({ body }) => (body as { scopeId: string }).scopeId);
  expect(new Set(asked)).toEqual(new Set([scope.id]));
  expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 0 });
});

test('C-03: a tenant without entitlements has scopes that are not asked', async () => {
  await put('seats', { quota: 5 });
  const { id: other } = await platform.tenant('globex');
  const before = platform.fieldwork.requests.length;
  await platform.scope(other);
  const asked = platform.fieldwork.requests.slice(before).map(({ url }) => new URL(url).pathname);
  expect(asked).toEqual(['/internal/provision']);
});

test('C-03: the first of several failures of a scope is reported, and no other', async () => {
  platform.fieldwork.fault = () => Promise.reject(new TypeError('connection refused'));
  await put('seats', { quota: 5 });
  platform.clock.ms += 30_000;
  expect(await platform.admin.entitlements.deliver()).toEqual({ delivered: 0, failed: 1 });
  expect(await failures()).toMatchObject([
    { operation: 'entitlements.deliver', tenant, scope: scope.id, reason: 'vertical_unreachable' },
  ]);
});

test('C-03: a vertical without an application, and a host without a place for entitlements, are reported as such', async () => {
  platform.reach = 'none';
  await put('seats', { quota: 5 });
  expect(await failures()).toMatchObject([{ reason: 'no_vertical' }]);
  platform.reach = 'local';
  Reflect.deleteProperty(platform.fieldwork.local, 'projectEntitlementsLocal');
  await put('seats', { quota: 6 });
  expect((await failures())[0]).toMatchObject({ reason: 'no_entitlements' });
  expect(platform.incidents).toEqual([]);
});
