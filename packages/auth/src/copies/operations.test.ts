/** Members that move with a copy of a scope's data: who gets in, who stays outside, and who owns it. */
import { describe, expect, test } from 'vitest';
import { DAY_MS, OTHER_SCOPE, openPlatform, person, SCOPE, type TestPlatform } from '../../test/support.ts';

const [ada, bob, cleo, dan] = [person('ada'), person('bob'), person('cleo'), person('dan')];
type Directory = TestPlatform['directory'];

async function join(directory: Directory, subject: typeof ada): Promise<string> {
  const principal = await directory.newPrincipal();
  const invite = { scopeId: SCOPE, principal, role: 'member', createdBy: 'prn_x' };
  const { token } = await directory.createInvite(invite);
  await directory.claimInvite({ token, subject });
  return principal;
}

/** Ada owns a scope, bob and cleo are members; another one has an open seat. */
async function open() {
  const platform = await openPlatform();
  const { directory } = platform;
  const { principal: owner } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  const principals = {
    ada: owner as string,
    bob: await join(directory, bob),
    cleo: await join(directory, cleo),
  };
  const copied = await directory.membersForCopy({ scopeId: SCOPE });
  await directory.setPendingOwner({ scopeId: OTHER_SCOPE });
  const into = { scopeId: OTHER_SCOPE, from: SCOPE };
  const inOther = async (subject: typeof ada) =>
    (await directory.resolvePrincipal({ scopeId: OTHER_SCOPE, subject })).principal;
  return { ...platform, principals, copied, into, inOther };
}

describe('members of a copy', () => {
  test('are named without their names and addresses', async () => {
    const { copied } = await open();
    expect(copied.map(({ sub, owner }) => [sub, owner])).toEqual([
      ['ada', true],
      ['bob', false],
      ['cleo', false],
    ]);
    expect(JSON.stringify(copied)).not.toContain('@');
  });

  test('keep their principals in the other scope, and the seat is theirs', async () => {
    const { directory, principals, copied, into, inOther } = await open();
    expect(await directory.moveMembersIn({ ...into, copied })).toEqual({ members: 3, owner: principals.ada });
    expect([await inOther(ada), await inOther(bob)]).toEqual([principals.ada, principals.bob]);
    expect(await directory.ownerSeat({ scopeId: OTHER_SCOPE })).toMatchObject({ state: 'claimed' });
    const { items } = await directory.listMembers({ scopeId: OTHER_SCOPE });
    expect(items.filter(({ owner }) => owner).map(({ principal }) => principal)).toEqual([principals.ada]);
    // The first scope lost nothing.
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(3);
    expect(await directory.moveMembersIn({ ...into, copied })).toMatchObject({ members: 3 });
    expect((await directory.listIdentityEvents({ scopeId: OTHER_SCOPE })).items[0]).toMatchObject({
      type: 'members_moved_in',
      detail: { from: SCOPE, members: '3' },
    });
  });

  test('who were removed since stay outside, and logs still name them', async () => {
    const { directory, principals, copied, into, inOther } = await open();
    await directory.removeMember({ scopeId: SCOPE, principal: principals.cleo, by: principals.ada });
    expect(await directory.moveMembersIn({ ...into, copied })).toMatchObject({ members: 2 });
    expect(await inOther(cleo)).toBeNull();
    // The copy has her roles, which are taken like those of any removed member.
    expect(await directory.leftoverRoles({ scopeId: OTHER_SCOPE })).toEqual([
      { principal: principals.cleo, role: null },
    ]);
    const named = await directory.namePrincipals({ scopeId: OTHER_SCOPE, principals: [principals.cleo] });
    expect(named.items).toMatchObject([{ name: 'cleo', state: 'removed' }]);
  });

  test('come from the copy alone once their scope is forgotten', async () => {
    const { directory, principals, copied, into, inOther } = await open();
    await directory.forgetScope({ scopeId: SCOPE });
    expect(await directory.moveMembersIn({ ...into, copied })).toEqual({ members: 3, owner: principals.ada });
    expect(await inOther(ada)).toBe(principals.ada);
    // The sign-in brought the name and the address, which the copy does not have.
    expect((await directory.listMembers({ scopeId: OTHER_SCOPE })).items[0]).toMatchObject({
      name: 'ada',
      email: 'ada@example.com',
      owner: true,
    });
  });

  test('replace the members of the scope, and its owner', async () => {
    const { directory, copied, into, inOther } = await open();
    const before = await inOther(dan);
    expect(before).not.toBeNull();
    await directory.moveMembersIn({ ...into, copied });
    expect(await inOther(dan)).toBeNull();
    const events = (await directory.listIdentityEvents({ scopeId: OTHER_SCOPE })).items;
    expect(events).toContainEqual(expect.objectContaining({ type: 'member_removed', principal: before }));
  });

  test('of a copy from before they were noted are those of the scope today', async () => {
    const { directory, into } = await open();
    expect(await directory.moveMembersIn({ ...into, copied: null })).toMatchObject({ members: 3 });
  });
});

