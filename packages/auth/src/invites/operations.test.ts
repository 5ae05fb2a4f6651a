/** Member invites: spec 3.2, and the additions of the design. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  OTHER_SCOPE,
  openPlatform,
  person,
  refusal,
  SCOPE,
  START_MS,
  type TestPlatform,
} from '../../test/support.ts';
import type { VerifiedSubject } from '../lib/subject.ts';
import type { CreateInviteInput, Invite, InviteAddress } from './operations.ts';

const ada = person('ada');
const bob = person('bob', { emailVerified: true });
const cid = person('cid', { emailVerified: true });

interface Invited extends TestPlatform {
  readonly owner: string;
  readonly invite: Invite;
  readonly token: string;
}

/** A scope owned by Ada, with one invite. */
async function openInvited(more: InviteAddress & { readonly name?: string } = {}): Promise<Invited> {
  const platform = await openPlatform();
  const { directory } = platform;
  const { principal: owner } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: ada });
  const principal = await directory.newPrincipal();
  const created = await directory.createInvite({
    scopeId: SCOPE,
    principal,
    role: 'member',
    createdBy: owner,
    ...more,
  });
  return { ...platform, owner, ...created };
}

describe('creating', () => {
  test('A-32: stores a pending invite for the pre-minted principal, with the hash of its token only', async () => {
    const { directory, invite, token, owner } = await openInvited({
      email: 'Bob@example.com',
      emailMatch: 'verified',
      name: 'Bob',
    });
    expect(invite).toEqual({
      principal: expect.stringMatching(/^prn_/),
      scopeId: SCOPE,
      role: 'member',
      state: 'pending',
      email: 'Bob@example.com',
      emailMatch: 'verified',
      name: 'Bob',
      createdBy: owner,
      createdAtMs: START_MS,
      expiresAtMs: START_MS + 7 * DAY_MS,
      acceptedAtMs: null,
      revokedAtMs: null,
    });
    expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/);
    const listed = await directory.listInvites({ scopeId: SCOPE });
    expect(listed).toEqual({ items: [invite], nextCursor: null });
    expect(JSON.stringify([listed, await directory.listIdentityEvents({})])).not.toContain(token);
  });

  test('A-32: the principal stands for no person until the invite is accepted', async () => {
    const { directory, invite } = await openInvited();
    const members = (await directory.listMembers({ scopeId: SCOPE })).items;
    expect(members.map((member) => member.principal)).not.toContain(invite.principal);
  });

  test('A-32: a principal that stands for a person is refused', async () => {
    const { directory, owner, invite } = await openInvited();
    for (const principal of [owner, invite.principal])
      expect(
        await refusal(
          directory.createInvite({ scopeId: SCOPE, principal, role: 'member', createdBy: owner }),
        ),
      ).toEqual({ code: 'conflict', reason: 'principal_taken' });
  });

  test('A-32: an invalid e-mail address, and a life beyond 30 days, are refused', async () => {
    const { directory, owner } = await openInvited();
    const principal = await directory.newPrincipal();
    for (const more of [
      { email: 'bob', emailMatch: 'label' },
      { email: 'a@b@c', emailMatch: 'label' },
      { email: `${'x'.repeat(400)}@x`, emailMatch: 'label' },
      { ttlMs: 31 * DAY_MS },
    ] as const)
      expect(
        (
          await refusal(
            directory.createInvite({ scopeId: SCOPE, principal, role: 'r', createdBy: owner, ...more }),
          )
        ).code,
      ).toBe('validation_failed');
  });

  test('A-07: an address without its meaning is refused: the library has no opinion of its own', async () => {
    const { directory, owner } = await openInvited();
    const principal = await directory.newPrincipal();
    const create = (emailMatch: unknown) => {
      const input = { scopeId: SCOPE, principal, role: 'r', createdBy: owner, email: 'bob@example.com' };
      return directory.createInvite({ ...input, emailMatch } as CreateInviteInput);
    };
    for (const word of [undefined, null, '', 'Verified', 'anything', true])
      expect((await refusal(create(word))).code).toBe('validation_failed');
    expect((await create('label')).invite.emailMatch).toBe('label');
  });

  test("A-23: lists newest first, page by page, without another scope's or tenant's", async () => {
    const { directory, invite, owner } = await openInvited();
    const made = [invite.principal];
    for (const scopeId of [SCOPE, OTHER_SCOPE, SCOPE]) {
      const principal = await directory.newPrincipal();
      await directory.createInvite({ scopeId, principal, role: 'member', createdBy: owner });
      if (scopeId === SCOPE) made.unshift(principal);
    }
    const first = await directory.listInvites({ scopeId: SCOPE, limit: 2 });
    const second = await directory.listInvites({ scopeId: SCOPE, limit: 2, cursor: first.nextCursor ?? '' });
    expect([...first.items, ...second.items].map((each) => each.principal)).toEqual(made);
  });
});

