/** A principal gives and takes only permissions that it holds (design: kernel, "Permissions"). */
import type { PrincipalId } from '@freehold/contracts';
import { expect, test } from 'vitest';
import type { GrantRequest, OperationContext } from '../src/index.ts';
import { anonymous, guest, onScenario, openShop, owner, packer, scopeId, tenant } from './shop.ts';

type Shop = Awaited<ReturnType<typeof openShop>>;

const box = { type: 'box', id: 'box_1' };
const other = { type: 'box', id: 'box_2' };
const outlives = { code: 'permission_denied', reason: 'grant_outlives_holder' };

/** Runs a piece of work as a principal who may run operations. */
async function as(shop: Shop, who: PrincipalId, work: (ctx: OperationContext) => unknown) {
  return (await shop.run(who, 'test/run', { what: onScenario('as', work) })).output;
}
const grant = (shop: Shop, by: PrincipalId, request: Partial<GrantRequest>) =>
  as(shop, by, (ctx) => ctx.grant({ subject: anonymous, permission: 'box.read', ...request }));
const revoke = (shop: Shop, by: PrincipalId, request: Partial<GrantRequest>) =>
  as(shop, by, (ctx) => ctx.revoke({ subject: anonymous, permission: 'box.read', ...request }));
const proofs = (shop: Shop, principal: PrincipalId, entity = box) =>
  shop.scope.explain({ principal, permission: 'box.read', entity });

test('a grant cannot outlive the expiring one that its giver holds', async () => {
  await using shop = await openShop();
  const until = shop.clock.ms + 1_000;
  await grant(shop, owner, { subject: guest, entity: box, expiresAtMs: until });
  await expect(grant(shop, guest, { entity: box })).rejects.toMatchObject(outlives);
  await expect(grant(shop, guest, { entity: box, expiresAtMs: until + 1 })).rejects.toMatchObject(outlives);
  // Nor can he extend his own, directly or by way of a friend.
  await expect(grant(shop, guest, { subject: guest, entity: box })).rejects.toMatchObject(outlives);
  expect(await proofs(shop, anonymous)).toEqual([]);
  expect(await proofs(shop, guest)).toMatchObject([{ expiresAtMs: until }]);
  await grant(shop, guest, { entity: box, expiresAtMs: until });
  expect(await proofs(shop, anonymous)).toMatchObject([{ expiresAtMs: until }]);
  const denials = await shop.scope.listDenials({ limit: 10 });
  expect(denials.items).toHaveLength(3);
  expect(denials.items[0]).toMatchObject({
    actor: guest,
    permission: 'box.read',
    entity: box,
    operation: 'test/run',
  });
});

test('a grant cannot be wider than the one that its giver holds', async () => {
  await using shop = await openShop();
  await grant(shop, owner, { subject: guest, entity: box });
  for (const request of [{}, { entity: other }]) {
    await expect(grant(shop, guest, request)).rejects.toMatchObject({ code: 'permission_denied' });
  }
  // An entity that looks like the key of a grant for the whole scope is no entity.
  await expect(grant(shop, guest, { entity: { type: '', id: '' } })).rejects.toMatchObject({
    code: 'internal',
  });
  expect((await shop.scope.holdings({ principal: anonymous })).permissions).toEqual([]);
});

test('the longest of several holds counts', async () => {
  await using shop = await openShop();
  const until = shop.clock.ms + 1_000;
  await grant(shop, owner, { subject: guest, expiresAtMs: until });
  await grant(shop, owner, { subject: guest, entity: box });
  await grant(shop, guest, { entity: box });
  await expect(grant(shop, guest, { entity: other })).rejects.toMatchObject(outlives);
});

