/** Two hundred at once: each single thing is taken once. */
import { describe, expect, test } from 'vitest';
import { type ResolvedPrincipal, resolvePrincipal, type VerifiedSubject } from '../src/index.ts';
import { DAY_MS, ISSUER, openPlatform, person, refusal, SCOPE, START_MS } from './support.ts';

const CROWD = 200;
const crowd = (more: Partial<VerifiedSubject> = {}) =>
  Array.from({ length: CROWD }, (_, i) => person(`p${i}`, more));

/** The results of the fulfilled promises, and the number of each refusal. */
async function settled<T>(
  promises: readonly Promise<T>[],
): Promise<{ fulfilled: T[]; refused: Record<string, number> }> {
  const answers = await Promise.allSettled(promises);
  const fulfilled = answers.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const refused: Record<string, number> = {};
  for (const each of answers) {
    if (each.status === 'fulfilled') continue;
    const { code, reason } = await refusal(Promise.reject(each.reason));
    const name = `${code} ${reason}`;
    refused[name] = (refused[name] ?? 0) + 1;
  }
  return { fulfilled, refused };
}

describe('the owner seat', () => {
  test('A-25: of 200 first sign-ins at once one claims it, and the others get no principal', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const answers: ResolvedPrincipal[] = await Promise.all(
      crowd().map((subject) => resolvePrincipal(directory, { scopeId: SCOPE, subject })),
    );
    expect(answers.filter((each) => each.claimedNow)).toEqual([
      { principal, claimedNow: true, session: 'live' },
    ]);
    expect(answers.filter((each) => each.principal !== null)).toHaveLength(1);
    const members = (await directory.listMembers({ scopeId: SCOPE })).items;
    expect(members).toMatchObject([{ principal, owner: true }]);
    const events = (await directory.listIdentityEvents({ scopeId: SCOPE })).items;
    expect(events.map((each) => each.type)).toEqual(['seat_claimed', 'seat_opened']);
  });

  test('A-25: the same person 200 times at once claims it once', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const answers = await Promise.all(
      crowd().map(() => resolvePrincipal(directory, { scopeId: SCOPE, subject: person('ada') })),
    );
    expect(answers.filter((each) => each.claimedNow)).toHaveLength(1);
    expect(new Set(answers.map((each) => each.principal))).toEqual(new Set([principal]));
  });

  test('A-27: of 200 people with one claim link at once one gets it', async () => {
    const { directory, clock } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    clock.nowMs += DAY_MS;
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    const { fulfilled, refused } = await settled(
      crowd().map((subject) => directory.claimOwner({ scopeId: SCOPE, token, subject })),
    );
    expect(fulfilled).toEqual([{ principal }]);
    expect(refused).toEqual({ 'conflict seat_claimed': CROWD - 1 });
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(1);
  });

  test('A-25, A-27: sign-ins, a claim link and a second link at once still make one owner', async () => {
    const { directory } = await openPlatform();
    const { principal } = await directory.setPendingOwner({ scopeId: SCOPE });
    const { token } = await directory.mintOwnerClaim({ scopeId: SCOPE });
    const attempts = crowd().map((subject, i): Promise<{ principal: string | null } | null> => {
      if (i === 100) return directory.mintOwnerClaim({ scopeId: SCOPE }).then(() => null);
      return i % 2 === 0
        ? directory.claimOwner({ scopeId: SCOPE, token, subject })
        : directory.resolvePrincipal({ scopeId: SCOPE, subject });
    });
    const { fulfilled } = await settled(attempts);
    expect(fulfilled.filter((each) => each?.principal === principal)).toHaveLength(1);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(1);
    expect((await directory.ownerSeat({ scopeId: SCOPE })).state).toBe('claimed');
  });
});

describe('an invite', () => {
  /** A scope with an owner, and one invite. */
  async function openInvited() {
    const platform = await openPlatform();
    const { directory } = platform;
    const { principal: owner } = await directory.setPendingOwner({ scopeId: SCOPE });
    await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
    const principal = await directory.newPrincipal();
    const { token } = await directory.createInvite({
      scopeId: SCOPE,
      principal,
      role: 'member',
      createdBy: owner,
    });
    const accepted = async () =>
      (await directory.listIdentityEvents({ scopeId: SCOPE, limit: 200 })).items.filter(
        (each) => each.type === 'invite_accepted',
      );
    return { ...platform, owner, principal, token, accepted };
  }

  test('A-33: of 200 people who accept it at once one becomes the member', async () => {
    const { directory, principal, token, accepted } = await openInvited();
    const { fulfilled, refused } = await settled(
      crowd().map((subject) => directory.claimInvite({ scopeId: SCOPE, token, subject })),
    );
    expect(fulfilled).toEqual([{ principal, scopeId: SCOPE, role: 'member' }]);
    expect(refused).toEqual({ 'conflict invite_used': CROWD - 1 });
    const answers = await Promise.all(
      crowd().map((subject) => directory.findPrincipal({ scopeId: SCOPE, subject })),
    );
    expect(answers.filter((each) => each.principal !== null)).toMatchObject([{ principal }]);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(2);
    expect(await accepted()).toHaveLength(1);
  });

  test('A-33: one person who accepts it 200 times at once is one member', async () => {
    const { directory, principal, token, accepted } = await openInvited();
    const { fulfilled, refused } = await settled(
      crowd().map(() => directory.claimInvite({ token, subject: person('bob') })),
    );
    expect(fulfilled).toHaveLength(CROWD);
    expect([new Set(fulfilled.map((each) => each.principal)), refused]).toEqual([new Set([principal]), {}]);
    expect(await accepted()).toHaveLength(1);
  });

  test.each([
    ['revoked', 0, 1],
    ['accepted', 1, 2],
  ])('A-34: accepted and revoked at once it is one of the two, here %s', async (state, before, members) => {
    const { directory, owner, principal, token } = await openInvited();
    const accept = crowd().map(
      (subject) => (): Promise<unknown> => directory.claimInvite({ token, subject }),
    );
    const attempts = accept.toSpliced(before, 0, () =>
      directory.revokeInvite({ scopeId: SCOPE, principal, by: owner }),
    );
    const { fulfilled, refused } = await settled(attempts.map((attempt) => attempt()));
    expect(fulfilled).toHaveLength(1);
    const [invite] = (await directory.listInvites({ scopeId: SCOPE })).items;
    expect(invite?.state).toBe(state);
    expect((await directory.listMembers({ scopeId: SCOPE })).items).toHaveLength(members);
    const late = Object.values(refused).reduce((sum, count) => sum + count, 0);
    expect(late).toBe(CROWD);
  });
});

describe('sessions', () => {
  test('of 200 sign-ins of one person at once 50 are left, and 200 ends of one session end it once', async () => {
    const { directory } = await openPlatform();
    await Promise.all(
      Array.from({ length: CROWD }, (_, i) =>
        directory.recordSignIn({
          scopeId: SCOPE,
          subject: person('ada'),
          session: { sid: `s${i}`, issuedAtMs: START_MS + i },
        }),
      ),
    );
    const { items } = await directory.listSessions({ issuer: ISSUER, sub: 'ada' });
    expect(items).toHaveLength(50);
    const sid = items[0]?.sid ?? '';
    const ends = await Promise.all(
      crowd().map(() => directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid })),
    );
    expect(ends.filter((each) => each.ended)).toHaveLength(1);
    expect((await directory.listSessions({ issuer: ISSUER, sub: 'ada' })).items).toHaveLength(49);
  });
});