describe('showing', () => {
  test('A-36: shows the invite to the holder of the link, and changes nothing', async () => {
    const { directory, token } = await openInvited({ email: 'bob@example.com', emailMatch: 'verified' });
    const before = await directory.listIdentityEvents({});
    for (let i = 0; i < 3; i++)
      expect(await directory.showInvite({ token, scopeId: SCOPE })).toEqual({
        role: 'member',
        state: 'pending',
        email: 'bob@example.com',
        name: null,
        invitedBy: 'ada',
        expiresAtMs: START_MS + 7 * DAY_MS,
      });
    expect(await directory.listIdentityEvents({})).toEqual(before);
    expect(await directory.claimInvite({ token, subject: bob })).toHaveProperty('principal');
  });

  test("A-22: another tenant's, another scope's and malformed tokens are all equally unknown", async () => {
    const { directory, other, owner } = await openInvited();
    const principal = await directory.newPrincipal();
    const elsewhere = await directory.createInvite({
      scopeId: OTHER_SCOPE,
      principal,
      role: 'r',
      createdBy: owner,
    });
    const foreign = await other.createInvite({ scopeId: SCOPE, principal, role: 'r', createdBy: owner });
    const unknown = { code: 'not_found', reason: 'invite_invalid' };
    for (const { token } of [elsewhere, foreign]) {
      expect(await refusal(directory.showInvite({ token, scopeId: SCOPE }))).toEqual(unknown);
      expect(await refusal(directory.claimInvite({ token, subject: bob, scopeId: SCOPE }))).toEqual(unknown);
    }
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (token) => {
        expect(await refusal(directory.showInvite({ token: token as never }))).toEqual(unknown);
        expect(await refusal(directory.claimInvite({ token: token as never, subject: bob }))).toEqual(
          unknown,
        );
      }),
      { numRuns: 60 },
    );
  });
});

