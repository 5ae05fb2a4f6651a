/** Owner recovery: its role, its person, once, and its readers. */
import { describe, expect, test } from 'vitest';
import { HOUR_MS, OTHER_SCOPE, openPlatform, person, refusal, SCOPE } from '../../test/support.ts';
import { hashToken } from '../lib/token.ts';

const ada = person('ada');
/** The same person at another issuer: another subject. */
const adaElsewhere = person('ada', { issuer: 'https://new.example' });

async function openOwned() {
  const platform = await openPlatform();
  const { directory } = platform;
  const seat = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  const input = {
    scopeId: SCOPE,
    role: 'owner',
    origin: 'https://app.example',
    by: 'operator@platform.example',
    why: 'ticket 17: their issuer is gone',
    recover: true,
  } as const;
  return { ...platform, owner: seat.principal, input };
}

describe('an owner’s recovery', () => {
  test('lets one person in with the owner’s role, once, and leaves the seat and its holder as they are', async () => {
    const { directory, owner, input } = await openOwned();
    const before = await directory.ownerSeat({ scopeId: SCOPE });
    const { token, url, invite } = await directory.mintOwnerRecovery(input);
    expect(url).toBe(`https://app.example/?invite=${token}`);
    const { principal } = invite;
    expect(principal).not.toBe(owner);
    expect(invite).toMatchObject({ role: 'owner', state: 'pending', createdBy: input.by });
    expect(await directory.claimInvite({ token, subject: adaElsewhere, scopeId: SCOPE })).toEqual({
      principal,
      scopeId: SCOPE,
      role: 'owner',
    });
    const resolve = async (subject: typeof ada) =>
      (await directory.resolvePrincipal({ scopeId: SCOPE, subject })).principal;
    expect([await resolve(adaElsewhere), await resolve(ada)]).toEqual([principal, owner]);
    expect(await refusal(directory.claimInvite({ token, subject: person('eve') }))).toEqual({
      code: 'conflict',
      reason: 'invite_used',
    });
    // Spec 3.1: a claimed seat is never re-opened.
    expect(await directory.ownerSeat({ scopeId: SCOPE })).toEqual(before);
    expect(await refusal(directory.mintOwnerClaim({ scopeId: SCOPE }))).toMatchObject({
      reason: 'seat_claimed',
    });
  });

  test('names the operator and the reason to the readers of the events, and never the token', async () => {
    const { directory, input } = await openOwned();
    const {
      token,
      invite: { principal },
    } = await directory.mintOwnerRecovery({ ...input, why: `  ${input.why} ` });
    const { items } = await directory.listIdentityEvents({ scopeId: SCOPE });
    expect(items[0]).toMatchObject({
      type: 'owner_recovery_made',
      principal,
      actor: input.by,
      detail: { role: 'owner', why: input.why },
    });
    const told = JSON.stringify(items);
    expect([told.includes(token), told.includes(hashToken(token))]).toEqual([false, false]);
  });

  test('lives for 24 hours, and is ended before by the operator alone', async () => {
    const { directory, clock, owner, input } = await openOwned();
    const { token } = await directory.mintOwnerRecovery(input);
    clock.nowMs += 24 * HOUR_MS - 1;
    expect((await directory.showInvite({ token })).state).toBe('pending');
    clock.nowMs += 1;
    expect(await refusal(directory.claimInvite({ token, subject: adaElsewhere }))).toMatchObject({
      reason: 'invite_expired',
    });
    const second = await directory.mintOwnerRecovery(input);
    const { principal } = second.invite;
    expect(await refusal(directory.revokeInvite({ scopeId: SCOPE, principal, by: owner }))).toEqual({
      code: 'forbidden',
      reason: 'recovery_of_operator',
    });
    const end = { scopeId: SCOPE, by: input.by, why: 'a mistake' };
    expect(await directory.endOwnerRecovery(end)).toEqual({ ended: true });
    expect(await directory.endOwnerRecovery(end)).toEqual({ ended: false });
    expect(await directory.leftoverRoles({ scopeId: SCOPE })).toEqual([{ principal, role: 'owner' }]);
    const { items } = await directory.listIdentityEvents({ scopeId: SCOPE, limit: 1 });
    expect(items).toMatchObject([
      { type: 'owner_recovery_ended', principal, actor: input.by, detail: { why: 'a mistake' } },
    ]);
    expect(
      await refusal(directory.claimInvite({ token: second.token, subject: adaElsewhere })),
    ).toMatchObject({
      reason: 'invite_revoked',
    });
  });

  test('is one at a time: the latest link works, for the same principal, and no earlier one', async () => {
    const { directory, clock, input } = await openOwned();
    const first = await directory.mintOwnerRecovery(input);
    clock.nowMs += 30 * HOUR_MS;
    const second = await directory.mintOwnerRecovery({
      ...input,
      by: 'grace@platform.example',
      ttlMs: HOUR_MS,
    });
    expect(second.invite).toEqual({
      ...first.invite,
      createdBy: 'grace@platform.example',
      createdAtMs: clock.nowMs,
      expiresAtMs: clock.nowMs + HOUR_MS,
    });
    expect(await refusal(directory.claimInvite({ token: first.token, subject: adaElsewhere }))).toMatchObject(
      {
        reason: 'invite_invalid',
      },
    );
    expect((await directory.listInvites({ scopeId: SCOPE })).items).toEqual([second.invite]);
    await directory.claimInvite({ token: second.token, subject: adaElsewhere });

    // An accepted or revoked recovery is over; the next is another one.
    const third = await directory.mintOwnerRecovery(input);
    await directory.endOwnerRecovery({ scopeId: SCOPE, by: 'ada', why: 'a mistake' });
    const fourth = await directory.mintOwnerRecovery(input);
    const principals = [second, third, fourth].map(({ invite }) => invite.principal);
    expect(new Set(principals).size).toBe(3);
    expect((await directory.listInvites({ scopeId: SCOPE })).items.map(({ state }) => state)).toEqual([
      'pending',
      'revoked',
      'accepted',
    ]);
  });

  test.each([
    ['recover', { recover: false }],
    ['recover', { recover: undefined }],
    ['why', { why: ' ' }],
    ['why', { why: 'x'.repeat(501) }],
    ['by', { by: '' }],
    ['origin', { origin: 'javascript:alert(1)' }],
  ])('is not made without %s', async (path, more) => {
    const { directory, input } = await openOwned();
    const asking = directory.mintOwnerRecovery({ ...input, ...more } as never);
    await expect(asking).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path }] });
    expect((await directory.listInvites({ scopeId: SCOPE })).items).toEqual([]);
  });

  test('is not for a seat that a claim link opens, nor for an instance without one', async () => {
    const { directory, input } = await openOwned();
    const elsewhere = { ...input, scopeId: OTHER_SCOPE };
    expect(await refusal(directory.mintOwnerRecovery(elsewhere))).toMatchObject({
      reason: 'owner_seat_unknown',
    });
    await directory.setPendingOwner({ scopeId: OTHER_SCOPE });
    expect(await refusal(directory.mintOwnerRecovery(elsewhere))).toEqual({
      code: 'conflict',
      reason: 'seat_pending',
    });
  });
});

