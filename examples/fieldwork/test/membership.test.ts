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

describe('the owner seat', () => {
  const me = async (visitor: Visitor) => (await visitor.get<{ principal: string }>('/api/me')).principal;
  const seat = async () => {
    const { tenant, scope: scopeId } = fixture.pipes;
    return fixture.engine.unit(fixture.fieldwork.units.identity, tenant).ownerSeat({ scopeId });
  };
  const operator = async (path: string, more: object) => {
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    const body = { tenantId, scopeId, by: 'operator', why: 'Ticket 18.', ...more };
    return fixture.platform('POST', `/internal/${path}`, body);
  };
  const linkOf = async (path: string, more: object) => {
    const response = await operator(path, { origin: fixture.pipes.origin, ...more });
    expect(response.status).toBe(201);
    const answer = (await response.json()) as { url: string; notice?: string };
    return { ...answer, token: new URL(answer.url).searchParams.get('invite') };
  };

  test('spec A-29: is handed over by its holder alone, and stays claimed', async () => {
    const before = await seat();
    const adas = await me(ada);
    const { member: ben, principal: bens } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    const { principal: jos } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    expect(await ben.refused('POST', `/api/members/${jos}/make-owner`, {})).toMatchObject({
      status: 403,
      reason: 'not_seat_holder',
    });
    for (let i = 0; i < 2; i++) await ada.post(`/api/members/${bens}/make-owner`);
    expect(await seat()).toEqual(before);
    expect(await ada.refused('POST', `/api/members/${bens}/remove`, {})).toMatchObject({
      reason: 'owner_seat_held',
    });
    const { items } = await ben.get<{ items: { owner: boolean; principal: string }[] }>('/api/members');
    expect(items.filter(({ owner }) => owner).map(({ principal }) => principal)).toEqual([bens]);
    // The new holder decides about the former one.
    await ben.post(`/api/members/${adas}/remove`);
    expect(await ada.get('/api/me')).toMatchObject({ status: 'stranger' });
    expect(
      (await operator('owner-claim', { origin: fixture.pipes.origin, by: undefined, why: undefined })).status,
    ).toBe(409);
  });

  test('spec A-29: is taken from its holder by the operator’s replacement, with a notice, and never opened', async () => {
    const mails: { to: string; text: string }[] = [];
    await fixture[Symbol.asyncDispose]();
    fixture = await openFixture({ mailer: { send: async (mail) => void mails.push(mail) } });
    ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    const adas = await me(ada);
    const before = await seat();
    const { principal: waiting } = await inviteBy(ada, 'owner');
    const { token, notice } = await linkOf('owner-replacement', { replace: true });
    expect(notice).toBe('mail');
    expect(mails).toMatchObject([{ to: 'ada@example.org', text: expect.stringContaining('Ticket 18.') }]);
    const { principal: bens } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    expect(await ada.refused('POST', `/api/members/${bens}/make-owner`, {})).toMatchObject({
      reason: 'replacement_waits',
    });
    const kim = await fixture.signedIn(fixture.pipes, 'kim', 'Kim');
    const { principal: kims } = await kim.post<{ principal: string }>('/api/accept-invite', { token });
    expect(await seat()).toEqual(before);
    expect(await ada.get('/api/me')).toMatchObject({ status: 'stranger' });
    const { permissions } = await scope().holdings({ principal: adas as never });
    expect(permissions).toEqual([]);
    ada = kim;
    expect((await invitesNow()).get(waiting)).toBe('revoked');
    const { items } = await kim.get<{ items: { owner: boolean; principal: string }[] }>('/api/members');
    expect(items.filter(({ owner }) => owner).map(({ principal }) => principal)).toEqual([kims]);
    const late = await fixture.signedIn(fixture.pipes, 'late');
    expect(await late.get('/api/me')).toMatchObject({ status: 'stranger', seat: { state: 'claimed' } });
    const events = await kim.get<{ items: { type: string }[] }>('/api/identity-events?kind=team');
    const types = events.items.map(({ type }) => type);
    for (const type of ['owner_replacement_made', 'owner_replaced', 'member_removed'])
      expect(types).toContain(type);
  });

  test.each([
    ['owner-recovery', { recover: true }],
    ['owner-replacement', { replace: true }],
  ])('a link of %s is ended by the operator, and by no member', async (path, more) => {
    const { token } = await linkOf(path, more);
    const [principal] = [...(await invitesNow()).keys()];
    expect(await ada.refused('POST', `/api/invites/${principal}/revoke`)).toMatchObject({
      status: 403,
      reason: 'recovery_of_operator',
    });
    expect((await invitesNow()).get(`${principal}`)).toBe('pending owner');
    for (const ended of [true, false])
      expect(await (await operator('owner-recovery/end', {})).json()).toEqual({ ended });
    expect((await invitesNow()).get(`${principal}`)).toBe('revoked');
    const kim = await fixture.signedIn(fixture.pipes, 'kim');
    expect(await kim.refused('POST', '/api/accept-invite', { token })).toMatchObject({
      reason: 'invite_revoked',
    });
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member' });
  });
});

test('the history of an order shows a technician no amount of its invoice, and says that something is left out', async () => {
  const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
  const customer = await ada.post<{ id: string }>('/api/customers', { name: 'C' });
  const order = await ada.post<{ id: string }>('/api/orders', { customer: customer.id, title: 'T' });
  const path = `/api/orders/${order.id}`;
  await ada.post(`${path}/assign`, { assignee: principal });
  await ada.post(`${path}/schedule`, { from: '2026-03-03T10:00:00.000Z', to: '2026-03-03T12:00:00.000Z' });
  await jo.post(`${path}/start`);
  await jo.post(`${path}/complete`, { minutes: 90 });
  await ada.post(`${path}/invoice`);
  interface Story {
    readonly items: readonly { type: string; withheld: boolean; effects: readonly { type: string }[] }[];
    readonly withheld: boolean;
  }
  const storyOf = async (visitor: Visitor) => visitor.get<Story>(`${path}/history`);
  const effectsIn = ({ items }: Story) => items.flatMap(({ effects }) => effects.map(({ type }) => type));
  const [his, hers] = [await storyOf(jo), await storyOf(ada)];
  expect(effectsIn(hers)).toEqual(expect.arrayContaining(['invoice.drafted', 'invoice.issued']));
  expect(hers.items.some(({ withheld }) => withheld)).toBe(false);
  expect(effectsIn(his)).toEqual([]);
  expect(JSON.stringify(his)).not.toContain('totalCents');
  expect(his.items.filter(({ withheld }) => withheld).map(({ type }) => type)).toEqual([
    'order.completed',
    'order.invoiced',
  ]);
  // Every event of the order itself is there.
  expect([his.items.length, his.withheld]).toEqual([hers.items.length, false]);
});