describe('accepting', () => {
  test('A-33: binds the verified sub to the principal', async () => {
    const { directory, invite, token } = await openInvited();
    const accepted = await directory.claimInvite({ scopeId: SCOPE, token, subject: bob });
    expect(accepted).toEqual({ principal: invite.principal, scopeId: SCOPE, role: 'member' });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject: bob })).principal).toBe(
      invite.principal,
    );
    expect((await directory.listInvites({ scopeId: SCOPE })).items[0]).toMatchObject({
      state: 'accepted',
      acceptedAtMs: START_MS,
    });
  });

  test('A-33: twice by the same person is one membership, also after its expiry; by another it is refused', async () => {
    const { directory, token, clock } = await openInvited();
    const first = await directory.claimInvite({ token, subject: bob });
    clock.nowMs += 30 * DAY_MS;
    expect(await directory.claimInvite({ token, subject: bob })).toEqual(first);
    expect(await refusal(directory.claimInvite({ token, subject: cid }))).toEqual({
      code: 'conflict',
      reason: 'invite_used',
    });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(2);
  });

  test('A-33: of two people that race with one link exactly one gets in; one person racing with herself gets in once', async () => {
    const { directory, token } = await openInvited();
    const answers = await Promise.allSettled(
      [bob, cid, bob, cid].map((subject) => directory.claimInvite({ token, subject })),
    );
    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(2);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(2);
    const accepted = (await directory.listIdentityEvents({})).items.filter(
      (each) => each.type === 'invite_accepted',
    );
    expect(accepted).toHaveLength(1);
  });

  test('A-33: works until the last millisecond of seven days and not after', async () => {
    const { directory, token, clock, invite } = await openInvited();
    clock.nowMs = invite.expiresAtMs;
    expect(await refusal(directory.claimInvite({ token, subject: bob }))).toEqual({
      code: 'invalid_transition',
      reason: 'invite_expired',
    });
    expect((await directory.listInvites({ scopeId: SCOPE })).items[0]?.state).toBe('expired');
    clock.nowMs -= 1;
    await directory.claimInvite({ token, subject: bob });
  });

  test('a member is refused, and the invite stays open for another person', async () => {
    const { directory, token } = await openInvited();
    expect(await refusal(directory.claimInvite({ token, subject: ada }))).toEqual({
      code: 'conflict',
      reason: 'already_member',
    });
    await directory.claimInvite({ token, subject: bob });
  });

  test.each<[string, Partial<VerifiedSubject>, string]>([
    ['another address', { email: 'mallory@example.com', emailVerified: true }, 'invite_email_mismatch'],
    ['no address', { email: null, emailVerified: true }, 'invite_email_mismatch'],
    [
      'the address, asserted as unverified',
      { email: 'bob@example.com', emailVerified: false },
      'invite_email_unverified',
    ],
    ['the address, with nothing asserted', { email: 'bob@example.com' }, 'invite_email_unverified'],
  ])('an invite with an e-mail is refused to %s', async (_, claims, reason) => {
    const { directory, token } = await openInvited({ email: 'bob@example.com', emailMatch: 'verified' });
    const subject = person('mallory', claims);
    expect(await refusal(directory.claimInvite({ token, subject }))).toEqual({ code: 'forbidden', reason });
    expect((await directory.resolvePrincipal({ scopeId: SCOPE, subject })).principal).toBeNull();
    expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items[0]).toMatchObject({
      type: 'invite_refused',
      detail: { reason },
    });
  });

  test('an invite with an e-mail is given to the verified holder, in any spelling of the address', async () => {
    const { directory, token } = await openInvited({ email: 'Bob@Example.com', emailMatch: 'verified' });
    const subject = person('bob', { email: 'ｂob@EXAMPLE.COM', emailVerified: true });
    await expect(directory.claimInvite({ token, subject })).resolves.toHaveProperty('role', 'member');
  });

  test('A-07: when the vertical makes the e-mail a mere label, it is no condition', async () => {
    const { directory, token } = await openInvited({ email: 'bob@example.com', emailMatch: 'label' });
    const subject = person('robert', { email: 'robert@work.example' });
    await expect(directory.claimInvite({ token, subject })).resolves.toHaveProperty('role', 'member');
  });
});

describe('revoking', () => {
  test('A-34: invalidates the invite; again is the same answer and one event', async () => {
    const { directory, invite, token, owner, clock } = await openInvited();
    clock.nowMs += HOUR_MS;
    const revoke = () => directory.revokeInvite({ scopeId: SCOPE, principal: invite.principal, by: owner });
    const first = await revoke();
    clock.nowMs += HOUR_MS;
    expect(first.invite).toMatchObject({ state: 'revoked', revokedAtMs: START_MS + HOUR_MS });
    expect(await revoke()).toEqual(first);
    expect(await refusal(directory.claimInvite({ token, subject: bob }))).toEqual({
      code: 'invalid_transition',
      reason: 'invite_revoked',
    });
    const events = (await directory.listIdentityEvents({ scopeId: SCOPE })).items;
    expect(events.filter((each) => each.type === 'invite_revoked')).toEqual([
      expect.objectContaining({ principal: invite.principal, actor: owner }),
    ]);
  });

  test('A-34: an accepted invite cannot be revoked, and an unknown one is not found, in any scope but its own', async () => {
    const { directory, invite, token, owner } = await openInvited();
    const revoke = (scopeId: string) =>
      directory.revokeInvite({ scopeId, principal: invite.principal, by: owner });
    expect(await refusal(revoke(OTHER_SCOPE))).toEqual({ code: 'not_found', reason: 'invite_unknown' });
    await directory.claimInvite({ token, subject: bob });
    expect(await refusal(revoke(SCOPE))).toEqual({ code: 'invalid_transition', reason: 'invite_accepted' });
  });
});