test('a copy that names no owner leaves the holder of the seat, who comes once and under the principal of the seat', async () => {
  const { directory, principals, copied, into, inOther } = await open();
  const holder = await inOther(ada);
  const members = copied.map((each) => ({ ...each, owner: false }));
  // The same name at another issuer is another person.
  const namesake = { ...ada, issuer: 'https://other.example' };
  const named = { ...members[0], issuer: namesake.issuer, principal: await directory.newPrincipal() };
  await directory.forgetScope({ scopeId: SCOPE });
  expect(await directory.moveMembersIn({ ...into, copied: [...members, named as never] })).toEqual({
    members: 4,
    owner: holder,
  });
  expect([await inOther(ada), await inOther(bob), await inOther(namesake)]).toEqual([
    holder,
    principals.bob,
    named.principal,
  ]);
});

describe('the principals that stand for a person', () => {
  test('are members, waiting invites and the owner to come, and none of the past', async () => {
    const { directory, principals } = await open();
    const { ada: owner, bob: member, cleo: former } = principals;
    await directory.removeMember({ scopeId: SCOPE, principal: former, by: owner });
    await directory.noteRoles({ scopeId: SCOPE, principal: member, roles: ['clerk'] });
    const invited = { scopeId: SCOPE, role: 'member', createdBy: owner };
    const [waiting, revoked] = [await directory.newPrincipal(), await directory.newPrincipal()];
    await directory.createInvite({ ...invited, principal: waiting });
    await directory.createInvite({ ...invited, principal: revoked });
    await directory.revokeInvite({ scopeId: SCOPE, principal: revoked, by: owner });
    const standing = (await directory.standingForCopy({ scopeId: SCOPE })) ?? [];
    expect(new Map(standing.map(({ principal, ...rest }) => [principal, rest]))).toEqual(
      new Map([
        [owner, { roles: null, owner: true }],
        [member, { roles: ['clerk'], owner: false }],
        [waiting, { roles: null, owner: false }],
      ]),
    );
    expect(await directory.standingForCopy({ scopeId: OTHER_SCOPE })).toMatchObject([{ owner: true }]);
  });

  test('are unknown of a scope that the directory does not know', async () => {
    const { directory } = await open();
    await directory.forgetScope({ scopeId: SCOPE });
    expect(await directory.standingForCopy({ scopeId: SCOPE })).toBeNull();
  });
});

describe('a copy whose members are unknown here', () => {
  test('leaves the scope its owner', async () => {
    const { directory, into, inOther } = await open();
    const owner = await inOther(dan);
    await directory.forgetScope({ scopeId: SCOPE });
    expect(await directory.moveMembersIn({ ...into, copied: null })).toEqual({ members: 1, owner });
    expect(await inOther(dan)).toBe(owner);
  });

  test('a seat that is open is closed: the first person who signs in is no member', async () => {
    const { directory, into, inOther } = await open();
    await directory.forgetScope({ scopeId: SCOPE });
    await directory.moveMembersIn({ ...into, copied: null });
    expect(await inOther(dan)).toBeNull();
    expect(await directory.ownerSeat({ scopeId: OTHER_SCOPE })).toMatchObject({ reason: 'window_closed' });
    const { token } = await directory.mintOwnerClaim({ scopeId: OTHER_SCOPE });
    await directory.claimOwner({ scopeId: OTHER_SCOPE, token, subject: dan });
    expect(await inOther(dan)).not.toBeNull();
  });
});

test('the window of a seat ends when it is told to, and a claimed seat is not touched', async () => {
  const { directory, clock, inOther } = await open();
  await directory.endOwnerWindow({ scopeId: OTHER_SCOPE });
  await directory.endOwnerWindow({ scopeId: SCOPE });
  expect(await inOther(dan)).toBeNull();
  clock.nowMs += DAY_MS;
  expect(await directory.ownerSeat({ scopeId: SCOPE })).toMatchObject({ state: 'claimed' });
});