test('who holds less can neither revoke nor shorten what lasts longer', async () => {
  await using shop = await openShop();
  const until = shop.clock.ms + 1_000;
  await grant(shop, owner, { subject: guest, entity: box, expiresAtMs: until });
  await grant(shop, owner, { entity: box });
  await expect(revoke(shop, guest, { entity: box })).rejects.toMatchObject(outlives);
  await expect(revoke(shop, packer, { entity: box })).rejects.toMatchObject({ code: 'permission_denied' });
  await grant(shop, guest, { entity: box, expiresAtMs: until });
  expect(await proofs(shop, anonymous)).toMatchObject([{ expiresAtMs: null }]);
  // A principal with the whole permission may do both.
  await grant(shop, owner, { entity: box, expiresAtMs: until - 1 });
  expect(await proofs(shop, anonymous)).toMatchObject([{ expiresAtMs: until - 1 }]);
  await revoke(shop, guest, { entity: box });
  expect(await proofs(shop, anonymous)).toEqual([]);
  await revoke(shop, guest, { subject: guest, entity: box });
  expect(await proofs(shop, guest)).toEqual([]);
});

test('an expiry that is no time cannot become a grant without end', async () => {
  await using shop = await openShop();
  for (const expiresAtMs of [Number.NaN, Number.POSITIVE_INFINITY, 1.5, -1, '9' as never]) {
    await expect(grant(shop, owner, { entity: box, expiresAtMs })).rejects.toMatchObject({
      code: 'internal',
    });
  }
  for (const subject of ['', 'bob', 'prn_x', null, {}]) {
    await expect(grant(shop, owner, { subject: subject as never })).rejects.toMatchObject({
      reason: 'subject_malformed',
    });
  }
  expect(await proofs(shop, anonymous)).toEqual([]);
});

test('a role does not end, so a hold that does is no authority to give or take one', async () => {
  await using shop = await openShop();
  const change = { principal: anonymous, role: 'guest', by: packer } as const;
  const refused = { code: 'forbidden', reason: 'role_exceeds_holder' };
  const expiring = { subject: anonymous, permission: 'box.read', expiresAtMs: shop.clock.ms + 1_000 };
  const ref = { tenantId: tenant, scopeId: scopeId as never };
  await shop.host.projectRolesLocal(ref, { reader: ['box.read'] });
  await grant(shop, owner, { ...expiring, subject: packer });
  await expect(shop.scope.assignRole({ ...change, role: 'reader' })).rejects.toMatchObject(refused);
  await shop.scope.assignRole({ ...change, role: 'reader', by: owner });
  await expect(shop.scope.revokeRole({ ...change, role: 'reader' })).rejects.toMatchObject(refused);
  await grant(shop, owner, { subject: packer });
  await shop.scope.revokeRole({ ...change, role: 'reader' });
  expect((await shop.scope.holdings({ principal: anonymous })).roles).toEqual([]);
});

test('a refused role change is a denial that unwound no operation', async () => {
  await using shop = await openShop();
  await shop.scope.assignRole({ principal: guest, role: 'owner', by: packer }).catch(() => undefined);
  expect((await shop.scope.listDenials({ limit: 10 })).items).toMatchObject([
    { actor: packer, permission: 'box.read', operation: null, entity: null },
  ]);
  // spec C-23: the null bucket counts in the total.
  expect(await shop.scope.summarizeDenials({ groupBy: 'operation' })).toMatchObject({
    total: 1,
    buckets: [{ operation: null, count: 1 }],
  });
  expect((await shop.scope.holdings({ principal: guest })).roles).toEqual(['guest']);
});

test('spec C-30: the denial of a role change names the record whose grant would have gone', async () => {
  await using shop = await openShop();
  const ref = { tenantId: tenant, scopeId: scopeId as never };
  await shop.host.projectRolesLocal(ref, { reader: ['box.read'] });
  await grant(shop, owner, { subject: packer });
  await shop.scope.assignRole({ principal: anonymous, role: 'reader', by: owner });
  await grant(shop, owner, { permission: 'bill.write', entity: box });
  const change = { principal: anonymous, role: 'reader', by: packer } as const;
  await expect(shop.scope.revokeRole(change)).rejects.toMatchObject({ reason: 'role_exceeds_holder' });
  expect((await shop.scope.listDenials({ limit: 10 })).items).toMatchObject([
    { actor: packer, permission: 'bill.write', entity: box, operation: null },
  ]);
});