describe('an owner’s replacement', () => {
  const replaced = async () => {
    const owned = await openOwned();
    const { recover: _, ...order } = owned.input;
    const replacement = { ...order, replace: true } as const;
    return { ...owned, replacement };
  };

  test('A-29: takes the seat when it is accepted, ends the former holder’s membership, and opens nothing', async () => {
    const { directory, owner, replacement } = await replaced();
    const before = await directory.ownerSeat({ scopeId: SCOPE });
    const { token, invite, holder } = await directory.mintOwnerReplacement(replacement);
    expect(holder).toEqual({ principal: owner, name: 'ada', email: 'ada@example.com' });
    expect(await directory.findMember({ scopeId: SCOPE, principal: owner })).toMatchObject({ owner: true });
    await directory.claimInvite({ token, subject: person('kim'), scopeId: SCOPE });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toMatchObject([
      { principal: invite.principal, name: 'kim', owner: true },
    ]);
    expect(await directory.leftoverRoles({ scopeId: SCOPE })).toEqual([{ principal: owner, role: null }]);
    expect(await directory.ownerSeat({ scopeId: SCOPE })).toEqual(before);
    for (const sub of ['ada', 'late'])
      expect(
        (await directory.resolvePrincipal({ scopeId: SCOPE, subject: person(sub) })).principal,
      ).toBeNull();
    expect(await refusal(directory.mintOwnerClaim({ scopeId: SCOPE }))).toMatchObject({
      reason: 'seat_claimed',
    });
    const { items } = await directory.listIdentityEvents({ scopeId: SCOPE, limit: 4 });
    expect(items.map(({ type, principal, actor }) => [type, principal, actor])).toEqual([
      ['member_removed', owner, replacement.by],
      ['owner_replaced', invite.principal, replacement.by],
      ['invite_accepted', invite.principal, null],
      ['owner_replacement_made', invite.principal, replacement.by],
    ]);
  });

  test('A-29: is not undone by its holder: the seat stays while it waits, and no member accepts it', async () => {
    const { directory, clock, owner, replacement } = await replaced();
    const principal = await directory.newPrincipal();
    const terms = { scopeId: SCOPE, principal, role: 'r', createdBy: owner };
    const { token } = await directory.createInvite(terms);
    await directory.claimInvite({ token, subject: person('ben') });
    const made = await directory.mintOwnerReplacement(replacement);
    const transfer = { scopeId: SCOPE, to: principal, by: owner };
    expect(await refusal(directory.transferOwner(transfer))).toEqual({
      code: 'conflict',
      reason: 'replacement_waits',
    });
    for (const sub of ['ada', 'ben'])
      expect(await refusal(directory.claimInvite({ token: made.token, subject: person(sub) }))).toMatchObject(
        { reason: 'already_member' },
      );
    expect(await directory.findMember({ scopeId: SCOPE, principal: owner })).toMatchObject({ owner: true });
    clock.nowMs += 24 * HOUR_MS;
    expect(await directory.transferOwner(transfer)).toEqual({ principal });
  });

  test('is one at a time with a recovery: the latest link says what it does', async () => {
    const { directory, owner, input, replacement } = await replaced();
    await directory.mintOwnerReplacement(replacement);
    const { token } = await directory.mintOwnerRecovery(input);
    await directory.claimInvite({ token, subject: person('kim') });
    expect(await directory.findMember({ scopeId: SCOPE, principal: owner })).toMatchObject({ owner: true });
    const unmeant = directory.mintOwnerReplacement({ ...replacement, replace: false } as never);
    await expect(unmeant).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path: 'replace' }] });
  });
});

