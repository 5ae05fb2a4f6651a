/** The owner seat: spec 3.1, row by row. */
import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  OTHER_SCOPE,
  openPlatform,
  person,
  refusal,
  SCOPE,
  START_MS,
} from '../../test/support.ts';
import { hashToken } from '../lib/token.ts';

const ada = person('ada');
const bob = person('bob');

describe('opening the seat', () => {
  test('A-24: provisioning opens a pending seat, minted empty, with a window of 15 minutes', async () => {
    const { directory } = await openPlatform();
    const seat = await directory.setPendingOwner({ scopeId: SCOPE, email: ada.email ?? '', name: 'Ada' });
    expect(seat).toEqual({
      principal: expect.stringMatching(/^prn_/),
      state: 'pending',
      windowEndsAtMs: START_MS + 15 * MINUTE_MS,
      created: true,
    });
    expect(await directory.ownerSeat({ scopeId: SCOPE })).toEqual({
      state: 'pending',
      reason: 'window_open',
      windowEndsAt: '2026-11-21T08:15:00.000Z',
      claimedAt: null,
    });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toEqual([]);
    expect(await directory.needsSetup({ scopeId: SCOPE })).toBe(true);
  });

  test('A-29: provisioning again keeps the principal and the window', async () => {
    const { directory, clock } = await openPlatform();
    const first = await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs += 14 * MINUTE_MS;
    expect(await directory.setPendingOwner({ scopeId: SCOPE })).toEqual({ ...first, created: false });
    clock.nowMs += MINUTE_MS;
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).principal).toBeNull();
  });

  test('A-29: provisioning again never re-opens a claimed seat', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
    expect(await directory.setPendingOwner({ scopeId: SCOPE })).toMatchObject({
      principal,
      state: 'claimed',
    });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: bob })).principal).toBeNull();
  });
});

describe('the first sign-in', () => {
  test('A-25: claims the seat at 14:59.999 and is bound to its principal', async () => {
    const { directory, clock } = await openPlatform();
    const { principal, windowEndsAtMs } = await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs = windowEndsAtMs - 1;
    const subject = ada;
    expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject })).toEqual({
      principal,
      claimedNow: true,
      session: 'live',
    });
    expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject })).toMatchObject({
      principal,
      claimedNow: false,
    });
    expect(await directory.ownerSeat({ scopeId: SCOPE })).toMatchObject({
      state: 'claimed',
      reason: null,
      claimedAt: '2026-11-21T08:14:59.999Z',
    });
    expect(await directory.needsSetup({ scopeId: SCOPE })).toBe(false);
  });

  test('A-26: binds no person at 15:00.000, and the seat stays pending', async () => {
    const { directory, clock } = await openPlatform();
    const { windowEndsAtMs } = await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs = windowEndsAtMs;
    expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).toEqual({
      principal: null,
      claimedNow: false,
      session: 'live',
    });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toEqual([]);
    expect(await directory.ownerSeat({ scopeId: SCOPE })).toMatchObject({
      state: 'pending',
      reason: 'window_closed',
    });
    clock.nowMs -= 1;
    expect((await directory.ownerSeat({ scopeId: SCOPE })).reason).toBe('window_open');
  });

  test('A-25: of many subjects that race for the seat, exactly one wins', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const subjects = Array.from({ length: 20 }, (_, i) => person(`racer-${i}`));
    const answers = await Promise.all(
      subjects.map((subject) => directory.resolvePrincipal({ scopeId: SCOPE, subject })),
    );
    expect(answers.filter((answer) => answer.claimedNow)).toHaveLength(1);
    expect(answers.filter((answer) => answer.principal === principal)).toHaveLength(1);
    expect(answers.filter((answer) => answer.principal === null)).toHaveLength(19);
  });

  test('A-25: a member who is bound already does not take the seat on top', async () => {
    const { directory } = await openPlatform();
    const { principal: seat } = await directory.setPendingOwner({ scopeId: SCOPE });
    const principal = await directory.newPrincipal();
    const { token } = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'member',
      createdBy: seat,
    });
    await directory.claimInvite({ token, subject: bob });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: bob })).principal).toBe(principal);
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).principal).toBe(seat);
  });

  test('A-07: whether the e-mail was verified makes no difference to the claim', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const subject = person('ada', { emailVerified: false });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject })).claimedNow).toBe(true);
  });
});