test('a last role goes only with grants that its taker holds too', async () => {
  await using shop = await openShop();
  const last = { principal: guest, role: 'guest' } as const;
  await grant(shop, owner, { subject: guest, entity: box });
  // The packer holds all of the role, but not what the guest was granted.
  await expect(shop.scope.revokeRole({ ...last, by: packer })).rejects.toMatchObject({ code: 'forbidden' });
  expect(await proofs(shop, guest)).toHaveLength(1);
  await shop.scope.revokeRole({ ...last, by: owner });
  expect(await proofs(shop, guest)).toEqual([]);
  // A principal without roles may not give even a role without permissions.
  await expect(shop.scope.revokeRole({ ...last, by: anonymous })).rejects.toMatchObject({
    code: 'forbidden',
  });
});

test('a role that is declared no more can still be taken away, and not given', async () => {
  await using shop = await openShop();
  const ref = { tenantId: tenant, scopeId: scopeId as never };
  const change = { principal: anonymous, role: 'auditor', by: owner } as const;
  await shop.host.projectRolesLocal(ref, { auditor: ['box.read'] });
  await shop.scope.assignRole(change);
  await shop.host.projectRolesLocal(ref, {});
  expect(await shop.scope.holdings({ principal: anonymous })).toEqual({
    roles: ['auditor'],
    permissions: [],
  });
  await shop.scope.revokeRole(change);
  await expect(shop.scope.assignRole(change)).rejects.toMatchObject({ reason: 'unknown_role' });
  await expect(shop.scope.revokeRole(change)).rejects.toMatchObject({ reason: 'unknown_role' });
  // Had the assignment stayed, it would come back with the role.
  await shop.host.projectRolesLocal(ref, { auditor: ['box.read'] });
  expect((await shop.scope.holdings({ principal: anonymous })).permissions).toEqual([]);
});

test('a role is given to a principal, by a principal or the platform', async () => {
  await using shop = await openShop();
  for (const change of [
    { principal: 'bob', role: 'guest', by: 'platform' },
    { principal: guest, role: 'guest', by: 'Platform' },
    { principal: guest, role: '__proto__', by: 'platform' },
    { principal: guest, role: 'guest' },
  ]) {
    await expect(shop.scope.assignRole(change as never)).rejects.toMatchObject({ code: 'validation_failed' });
  }
  await expect(
    shop.scope.assignRole({ principal: guest, role: 'constructor', by: 'platform' }),
  ).rejects.toMatchObject({ reason: 'unknown_role' });
});

test('within one group, a role counts from its own call on, and not at all when that call fails', async () => {
  await using shop = await openShop();
  const list = () => shop.run(anonymous, 'box/list', {});
  const give = (role: string) => shop.scope.assignRole({ principal: anonymous, role, by: owner });
  const take = () => shop.scope.revokeRole({ principal: anonymous, role: 'guest', by: owner });
  const outcomes = await Promise.allSettled([
    list(),
    give('guest'),
    list(),
    shop.scope.revokeRole({ principal: anonymous, role: 'guest', by: anonymous }),
    give('not-declared'),
    list(),
    take(),
    list(),
  ]);
  const statuses = outcomes.map((each) => (each.status === 'fulfilled' ? 'yes' : 'no'));
  // The stranger holds all that a guest holds by then, so the fourth call is his to make; from there on he is refused.
  expect(statuses).toEqual(['no', 'yes', 'yes', 'yes', 'no', 'no', 'yes', 'no']);
});

test('a grant that is rolled back is not there for the next call of the group', async () => {
  await using shop = await openShop();
  const what = onScenario('grant-and-fail', (ctx) => {
    ctx.grant({ subject: anonymous, permission: 'box.list' });
    throw new Error('no');
  });
  const outcomes = await Promise.allSettled([
    shop.run(owner, 'test/run', { what }),
    shop.run(anonymous, 'box/list', {}),
  ]);
  expect(outcomes.map((each) => each.status)).toEqual(['rejected', 'rejected']);
});
