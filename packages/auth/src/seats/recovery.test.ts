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

  test('lives for 24 hours, and can be revoked before', async () => {
    const { directory, clock, input } = await openOwned();
    const { token } = await directory.mintOwnerRecovery(input);
    clock.nowMs += 24 * HOUR_MS - 1;
    expect((await directory.showInvite({ token })).state).toBe('pending');
    clock.nowMs += 1;
    expect(await refusal(directory.claimInvite({ token, subject: adaElsewhere }))).toMatchObject({
      reason: 'invite_expired',
    });
    const second = await directory.mintOwnerRecovery(input);
    await directory.revokeInvite({ scopeId: SCOPE, principal: second.invite.principal, by: input.by });
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
    await directory.revokeInvite({ scopeId: SCOPE, principal: third.invite.principal, by: 'ada' });
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
