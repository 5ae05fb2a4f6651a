import type { PrincipalId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import { anonymous, guest, onScenario, openShop, owner, packer, scopeId, tenant } from './shop.ts';

const pack = async (shop: Awaited<ReturnType<typeof openShop>>, label = 'x') =>
  ((await shop.run(owner, 'box/pack', { label })).output as { box: string }).box;

test('a grant on one record opens that record and no other', async () => {
  await using shop = await openShop();
  const [mine, other] = [await pack(shop), await pack(shop)];
  await shop.run(owner, 'box/share', { box: mine, with: guest });
  expect((await shop.run(guest, 'box/read', { box: mine })).output).toMatchObject({ state: 'packed' });
  await expect(shop.run(guest, 'box/read', { box: other })).rejects.toMatchObject({
    code: 'permission_denied',
  });
  expect((await shop.run(guest, 'box/list', {})).output).toEqual({ reach: [mine] });
  expect((await shop.run(owner, 'box/list', {})).output).toEqual({ reach: 'all' });
});

test('a grant ends at its expiry and when it is revoked', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  await shop.run(owner, 'box/share', { box, with: guest, until: shop.clock.ms + 1_000 });
  shop.clock.ms += 999;
  await shop.run(guest, 'box/read', { box });
  shop.clock.ms += 1;
  await expect(shop.run(guest, 'box/read', { box })).rejects.toMatchObject({ code: 'permission_denied' });
  await shop.run(owner, 'box/share', { box, with: guest });
  await shop.run(guest, 'box/read', { box });
  await shop.run(owner, 'box/unshare', { box, with: guest });
  await expect(shop.run(guest, 'box/read', { box })).rejects.toMatchObject({ code: 'permission_denied' });
});

test('a principal grants only what it holds', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  // The packer may run the sharing operation, but not read boxes himself.
  await expect(shop.run(packer, 'box/share', { box, with: guest })).rejects.toMatchObject({
    code: 'permission_denied',
  });
  expect(
    (await shop.scope.explain({ principal: guest, permission: 'box.read', entity: { type: 'box', id: box } }))
      .length,
  ).toBe(0);
});

test('the proof names the role or the grant that let the caller through', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  await shop.run(owner, 'box/share', { box, with: owner });
  const entity = { type: 'box', id: box };
  expect(await shop.scope.explain({ principal: owner, permission: 'box.read', entity })).toEqual([
    { by: 'role', role: 'owner' },
    { by: 'grant', entity, expiresAtMs: null },
  ]);
  const what = onScenario('proof', (ctx) => ctx.check('box.read', entity));
  expect((await shop.run(owner, 'test/run', { what })).output).toEqual({ by: 'role', role: 'owner' });
});

test('an operation that asks for an undeclared permission fails loudly', async () => {
  await using shop = await openShop();
  const what = onScenario('undeclared', (ctx) => ctx.can('box.explode'));
  await expect(shop.run(owner, 'test/run', { what })).rejects.toMatchObject({ code: 'internal' });
  expect(String(shop.incidents[0])).toContain('box.explode');
});

test('a role is given only by a principal who holds all of it, or by the platform', async () => {
  await using shop = await openShop();
  await shop.scope.assignRole({ principal: anonymous, role: 'packer', by: owner });
  await expect(shop.scope.assignRole({ principal: guest, role: 'owner', by: packer })).rejects.toMatchObject({
    code: 'forbidden',
    reason: 'role_exceeds_holder',
  });
  await expect(shop.scope.assignRole({ principal: guest, role: 'king', by: owner })).rejects.toMatchObject({
    reason: 'unknown_role',
  });
  expect(await shop.scope.holdings({ principal: guest })).toEqual({
    roles: ['guest'],
    permissions: ['box.list'],
  });
});

test('a revoked role ends at once, and takes the grants of a principal without a role with it', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  await shop.run(owner, 'box/share', { box, with: guest });
  await shop.scope.revokeRole({ principal: guest, role: 'guest', by: owner });
  await expect(shop.run(guest, 'box/list', {})).rejects.toMatchObject({ code: 'permission_denied' });
  await expect(shop.run(guest, 'box/read', { box })).rejects.toMatchObject({ code: 'permission_denied' });
});

test('roles that are rolled back are not remembered', async () => {
  await using shop = await openShop();
  // Both calls share one group: the second reads after the first was rolled back.
  const [failed, after] = await Promise.allSettled([
    shop.scope.assignRole({ principal: anonymous, role: 'not-declared', by: 'platform' }),
    shop.run(anonymous, 'box/list', {}),
  ]);
  expect([failed.status, after.status]).toEqual(['rejected', 'rejected']);
});

