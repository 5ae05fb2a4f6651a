/** Members who leave or are lowered, with everything that they made: over two units, and interrupted anywhere. */
import { PlatformError, type PrincipalId } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { openPlatform, person, refusal, SCOPE } from '../../test/support.ts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { makeMemberships } from './memberships.ts';

/** The roles of a scope: only owners may invite, and only owners give or take roles. */
function makeScope() {
  const roles = new Map<string, readonly string[]>();
  return {
    roles,
    setRoles: async (change: { principal: string; roles: readonly string[]; by: string }) => {
      if (change.by !== 'platform' && !roles.get(change.by)?.includes('owner'))
        throw new PlatformError('forbidden', 'No.', { reason: 'role_exceeds_holder' });
      if (change.roles.length > 0) roles.set(change.principal, change.roles);
      else roles.delete(change.principal);
    },
    assignments: async () =>
      [...roles].flatMap(([principal, held]) =>
        held.map((role) => ({ principal: principal as PrincipalId, role })),
      ),
  };
}

async function openTeam() {
  const { directory, clock } = await openPlatform();
  const scope = makeScope();
  const { principal: ada } = await directory.setPendingOwner({ scopeId: SCOPE });
  await directory.resolvePrincipal({ scopeId: SCOPE, subject: person('ada') });
  scope.roles.set(ada, ['owner']);
  const parts = {
    directory,
    scope,
    scopeId: SCOPE,
    ownerRole: 'owner',
    mayInvite: async (inviter: PrincipalId) => scope.roles.get(inviter)?.includes('owner') === true,
  };
  const invite = async (createdBy: PrincipalId, role = 'owner') => {
    const principal = await directory.newPrincipal();
    scope.roles.set(principal, [role]);
    const { token } = await directory.createInvite({ scopeId: SCOPE, principal, role, createdBy });
    return { principal, token };
  };
  const join = async (sub: string, role = 'owner') => {
    const { token, principal } = await invite(ada, role);
    await directory.claimInvite({ token, subject: person(sub) });
    return principal;
  };
  const states = async () => {
    const { items } = await directory.listInvites({ scopeId: SCOPE });
    return new Map(items.map((each) => [each.principal as string, each.state]));
  };
  return { directory, clock, scope, ada, parts, invite, join, states };
}

type Team = Awaited<ReturnType<typeof openTeam>>;

/** The same parts, of which the call with this number fails: before it did anything, or after it did everything. */
function interrupted({ parts }: Team, failing: { at: number; after: boolean }) {
  let calls = 0;
  const stop = new Error('the process ended');
  const guard = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (from, name) => {
        const method = Reflect.get(from, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          const isIt = ++calls === failing.at;
          if (isIt && !failing.after) throw stop;
          const answer = await method.apply(from, args);
          if (isIt) throw stop;
          return answer;
        };
      },
    });
  const memberships = makeMemberships({
    ...parts,
    directory: guard(parts.directory as IdentityDirectory),
    scope: guard(parts.scope),
  });
  return { memberships, stop, called: () => calls };
}

/** The same object, with a step before each call of its methods. */
function between<T extends object>(target: T, step: (name: string) => Promise<void>): T {
  return new Proxy(target, {
    get: (from, name) => {
      const method = Reflect.get(from, name);
      if (typeof method !== 'function') return method;
      return async (...args: unknown[]) => {
        await step(String(name));
        return method.apply(from, args);
      };
    },
  });
}

/** The same parts, which wait before the last call of a method until they may go on. */
function paused({ parts }: Team, at: string) {
  const [reached, there] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isLast = at !== 'setRoles';
  const step = async (name: string) => {
    if (name === 'transferOwner' && at === 'setRoles') isLast = true;
    else if (name === at && isLast) {
      reached.resolve();
      await there.promise;
    }
  };
  return {
    parts: { ...parts, directory: between(parts.directory, step), scope: between(parts.scope, step) },
    reached: reached.promise,
    goOn: () => there.resolve(),
  };
}

