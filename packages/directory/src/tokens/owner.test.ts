/** A service token never exceeds its owner's present rights (design: control-plane, "Actors"). */
import { describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal, SERVICE } from '../../test/platform.ts';
import { sessionOf, staffMember, staffToken } from '../../test/staff.ts';
import type { Actor } from '../access/actors.ts';
import type { ServiceTokenRecord, StaffRole } from '../admin-operations.ts';

type Made = { token: ServiceTokenRecord; secret: string };

const signedIn = async (platform: Platform, login: string): Promise<Actor> => {
  const actor = await platform.admin.staff.session(sessionOf(login));
  if (!actor) throw new Error('there is no session');
  return actor;
};
const shown = async (platform: Platform, secret: string): Promise<Actor> => {
  const actor = await platform.admin.authenticate(secret);
  if (!actor) throw new Error('the token does not work');
  return actor;
};
const create = (platform: Platform, as: Actor, name = 'nightly') =>
  platform.value<Made>('service-tokens.create', { body: { name }, as });
const rotate = (platform: Platform, token: string, as: Actor) =>
  platform.value<Made & { replaced: ServiceTokenRecord }>('service-tokens.rotate', {
    params: { token },
    body: {},
    as,
  });
const list = async (platform: Platform, query = {}) =>
  (await platform.value<{ items: ServiceTokenRecord[] }>('service-tokens.list', { query })).items;
const setRole = (platform: Platform, login: string, role: StaffRole) =>
  platform.call('staff.put', { body: { email: `${login}@example.test`, name: login, role }, as: SERVICE });
const remove = (platform: Platform, member: string, as = SERVICE) =>
  platform.call('staff.remove', { params: { member }, as });

/** A token that Eve, an admin, made. */
async function withEve() {
  const platform = await openPlatform();
  const { id: eve } = await staffMember(platform, { login: 'eve', role: 'admin' });
  return { platform, eve, ...(await create(platform, await signedIn(platform, 'eve'))) };
}

describe('a service token that a member of the staff made', () => {
  test('is theirs, and stands for a service with the role that they have', async () => {
    const { platform, eve, token, secret } = await withEve();
    expect(token).toMatchObject({ owner: eve, role: 'admin', status: 'active', createdBy: eve });
    expect(await platform.admin.authenticate(secret)).toEqual({
      kind: 'service',
      id: token.id,
      name: 'nightly',
      owner: eve,
      role: 'admin',
    });
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'service-tokens.create',
      after: { owner: eve },
    });
  });

  test('works no more once they were removed, and not when they are put back', async () => {
    const { platform, eve, token, secret } = await withEve();
    await remove(platform, eve);
    expect(await platform.admin.authenticate(secret)).toBeNull();
    expect(await list(platform)).toMatchObject([{ id: token.id, role: null, status: 'suspended' }]);
    await staffMember(platform, { login: 'eve', role: 'admin' });
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('may with the next call what their role at that moment allows, and no more', async () => {
    const { platform, secret } = await withEve();
    const tenant = (slug: string, as: Actor) =>
      platform.call('tenants.create', { body: { slug, name: slug }, as });
    await setRole(platform, 'eve', 'operator');
    const operator = await shown(platform, secret);
    expect((await tenant('first', operator)).status).toBe(201);
    expect(await refusal(create(platform, operator))).toMatchObject({
      status: 403,
      reason: 'role_insufficient',
    });
    await setRole(platform, 'eve', 'auditor');
    const auditor = await shown(platform, secret);
    expect((await platform.call('tenants.list', { as: auditor })).status).toBe(200);
    expect(await refusal(tenant('second', auditor))).toMatchObject({ reason: 'role_insufficient' });
    expect(await list(platform)).toMatchObject([{ role: 'auditor', status: 'active' }]);
    await setRole(platform, 'eve', 'admin');
    expect((await create(platform, await shown(platform, secret))).token.role).toBe('admin');
  });

  test('makes and replaces tokens that belong to its owner, and end with them', async () => {
    const { platform, eve, secret } = await withEve();
    const child = await create(platform, await shown(platform, secret), 'child');
    const grandchild = await create(platform, await shown(platform, child.secret), 'grandchild');
    const successor = await rotate(platform, child.token.id, await shown(platform, child.secret));
    for (const { token } of [child, grandchild, successor]) expect(token.owner).toBe(eve);
    await remove(platform, eve);
    for (const made of [child, grandchild, successor])
      expect(await platform.admin.authenticate(made.secret)).toBeNull();
  });

  test('sees and revokes the tokens of programs as its owner does, and removes the only admin as little', async () => {
    const { platform, eve, secret } = await withEve();
    const members = async (as: Actor) =>
      (
        await platform.value<{ items: { member: string }[] }>('staff-tokens.list', { as, query: {} })
      ).items.map(({ member }) => member);
    const { id: bob } = await staffMember(platform, { login: 'bob', role: 'operator' });
    const [hers, his] = [await staffToken(platform, eve), await staffToken(platform, bob)];
    const admin = await shown(platform, secret);
    expect((await members(admin)).sort()).toEqual([eve, bob].sort());
    expect(await refusal(remove(platform, eve, admin))).toMatchObject({ status: 409, reason: 'last_admin' });
    await setRole(platform, 'eve', 'auditor');
    const auditor = await shown(platform, secret);
    expect(await members(auditor)).toEqual([eve]);
    const revoke = (token: string) =>
      platform.call('staff-tokens.revoke', { params: { token }, as: auditor });
    expect(await refusal(revoke(his.id))).toMatchObject({ status: 404 });
    expect((await revoke(hers.id)).status).toBe(204);
  });
});

