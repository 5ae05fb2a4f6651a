/** Membership over time: invites of people who lost the right to make them, and the owner seat in other hands. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Fixture, joinTeam, openFixture, type Visitor } from './fixture.ts';

let fixture: Fixture;
let ada: Visitor;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

const scope = () => fixture.fieldwork.host.scope(fixture.pipes.scope);

/** An invite, as its maker sees it. */
async function inviteBy(inviter: Visitor, role: string) {
  const { invite, url } = await inviter.post<{ invite: { principal: string }; url: string }>('/api/invites', {
    role,
  });
  return { principal: invite.principal, token: new URL(url).searchParams.get('invite') };
}

/** The state of each invite and the roles of its principal, by principal. */
async function invitesNow(): Promise<ReadonlyMap<string, string>> {
  const { items } = await ada.get<{ items: { principal: string; state: string }[] }>('/api/invites');
  const assignments = await scope().assignments({});
  const rolesOf = (principal: string) =>
    assignments.filter((each) => each.principal === principal).map(({ role }) => role);
  return new Map(items.map(({ principal, state }) => [principal, [state, ...rolesOf(principal)].join(' ')]));
}

describe('spec A-34: the invites of a member who lost the right to make them', () => {
  test('end with the removal of the member, and the link made before opens nothing', async () => {
    const { member: ben, principal } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    const waiting = await inviteBy(ben, 'owner');
    const own = await inviteBy(ada, 'technician');
    await ada.post(`/api/members/${principal}/remove`);
    const again = await fixture.signedIn(fixture.pipes, 'ben-again');
    expect(await again.refused('POST', '/api/accept-invite', { token: waiting.token })).toMatchObject({
      status: 409,
      reason: 'invite_revoked',
    });
    const invites = await invitesNow();
    expect(invites.get(waiting.principal)).toBe('revoked');
    expect(invites.get(own.principal)).toBe('pending technician');
    expect(invites.get(principal)).toBe('accepted');
  });

  test('end with a lower role, and stay with one that may still invite', async () => {
    const { member: ben, principal } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    const waiting = await inviteBy(ben, 'technician');
    await ada.post(`/api/members/${principal}/role`, { role: 'owner' });
    expect((await invitesNow()).get(waiting.principal)).toBe('pending technician');
    // A dispatcher holds everything that a technician holds, and yet invites no person.
    await ada.post(`/api/members/${principal}/role`, { role: 'dispatcher' });
    expect((await invitesNow()).get(waiting.principal)).toBe('revoked');
    await ada.post(`/api/members/${principal}/role`, { role: 'owner' });
    const jo = await fixture.signedIn(fixture.pipes, 'jo');
    expect(await jo.refused('POST', '/api/accept-invite', { token: waiting.token })).toMatchObject({
      reason: 'invite_revoked',
    });
  });

  test('are refused at acceptance when nothing ended them, and end there', async () => {
    const { member: ben, principal } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    const waiting = await inviteBy(ben, 'technician');
    // The process ended between the roles and the invites.
    await scope().setRoles({ principal: principal as never, roles: ['dispatcher'], by: 'platform' });
    const jo = await fixture.signedIn(fixture.pipes, 'jo');
    const refused = { status: 409, code: 'invalid_transition', reason: 'inviter_lost_right' };
    expect(await jo.refused('POST', '/api/accept-invite', { token: waiting.token })).toMatchObject(refused);
    expect((await invitesNow()).get(waiting.principal)).toBe('revoked');
    expect(await jo.get('/api/me')).toMatchObject({ status: 'stranger' });
  });

  test('end when the platform reconciles the instance, after an interruption', async () => {
    const { member: ben, principal } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    const waiting = await inviteBy(ben, 'technician');
    await scope().setRoles({ principal: principal as never, roles: [], by: 'platform' });
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    for (let i = 0; i < 2; i++) {
      const response = await fixture.platform('POST', '/internal/reconcile', { tenantId, scopeId });
      expect(response.status).toBe(200);
      expect((await invitesNow()).get(waiting.principal)).toBe('revoked');
    }
  });
});