describe('spec A-34: a member who is removed or lowered', () => {
  test.each(['removed', 'lowered'] as const)(
    'is %s with their pending invites, wherever the work was interrupted, once it is repeated',
    async (how) => {
      let interruptions = 0;
      for (const after of [false, true])
        for (let at = 1; ; at++) {
          const team = await openTeam();
          const { directory, scope, ada, invite, join, states } = team;
          const ben = await join('ben');
          const waiting = [await invite(ben), await invite(ben, 'clerk')];
          const other = await invite(ada);
          const accepted = await invite(ben, 'clerk');
          await directory.claimInvite({ token: accepted.token, subject: person('kim') });
          const { memberships, stop } = interrupted(team, { at, after });
          const change = (from: typeof memberships) =>
            how === 'removed'
              ? from.remove({ principal: ben, by: ada })
              : from.changeRoles({ principal: ben, roles: ['clerk'], by: ada });
          const failure = await change(memberships).then(
            () => null,
            (error: unknown) => error,
          );
          if (failure !== null) {
            expect(failure).toBe(stop);
            interruptions++;
            const whole = makeMemberships(team.parts);
            // A person repeats what failed, or the platform settles: a removal that is done already is unknown.
            await change(whole).catch((error) => expect(error.reason).toBe('unknown_member'));
            await whole.settleInvites();
          }
          const now = await states();
          for (const { principal, token } of waiting) {
            expect([now.get(principal), scope.roles.has(principal)]).toEqual(['revoked', false]);
            expect(await refusal(directory.claimInvite({ token, subject: person('eve') }))).toMatchObject({
              reason: 'invite_revoked',
            });
          }
          expect([now.get(other.principal), scope.roles.get(other.principal)]).toEqual([
            'pending',
            ['owner'],
          ]);
          expect([now.get(accepted.principal), scope.roles.get(accepted.principal)]).toEqual([
            'accepted',
            ['clerk'],
          ]);
          expect(scope.roles.get(ben)).toEqual(how === 'removed' ? undefined : ['clerk']);
          expect(await directory.leftoverRoles({ scopeId: SCOPE })).toEqual([]);
          if (failure === null) break;
        }
      expect(interruptions).toBeGreaterThan(8);
    },
  );

  test('keeps the invites that they may still make', async () => {
    const { parts, scope, ada, invite, join, states } = await openTeam();
    const ben = await join('ben');
    const { principal } = await invite(ben);
    await makeMemberships(parts).changeRoles({ principal: ben, roles: ['owner', 'clerk'], by: ada });
    expect([(await states()).get(principal), scope.roles.get(principal)]).toEqual(['pending', ['owner']]);
  });

  test('stays, with their invites, when the acting member may not take their role', async () => {
    const { directory, parts, scope, invite, join, states } = await openTeam();
    const [ben, kim] = [await join('ben'), await join('kim', 'clerk')];
    const { principal } = await invite(ben);
    const { remove } = makeMemberships(parts);
    expect(await refusal(remove({ principal: ben, by: kim }))).toMatchObject({
      reason: 'role_exceeds_holder',
    });
    expect(await directory.findMember({ scopeId: SCOPE, principal: ben })).toMatchObject({ name: 'ben' });
    expect([(await states()).get(principal), scope.roles.get(ben)]).toEqual(['pending', ['owner']]);
  });

  test('makes no invite after the removal, and none of the operator’s ends with them', async () => {
    const { directory, parts, scope, ada, join, states } = await openTeam();
    const ben = await join('ben');
    const recovery = await directory.mintOwnerRecovery({
      scopeId: SCOPE,
      role: 'owner',
      origin: 'https://app.example',
      by: ben,
      why: 'an operator with a strange name',
      recover: true,
    });
    await makeMemberships(parts).remove({ principal: ben, by: ada });
    const principal = await directory.newPrincipal();
    const late = { scopeId: SCOPE, principal, role: 'clerk', createdBy: ben };
    expect(await refusal(directory.createInvite(late))).toEqual({
      code: 'forbidden',
      reason: 'inviter_lost_right',
    });
    expect((await states()).get(recovery.invite.principal)).toBe('pending');
    expect(scope.roles.has(ben)).toBe(false);
  });
});

/** The roles that the directory has noted for a member: a restore of a lost scope gives no others. */
async function noted({ directory }: Team, principal: PrincipalId) {
  const standing = await directory.standingForCopy({ scopeId: SCOPE });
  return standing?.find((each) => each.principal === principal)?.roles;
}

describe('the roles of a member, as the directory notes them', () => {
  test.each([
    ['lowered', 'owner', 'clerk'],
    ['raised', 'clerk', 'owner'],
  ])('never exceed those of the scope, wherever a member is being %s', async (_how, from, to) => {
    let interruptions = 0;
    for (const after of [false, true])
      for (let at = 1; ; at++) {
        const team = await openTeam();
        const ben = await team.join('ben', from);
        const change = (roles: string) => ({ principal: ben, roles: [roles], by: team.ada });
        // The first change is noted whole.
        await makeMemberships(team.parts).changeRoles(change(from));
        const { memberships, stop } = interrupted(team, { at, after });
        const failure = await memberships.changeRoles(change(to)).catch((error: unknown) => error);
        const roles = await noted(team, ben);
        const has = team.scope.roles.get(ben);
        expect(has).toEqual(expect.arrayContaining(roles as string[]));
        if (failure !== stop) {
          expect(roles).toEqual([to]);
          break;
        }
        interruptions++;
      }
    expect(interruptions).toBeGreaterThan(6);
  });

  test('are as before when the scope refuses the change, and unknown before the first one', async () => {
    const team = await openTeam();
    const [ben, kim] = [await team.join('ben'), await team.join('kim', 'clerk')];
    const memberships = makeMemberships(team.parts);
    const refused = memberships.changeRoles({ principal: ben, roles: ['clerk'], by: kim });
    expect(await refusal(refused)).toMatchObject({ reason: 'role_exceeds_holder' });
    expect(await noted(team, ben)).toBeNull();
    await memberships.transferOwner({ to: ben, by: team.ada });
    expect(await noted(team, ben)).toEqual(['owner']);
  });
});