describe('the caller that replaces a token takes it over', () => {
  test('another admin, before its owner leaves', async () => {
    const { platform, eve, token } = await withEve();
    const { id: bob } = await staffMember(platform, { login: 'bob', role: 'admin' });
    const taken = await rotate(platform, token.id, await signedIn(platform, 'bob'));
    expect([taken.token.owner, taken.replaced.owner]).toEqual([bob, eve]);
    await remove(platform, eve);
    expect(await platform.admin.authenticate(taken.secret)).toMatchObject({ owner: bob, role: 'admin' });
  });

  test('also afterwards, and what was suspended stays so', async () => {
    const { platform, eve, token, secret } = await withEve();
    const { id: bob } = await staffMember(platform, { login: 'bob', role: 'admin' });
    await remove(platform, eve);
    const taken = await rotate(platform, token.id, await signedIn(platform, 'bob'));
    expect([taken.token, taken.replaced]).toMatchObject([
      { owner: bob, status: 'active' },
      { owner: eve, status: 'suspended' },
    ]);
    expect(await platform.admin.authenticate(secret)).toBeNull();
  });

  test('the token of the operator, for the operator', async () => {
    const { platform, eve, token } = await withEve();
    const taken = await rotate(platform, token.id, SERVICE);
    await remove(platform, eve);
    expect(taken.token).toMatchObject({ owner: null, role: null, status: 'active' });
    expect(await platform.admin.authenticate(taken.secret)).not.toHaveProperty('role');
  });
});

test('the tokens of the wiring have no owner, and no token of the staff stands in for one', async () => {
  const { platform, eve } = await withEve();
  const made = await platform.admin.mintServiceToken({ name: 'cli' });
  const own = await create(platform, await shown(platform, made.secret));
  expect(own.token).toMatchObject({ owner: null, role: null, status: 'active' });
  // Of the same name as Eve's: were that one taken for it, the operator would be locked out with her.
  const ensured = await platform.admin.ensureServiceToken({ name: 'nightly' });
  expect(ensured).toMatchObject({ id: own.token.id, secret: null });
  await remove(platform, eve);
  for (const secret of [made.secret, own.secret])
    expect(await platform.admin.authenticate(secret)).not.toBeNull();
  const other = await withEve();
  expect((await other.platform.admin.ensureServiceToken({ name: 'nightly' })).secret).not.toBeNull();
});

test('what stops working with a member can be seen before, and is written down', async () => {
  const { platform, eve, token } = await withEve();
  const { id: bob } = await staffMember(platform, { login: 'bob', role: 'admin' });
  await create(platform, await signedIn(platform, 'bob'));
  const gone = await create(platform, await signedIn(platform, 'eve'), 'gone');
  await platform.call('service-tokens.revoke', { params: { token: gone.token.id } });
  expect((await list(platform, { owner: eve })).map(({ name, status }) => [name, status])).toEqual([
    [token.name, 'active'],
    ['gone', 'revoked'],
  ]);
  await remove(platform, eve);
  expect((await platform.adminLog()).at(-1)).toMatchObject({
    action: 'staff.remove',
    before: { email: 'eve@example.test', serviceTokens: 1 },
  });
  expect(await list(platform, { owner: bob })).toMatchObject([{ status: 'active' }]);
});

test('the status says when a token works no more, whatever the reason', async () => {
  const { platform, token } = await withEve();
  platform.clock.ms += 90 * 24 * 60 * 60 * 1000;
  expect(await list(platform)).toMatchObject([{ id: token.id, status: 'expired' }]);
  await platform.call('service-tokens.revoke', { params: { token: token.id } });
  expect(await list(platform)).toMatchObject([{ id: token.id, status: 'revoked' }]);
});