test('the platform projects roles beside the manifest’s own, and cannot change those', async () => {
  await using shop = await openShop();
  const ref = { tenantId: tenant, scopeId: scopeId as never };
  await shop.host.projectRolesLocal(ref, { auditor: ['box.read', 'box.list'], guest: ['box.pack'] });
  await shop.scope.assignRole({ principal: anonymous as PrincipalId, role: 'auditor', by: 'platform' });
  expect((await shop.scope.holdings({ principal: anonymous })).permissions).toEqual(['box.list', 'box.read']);
  expect((await shop.scope.holdings({ principal: guest })).permissions).toEqual(['box.list']);
  await expect(shop.host.projectRolesLocal(ref, { auditor: ['box.explode'] })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  expect((await shop.scope.holdings({ principal: anonymous })).permissions).toEqual(['box.list', 'box.read']);
});

// spec C-23, C-30: refusals that unwound no operation form one null bucket.
test('a check outside of operations answers the proof, or refuses with a denial row of its own', async () => {
  await using shop = await openShop();
  expect(await shop.scope.check({ principal: owner, permission: 'box.read' })).toEqual({
    by: 'role',
    role: 'owner',
  });
  await expect(shop.scope.check({ principal: guest, permission: 'box.pack' })).rejects.toMatchObject({
    code: 'permission_denied',
    reason: 'box_pack',
    message: expect.stringContaining('packing boxes'),
  });
  expect((await shop.scope.listDenials({ limit: 10 })).items).toMatchObject([
    { actor: guest, permission: 'box.pack', operation: null, entity: null },
  ]);
  expect(await shop.scope.summarizeDenials({ groupBy: 'operation' })).toMatchObject({
    total: 1,
    buckets: [{ operation: null, count: 1 }],
  });
  const entity = { type: 'box', id: 'box_1' };
  await shop.scope.check({ principal: guest, permission: 'box.pack', entity }).catch(() => undefined);
  expect((await shop.scope.listDenials({ limit: 1 })).items).toMatchObject([{ operation: null, entity }]);
  await expect(shop.scope.check({ principal: owner, permission: 'box.explode' })).rejects.toMatchObject({
    code: 'internal',
  });
});

test('roles are set all at once: of many changes at the same time one wins, and no principal is left without', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  await shop.run(owner, 'box/share', { box, with: guest });
  await Promise.all(
    ['packer', 'guest', 'packer', 'guest', 'packer'].map((role) =>
      shop.scope.setRoles({ principal: guest, roles: [role], by: owner }),
    ),
  );
  expect((await shop.scope.holdings({ principal: guest })).roles).toEqual(['packer']);
  // The grants stay, for at no moment was there no role.
  await shop.run(guest, 'box/read', { box });
});

test('setting roles keeps to what the giver holds, and taking the last takes the grants', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  await shop.run(owner, 'box/share', { box, with: guest });
  await expect(shop.scope.setRoles({ principal: guest, roles: ['owner'], by: packer })).rejects.toMatchObject(
    {
      reason: 'role_exceeds_holder',
    },
  );
  await expect(shop.scope.setRoles({ principal: owner, roles: ['guest'], by: packer })).rejects.toMatchObject(
    {
      reason: 'role_exceeds_holder',
    },
  );
  await expect(shop.scope.setRoles({ principal: guest, roles: ['king'], by: owner })).rejects.toMatchObject({
    reason: 'unknown_role',
  });
  // The packer holds all of the guest's role, and not the grant that would go with the last one.
  await expect(shop.scope.setRoles({ principal: guest, roles: [], by: packer })).rejects.toMatchObject({
    reason: 'role_exceeds_holder',
  });
  await shop.run(guest, 'box/read', { box });
  await shop.scope.setRoles({ principal: guest, roles: [], by: owner });
  expect((await shop.scope.holdings({ principal: guest })).roles).toEqual([]);
  await expect(shop.run(guest, 'box/read', { box })).rejects.toMatchObject({ code: 'permission_denied' });
});

test('holdings name, on request, the permissions that a principal has on single records', async () => {
  await using shop = await openShop();
  const box = await pack(shop);
  const holdings = () => shop.scope.holdings({ principal: anonymous, records: true });
  expect(await holdings()).toEqual({ roles: [], permissions: [], recordPermissions: [] });
  await shop.run(owner, 'box/share', { box, with: anonymous, until: shop.clock.ms + 1_000 });
  expect(await holdings()).toEqual({ roles: [], permissions: [], recordPermissions: ['box.read'] });
  expect(await shop.scope.holdings({ principal: anonymous })).not.toHaveProperty('recordPermissions');
  shop.clock.ms += 1_000;
  expect(await holdings()).toMatchObject({ recordPermissions: [] });
});