describe('why a seat is pending', () => {
  test('A-30: after the window needsSetup still reports it, and the reason is window_closed', async () => {
    const { directory, clock } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs += 400 * DAY_MS;
    expect(await directory.needsSetup({ scopeId: SCOPE })).toBe(true);
    expect((await directory.ownerSeat({ scopeId: SCOPE })).reason).toBe('window_closed');
  });

  test('A-30: an outstanding claim link is the reason until it expires', async () => {
    const { directory, clock } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs += HOUR_MS;
    await directory.mintOwnerClaim({ scopeId: SCOPE, ttlMs: HOUR_MS });
    expect((await directory.ownerSeat({ scopeId: SCOPE })).reason).toBe('claim_outstanding');
    clock.nowMs += HOUR_MS;
    expect((await directory.ownerSeat({ scopeId: SCOPE })).reason).toBe('window_closed');
  });

  test('A-30: a scope with settings and no seat was never opened; an unknown scope is not found', async () => {
    const { directory } = await openPlatform();
    await directory.putConfig({ scopeId: SCOPE, config: { A: '1' } });
    expect((await directory.ownerSeat({ scopeId: SCOPE })).reason).toBe('never_opened');
    expect(await directory.needsSetup({ scopeId: SCOPE })).toBe(true);
    const unknown = { code: 'not_found', reason: 'unknown_scope' };
    expect(await refusal(directory.ownerSeat({ scopeId: OTHER_SCOPE }))).toEqual(unknown);
    expect(await refusal(directory.needsSetup({ scopeId: OTHER_SCOPE }))).toEqual(unknown);
  });
});