test('a role that was perhaps taken is not noted as held: a restore must not bring it back', async () => {
  const team = await openTeam();
  const ben = await team.join('ben');
  const change = (roles: string) => ({ principal: ben, roles: [roles], by: team.ada });
  await makeMemberships(team.parts).changeRoles(change('owner'));
  const scope = {
    ...team.scope,
    setRoles: async (asked: Parameters<Team['scope']['setRoles']>[0]) => {
      await team.scope.setRoles(asked);
      throw new PlatformError('internal', 'It was done, and its answer was lost.');
    },
  };
  const lost = makeMemberships({ ...team.parts, scope }).changeRoles(change('clerk'));
  expect(await refusal(lost)).toMatchObject({ code: 'internal' });
  expect(await noted(team, ben)).not.toContain('owner');
});

describe('the holder of the owner seat', () => {
  test('is the last owner only while no other member is one', async () => {
    const { directory, parts, ada, invite, join } = await openTeam();
    const { remove, changeRoles } = makeMemberships(parts);
    const kim = await join('kim', 'clerk');
    // An invited owner is no owner yet.
    const { token } = await invite(ada);
    for (const change of [remove, changeRoles] as const)
      expect(await refusal(change({ principal: ada, roles: ['clerk'], by: kim }))).toEqual({
        code: 'conflict',
        reason: 'last_owner',
      });
    await directory.claimInvite({ token, subject: person('ben') });
    // One other member is enough, also while another invite waits.
    await invite(ada);
    for (const change of [remove, changeRoles] as const)
      expect(await refusal(change({ principal: ada, roles: ['clerk'], by: kim }))).toEqual({
        code: 'conflict',
        reason: 'owner_seat_held',
      });
  });

  test.each(['removed', 'lowered'] as const)(
    'has the role of the owner, also when they are %s while the seat is handed to them',
    async (how) => {
      const outcomes = new Set<string>();
      for (const pausedAt of ['transferOwner', 'setRoles'])
        for (let start = 1; start <= 7; start++)
          for (let end = start; end <= 7; end++) {
            const team = await openTeam();
            const { directory, parts, scope, ada, join } = team;
            const [ben, kim] = [await join('ben', 'clerk'), await join('kim')];
            const handing = paused(team, pausedAt);
            let transfer: Promise<unknown> = Promise.resolve();
            let calls = 0;
            const step = async () => {
              calls++;
              if (calls === start) {
                transfer = makeMemberships(handing.parts)
                  .transferOwner({ to: ben, by: ada })
                  .catch((error: unknown) => error);
                await Promise.race([handing.reached, transfer]);
              }
              if (calls !== end) return;
              handing.goOn();
              await transfer;
            };
            const changes = makeMemberships({
              ...parts,
              directory: between(directory, step),
              scope: between(scope, step),
            });
            const change = { principal: ben, by: kim };
            const reason = await (how === 'removed'
              ? changes.remove(change)
              : changes.changeRoles({ ...change, roles: ['clerk'] })
            ).then(
              () => 'done',
              (error: PlatformError) => String(error.reason),
            );
            handing.goOn();
            await transfer;
            outcomes.add(reason);
            const after = await directory.findMember({ scopeId: SCOPE, principal: ben });
            if (after?.owner)
              expect([pausedAt, start, end, scope.roles.get(ben)?.[0]]).toEqual([
                ...[pausedAt, start, end, 'owner'],
              ]);
          }
      expect(outcomes).toContain('owner_seat_held');
    },
  );

  test('and every other member: no one changes themself, and a stranger is unknown', async () => {
    const { parts, ada, join } = await openTeam();
    const { remove } = makeMemberships(parts);
    const kim = await join('kim', 'clerk');
    expect(await refusal(remove({ principal: kim, by: kim }))).toMatchObject({ reason: 'own_membership' });
    expect(await refusal(remove({ principal: 'prn_nobody' as never, by: ada }))).toMatchObject({
      code: 'not_found',
      reason: 'unknown_member',
    });
  });
});
