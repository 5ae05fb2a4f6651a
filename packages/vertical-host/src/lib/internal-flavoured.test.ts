/** Reconciling entitlements (requirement C-03): they reach the host, or the call fails. */
import type { EntitlementProjection, ScopeEntitlements } from '@freehold/contracts';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { type Call, notingHost, SCOPE } from '../../test/management-samples.ts';
import { mountPlatformSurface } from '../mount-platform-surface.ts';

const SECRET = 'the-platform-secret-of-the-tests';
const PROJECTION: EntitlementProjection = {
  revision: 7,
  items: {
    seats: { plan: null, quota: 5, expiresAt: '2026-12-01T00:00:00.000Z' },
    reports: { plan: 'pro', quota: null, expiresAt: null },
  },
};

function surface(takesEntitlements = true) {
  const calls: Call[] = [];
  const reconciled: unknown[] = [];
  const entitlements: ScopeEntitlements = {
    projectEntitlementsLocal: async (ref, projection) =>
      void calls.push(['projectEntitlementsLocal', ref, projection]),
  };
  const app = new Hono();
  mountPlatformSurface(app, {
    platformSecret: () => SECRET,
    hostFor: () => ({ ...notingHost(calls), ...(takesEntitlements ? entitlements : {}) }),
    roles: { manager: ['order.read'] },
    ownerRoleKey: 'owner',
    onReconcile: async ({ request }) => void reconciled.push(request),
    onIncident: () => undefined,
  });
  const reconcile = (body: object): Promise<Response> | Response =>
    app.request('/internal/reconcile', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-platform-secret': SECRET },
      body: JSON.stringify({ ...SCOPE, ...body }),
    });
  return { calls, reconciled, reconcile };
}

test('C-03: entitlements alone are projected, and the roles stay as they are', async () => {
  const { calls, reconciled, reconcile } = surface();
  const response = await reconcile({ entitlements: PROJECTION });
  expect([response.status, await response.json()]).toEqual([
    200,
    { scopeId: SCOPE.scopeId, entitlements: ['reports', 'seats'] },
  ]);
  expect(calls).toEqual([['projectEntitlementsLocal', SCOPE, PROJECTION]]);
  expect(reconciled).toEqual([]);
});

test('C-03: entitlements and roles are projected together', async () => {
  const { calls, reconcile } = surface();
  const roles = { auditor: ['order.read'] };
  const response = await reconcile({ entitlements: PROJECTION, roles });
  expect(await response.json()).toEqual({
    scopeId: SCOPE.scopeId,
    roles: ['auditor'],
    entitlements: ['reports', 'seats'],
  });
  expect(calls.map(([what]) => what)).toEqual(['projectEntitlementsLocal', 'projectRolesLocal']);
});

test('C-03: a host without a place for entitlements refuses them, and goes on taking roles', async () => {
  const { calls, reconcile } = surface(false);
  const refused = await reconcile({ entitlements: PROJECTION, roles: {} });
  expect([refused.status, await refused.json()]).toMatchObject([501, { reason: 'no_entitlements' }]);
  expect(calls).toEqual([]);
  expect((await reconcile({})).status).toBe(200);
});

test.each([
  { revision: -1, items: {} },
  { revision: 1, items: { Seats: { plan: null, quota: 1, expiresAt: null } } },
  { revision: 1, items: { seats: { plan: null, quota: -1, expiresAt: null } } },
  { revision: 1, items: { seats: { plan: null, quota: 1, expiresAt: 'never' } } },
  { revision: 1, items: { seats: { quota: 1 } } },
  { items: {} },
  {
    revision: 1,
    items: Object.fromEntries(
      Array.from({ length: 101 }, (_, i) => [`k${i}`, { plan: null, quota: null, expiresAt: null }]),
    ),
  },
])('C-03: %j is no projection, and reaches no host', async (entitlements) => {
  const { calls, reconcile } = surface();
  expect((await reconcile({ entitlements })).status).toBe(400);
  expect(calls).toEqual([]);
});