describe('claim links', () => {
  test('A-27: a valid token claims the seat long after the window', async () => {
    const { directory, clock } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs += 90 * DAY_MS;
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    expect(await directory.claimOwner({ scopeId: SCOPE, token, subject: ada })).toEqual({ principal });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).principal).toBe(principal);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toMatchObject([
      { principal, owner: true },
    ]);
  });

  test('A-27: a token is used once: for all people but its owner a claimed seat is a conflict', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    await directory.claimOwner({ scopeId: SCOPE, token, subject: ada });
    const claimed = { code: 'conflict', reason: 'seat_claimed' };
    const namesake = person('ada', { issuer: 'https://elsewhere.example' });
    for (const subject of [bob, namesake])
      expect(await refusal(directory.claimOwner({ scopeId: SCOPE, token, subject }))).toEqual(claimed);
    expect(await refusal(directory.mintOwnerClaim({ scopeId: SCOPE }))).toEqual(claimed);
    const before = await directory.listIdentityEvents({});
    expect(await directory.claimOwner({ scopeId: SCOPE, token, subject: ada })).toEqual({ principal });
    expect(await directory.listIdentityEvents({})).toEqual(before);
  });

  test('A-25, A-27: a link opened inside the window finds its holder the owner already, and says so', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    expect(await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada })).toMatchObject({
      claimedNow: true,
    });
    // The seat's token went with the claim: there is nothing left to compare with, and nothing new to learn.
    for (const presented of [token, 'wrong'])
      expect(await directory.claimOwner({ scopeId: SCOPE, token: presented, subject: ada })).toEqual({
        principal,
      });
    expect(await refusal(directory.claimOwner({ scopeId: SCOPE, token, subject: bob }))).toEqual({
      code: 'conflict',
      reason: 'seat_claimed',
    });
  });

  test('A-27: the owner of one scope has no privilege at the seat of another', async () => {
    const { directory } = await openPlatform();
    for (const [scopeId, subject] of [
      [SCOPE, ada],
      [OTHER_SCOPE, bob],
    ] as const) {
      await directory.setPendingOwner({ scopeId });
      await directory.resolvePrincipal({ scopeId, subject });
    }
    expect(await refusal(directory.claimOwner({ scopeId: OTHER_SCOPE, token: 'any', subject: ada }))).toEqual(
      { code: 'conflict', reason: 'seat_claimed' },
    );
  });

  test('a member of another role does not pass for the owner of a claimed seat', async () => {
    const { directory } = await openPlatform();
    const { principal: seat } = await directory.setPendingOwner({ scopeId: SCOPE });
    const principal = await directory.newPrincipal();
    const invite = await directory.createInvite({ scopeId: SCOPE, principal, role: 'm', createdBy: seat });
    await directory.claimInvite({ token: invite.token, subject: bob });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
    expect(await refusal(directory.claimOwner({ scopeId: SCOPE, token: 'any', subject: bob }))).toEqual({
      code: 'conflict',
      reason: 'seat_claimed',
    });
  });

  test('A-27: of two subjects that race with one token, exactly one wins', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    const answers = await Promise.allSettled(
      [ada, bob].map((subject) => directory.claimOwner({ scopeId: SCOPE, token, subject })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(1);
  });

  test('A-28: only the hash is stored, and the token has 128 bits', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const { token, hash } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(hash).toBe(hashToken(token));
    expect(JSON.stringify(await directory.listIdentityEvents({}))).not.toContain(token);
  });

  test('A-28: a new mint retires the earlier link', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const first = await directory.mintOwnerClaim({ scopeId: SCOPE });
    const second = await directory.mintOwnerClaim({ scopeId: SCOPE });
    const claim = (token: string) => directory.claimOwner({ scopeId: SCOPE, token, subject: ada });
    expect(await refusal(claim(first.token))).toEqual({ code: 'forbidden', reason: 'claim_invalid' });
    await expect(claim(second.token)).resolves.toHaveProperty('principal');
  });

  test('A-27: a token works until its last millisecond and is expired at its hour', async () => {
    const { directory, clock } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const { token, expiresAtMs } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    expect(expiresAtMs).toBe(START_MS + DAY_MS);
    const claim = () => directory.claimOwner({ scopeId: SCOPE, token, subject: ada });
    clock.nowMs = expiresAtMs;
    expect(await refusal(claim())).toEqual({ code: 'forbidden', reason: 'claim_expired' });
    clock.nowMs = expiresAtMs - 1;
    await expect(claim()).resolves.toHaveProperty('principal');
  });

  test('A-31: one call answers token, hash and the link with ?claim=', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    const link = await directory.mintOwnerClaimLink({
      scopeId: SCOPE,
      origin: 'https://app.example/ignored?x=1',
    });
    expect(link).toEqual({
      token: link.token,
      hash: hashToken(link.token),
      url: `https://app.example/?claim=${link.token}`,
      expiresAtMs: START_MS + DAY_MS,
    });
    await directory.claimOwner({ scopeId: SCOPE, token: link.token, subject: ada });
  });

  test('A-31: a link is only made for a web address, and lives for at most 30 days', async () => {
    const { directory } = await openPlatform();
    await directory.setPendingOwner({ scopeId: SCOPE });
    for (const origin of ['javascript:alert(1)', 'app.example', ''])
      expect((await refusal(directory.mintOwnerClaimLink({ scopeId: SCOPE, origin }))).code).toBe(
        'validation_failed',
      );
    for (const ttlMs of [0, -1, 1.5, Number.NaN, 31 * DAY_MS])
      expect((await refusal(directory.mintOwnerClaim({ scopeId: SCOPE, ttlMs }))).code).toBe(
        'validation_failed',
      );
  });

  test("A-22: another tenant's token and another scope's token claim nothing", async () => {
    const { directory, other } = await openPlatform();
    for (const scopeId of [SCOPE, OTHER_SCOPE]) await directory.setPendingOwner({ scopeId });
    await other.setPendingOwner({ scopeId: OTHER_SCOPE });
    const tokens = [
      (await other.mintOwnerClaim({ scopeId: OTHER_SCOPE })).token,
      (await directory.mintOwnerClaim({ scopeId: OTHER_SCOPE })).token,
      '',
      'x'.repeat(10_000),
      null as never,
      { length: 22 } as never,
    ];
    for (const token of tokens)
      expect(await refusal(directory.claimOwner({ scopeId: SCOPE, token, subject: ada }))).toEqual({
        code: 'forbidden',
        reason: 'claim_invalid',
      });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toEqual([]);
  });

  test('a refused claim leaves an event and nothing else; a member cannot take the seat too', async () => {
    const { directory } = await openPlatform();
    const { principal: seat } = await directory.setPendingOwner({ scopeId: SCOPE });
    await refusal(directory.claimOwner({ scopeId: SCOPE, token: 'wrong', subject: ada }));
    expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items[0]).toMatchObject({
      type: 'claim_refused',
      subject: { sub: 'ada' },
      detail: { reason: 'claim_invalid' },
    });
    const principal = await directory.newPrincipal();
    const invite = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'member',
      createdBy: seat,
    });
    await directory.claimInvite({ token: invite.token, subject: bob });
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    expect(await refusal(directory.claimOwner({ scopeId: SCOPE, token, subject: bob }))).toEqual({
      code: 'conflict',
      reason: 'already_member',
    });
  });
});