test('A-29: the seat is handed over by its holder to a member, once, and by no other member', async () => {
  const { directory, owner } = await openOwned();
  const before = await directory.ownerSeat({ scopeId: SCOPE });
  const principal = await directory.newPrincipal();
  const terms = { scopeId: SCOPE, principal, role: 'r', createdBy: owner };
  const { token } = await directory.createInvite(terms);
  const refusalOf = (to: string, by: string) => refusal(directory.transferOwner({ scopeId: SCOPE, to, by }));
  expect(await refusalOf(principal, owner)).toMatchObject({ reason: 'unknown_member' });
  await directory.claimInvite({ token, subject: person('ben') });
  const third = await directory.newPrincipal();
  expect(await refusalOf(third, principal)).toEqual({ code: 'forbidden', reason: 'not_seat_holder' });
  for (let i = 0; i < 2; i++)
    expect(await directory.transferOwner({ scopeId: SCOPE, to: principal, by: owner })).toEqual({
      principal,
    });
  expect(await refusalOf(third, owner)).toMatchObject({ reason: 'not_seat_holder' });
  expect(await directory.ownerSeat({ scopeId: SCOPE })).toEqual(before);
  expect(await refusal(directory.mintOwnerClaim({ scopeId: SCOPE }))).toMatchObject({
    reason: 'seat_claimed',
  });
  const { items } = await directory.listIdentityEvents({ scopeId: SCOPE, limit: 2 });
  expect(items).toMatchObject([
    { type: 'owner_transferred', principal, actor: owner },
    { type: 'invite_accepted' },
  ]);
  await directory.removeMember({ scopeId: SCOPE, principal: owner, by: principal });
});
