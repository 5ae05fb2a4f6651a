/** Callers who get in, callers who do not, and the answers to them. */

import { makeApp } from '@freehold/app';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import declared from '../src/app.ts';
import { type Fixture, joinTeam, openFixture } from './fixture.ts';
import { openVault } from './vault.ts';

const MINUTE_MS = 60_000;

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

describe('a caller who is signed out', () => {
  test('A-04: is refused everything under /api with the address of the sign-in', async () => {
    const anonymous = fixture.visitor(fixture.pipes);
    for (const path of [
      '/api/orders',
      '/api/members',
      '/api/denials',
      '/api/orders/ord_x/history',
      '/api/openapi.json',
    ]) {
      const problem = await anonymous.refused('GET', path);
      expect(problem).toMatchObject({
        status: 401,
        code: 'unauthenticated',
        loginUrl: '/api/auth/login?returnTo=%2F',
      });
    }
    const response = await anonymous.request('POST', '/api/orders', {});
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer resource_metadata="https://pipes.example/.well-known/oauth-protected-resource"',
    );
  });

  test('is told so calmly by /api/me, with the name of the business and nothing else', async () => {
    const response = await fixture.visitor(fixture.pipes).request('GET', '/api/me');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
    expect(await response.json()).toEqual({
      status: 'signed_out',
      business: 'Pipes & Sons',
      subject: null,
      principal: null,
      roles: [],
      permissions: [],
      seat: null,
      signIn: { mode: 'hosted' },
    });
  });
});

describe('the owner seat', () => {
  test('A-25: goes to the first who signs in, who is then an owner; the second is a stranger', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    expect(await ada.get('/api/me')).toMatchObject({
      status: 'member',
      subject: { name: 'Ada', email: 'ada@example.org', emailVerified: true },
      roles: [{ key: 'owner', name: 'Owner' }],
    });
    const eve = await fixture.signedIn(fixture.pipes, 'eve');
    expect(await eve.get('/api/me')).toMatchObject({
      status: 'stranger',
      principal: null,
      permissions: [],
      seat: { state: 'claimed', reason: null },
    });
    expect(await eve.refused('GET', '/api/orders')).toMatchObject({
      code: 'forbidden',
      reason: 'not_a_member',
    });
  });

  test('A-26, A-27: after the window only a claim link gives it away, once, by POST', async () => {
    fixture.clock.nowMs += 15 * MINUTE_MS;
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    expect(await ada.get('/api/me')).toMatchObject({
      status: 'stranger',
      seat: { state: 'pending', reason: 'window_closed' },
    });
    const { tenant: tenantId, scope: scopeId, origin } = fixture.pipes;
    const claim = await fixture.platform('POST', '/internal/owner-claim', { tenantId, scopeId, origin });
    const { url } = (await claim.json()) as { url: string };
    expect(url).toMatch(/^https:\/\/pipes\.example\/\?claim=/);
    expect(await ada.get('/api/me')).toMatchObject({ seat: { reason: 'claim_outstanding' } });

    const token = new URL(url).searchParams.get('claim');
    expect(await fixture.visitor(fixture.pipes).refused('POST', '/api/claim', { token })).toMatchObject({
      status: 401,
    });
    expect(await ada.refused('GET', '/api/claim')).toMatchObject({ status: 405 });
    expect(await ada.refused('POST', '/api/claim', { token: 'wrong' })).toMatchObject({
      reason: 'claim_invalid',
    });
    await ada.post('/api/claim', { token });
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
    const eve = await fixture.signedIn(fixture.pipes, 'eve');
    expect(await eve.refused('POST', '/api/claim', { token })).toMatchObject({ reason: 'seat_claimed' });
  });

  test('A-29: a way back makes another owner, once; of two links only the later one', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { tenant: tenantId, scope: scopeId, origin } = fixture.pipes;
    const asked = { tenantId, scopeId, origin, by: 'Grace', why: 'Ticket 17.', recover: true };
    const mint = async (): Promise<string | null> => {
      const made = await fixture.platform('POST', '/internal/owner-recovery', asked);
      return new URL(((await made.json()) as { url: string }).url).searchParams.get('invite');
    };
    const [former, latest] = [await mint(), await mint()];
    const eve = await fixture.signedIn(fixture.pipes, 'eve');
    expect(await eve.refused('POST', '/api/accept-invite', { token: former })).toMatchObject({
      reason: 'invite_invalid',
    });
    await eve.post('/api/accept-invite', { token: latest });
    expect(await eve.get('/api/me')).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
    expect(await ada.get('/api/me')).toMatchObject({ roles: [{ key: 'owner' }] });
    const members = await ada.get<{ items: unknown[] }>('/api/members');
    expect(members.items).toHaveLength(2);
  });

  test('A-29: provisioning again keeps the owner and the window', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    const again = await fixture.platform('POST', '/internal/provision', {
      tenantId,
      scopeId,
      name: 'Pipes & Sons',
    });
    expect(await again.json()).toEqual({ scopeId, status: 'unchanged', ownerSeat: 'claimed' });
    expect(await ada.get('/api/me')).toMatchObject({ roles: [{ key: 'owner' }] });
  });
});

describe('another tenant', () => {
  test('is not entered with a session of this one', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const trespasser = fixture.visitor(fixture.sparks, await fixture.cookieOf(fixture.pipes, 'ada', 'Ada'));
    expect(await trespasser.get('/api/me')).toMatchObject({ status: 'signed_out', business: 'Sparks' });
    expect(await trespasser.refused('GET', '/api/orders')).toMatchObject({ status: 401 });
  });

  test('is not entered by a router that got the scope wrong', async () => {
    const mixed = { ...fixture.pipes, scope: fixture.sparks.scope };
    const ada = fixture.visitor(mixed, await fixture.cookieOf(fixture.pipes, 'ada', 'Ada'));
    expect(await ada.refused('GET', '/api/orders')).toMatchObject({ status: 404 });
  });

  test('is not chosen by a header, and without an instance there is nothing', async () => {
    const headers = { 'x-freehold-node': JSON.stringify(fixture.pipes), 'x-tenant': fixture.pipes.tenant };
    for (const path of ['/', '/api/me', '/api/orders', '/api/auth/login']) {
      const response = await fixture.fieldwork.app.fetch(
        new Request(`https://pipes.example${path}`, { headers }),
        {
          node: null,
        },
      );
      expect(response.status, path).toBe(404);
    }
  });

  test('sees nothing of this one’s orders, members, invites, history or denials', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    const customer = await ada.post<{ id: string }>('/api/customers', { name: 'Secret customer' });
    const order = await ada.post<{ id: string }>('/api/orders', {
      customer: customer.id,
      title: 'Secret job',
    });
    await ada.post('/api/invites', { role: 'technician', email: 'secret@example.org' });

    const bob = await fixture.signedIn(fixture.sparks, 'bob', 'Bob');
    await bob.get('/api/me');
    for (const path of ['/api/orders', '/api/customers', '/api/invites', '/api/denials', '/api/invoices']) {
      expect(await bob.get(path), path).toMatchObject({ items: [] });
    }
    const members = await bob.get<{ items: { name: string }[] }>('/api/members');
    expect(members.items.map(({ name }) => name)).toEqual(['Bob']);
    for (const path of [
      `/api/orders/${order.id}`,
      `/api/orders/${order.id}/history`,
      `/api/customers/${customer.id}`,
    ]) {
      expect(await bob.refused('GET', path)).toMatchObject({ status: 404 });
    }
  });
});

describe('the platform’s own door', () => {
  test('D-04: is closed without the secret, and with another', async () => {
    for (const secret of ['', 'another secret']) {
      const response = await fixture.platform('POST', '/internal/provision', {}, secret);
      expect(response.status).toBe(403);
    }
  });

  test('D-04: is closed to everybody when no secret is configured', async () => {
    const open = makeApp(declared, {
      engine: fixture.engine,
      vault: openVault(fixture.engine),
      platformSecret: undefined,
      now: () => fixture.clock.nowMs,
      random: (bytes) => new Uint8Array(bytes),
      fetch: async () => new Response(null, { status: 503 }),
      onIncident: () => undefined,
    });
    const response = await open.app.fetch(
      new Request('http://internal.example/internal/owner-seat', { headers: { 'x-platform-secret': '' } }),
      { node: null },
    );
    expect(response.status).toBe(403);
  });
});

describe('sign-in that is not set up', () => {
  test('A-16, A-19: is 503 in words, and never lets anybody in', async () => {
    const late = { ...fixture.pipes, scope: fixture.pipes.scope.replace(/1$/, '7') as never };
    await fixture.provision(late, 'Late');
    const cookie = await fixture.cookieOf(late, 'ada', 'Ada');
    expect(await fixture.visitor(late, cookie).refused('GET', '/api/me')).toMatchObject({
      status: 503,
      code: 'unavailable',
      reason: 'sign_in_not_configured',
    });
    expect(await fixture.visitor(late).refused('GET', '/api/auth/login')).toMatchObject({ status: 503 });
    // A person who navigates there reads it on a page.
    const page = await fixture
      .visitor(late)
      .request('GET', '/api/auth/login', undefined, { accept: 'text/html' });
    expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
  });

  test('takes effect with the next request once it is delivered', async () => {
    const late = { ...fixture.pipes, scope: fixture.pipes.scope.replace(/1$/, '7') as never };
    await fixture.provision(late, 'Late');
    const { tenant: tenantId, scope: scopeId } = late;
    await fixture.platform('POST', '/internal/configure', { tenantId, scopeId, config: fixture.choice });
    expect(await (await fixture.signedIn(late, 'ada')).get('/api/me')).toMatchObject({ status: 'member' });
  });

  test('takes the operator’s default where nothing was delivered, and what was delivered elsewhere', async () => {
    await using other = await openFixture({
      defaultIdentity: { issuer: 'https://default.example', clientId: 'x' },
    });
    const directory = (tenant: string) => other.engine.unit(other.fieldwork.units.identity, tenant);
    const late = { ...other.pipes, scope: other.pipes.scope.replace(/1$/, '7') as never };
    await other.provision(late, 'Late');
    expect(await directory(late.tenant).getConfig({ scopeId: late.scope })).toEqual({
      'platform:auth': '{"mode":"oidc","issuer":"https://default.example","clientId":"x"}',
    });
    expect(await directory(other.pipes.tenant).getConfig({ scopeId: other.pipes.scope })).toEqual(
      other.choice,
    );
  });
});

describe('the team', () => {
  test('A-32, A-33: an invite brings a person in at its role, and names the inviter on the way', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    const { url } = await ada.post<{ url: string }>('/api/invites', { role: 'technician' });
    expect(url).toMatch(/^https:\/\/pipes\.example\/\?invite=/);
    const token = new URL(url).searchParams.get('invite') ?? '';
    const jo = await fixture.signedIn(fixture.pipes, 'jo', 'Jo');
    expect(await jo.get(`/api/invites?token=${token}`)).toMatchObject({
      role: 'technician',
      invitedBy: 'Ada',
    });
    await jo.post('/api/accept-invite', { token });
    expect(await jo.get('/api/me')).toMatchObject({ status: 'member', roles: [{ key: 'technician' }] });
    const { items } = await ada.get<{ items: object[] }>('/api/members');
    expect(items).toMatchObject([
      { name: 'Ada', email: 'ada@example.org', roles: ['owner'], owner: true, you: true },
      { name: 'Jo', email: 'jo@example.org', roles: ['technician'], owner: false, you: false },
    ]);
  });

  test('shows addresses to those alone who manage it', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: jo } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const { items } = await jo.get<{ items: object[] }>('/api/members');
    expect(items).toMatchObject([
      { name: 'ada', email: null },
      { name: 'jo', email: 'jo@example.org' },
    ]);
  });

  test('is managed by owners only', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: di } = await joinTeam(fixture, ada, fixture.pipes, 'di', 'dispatcher');
    const { principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const denied = { status: 403, code: 'permission_denied' };
    expect(await di.refused('POST', '/api/invites', { role: 'technician' })).toMatchObject(denied);
    expect(await di.refused('GET', '/api/invites')).toMatchObject(denied);
    expect(await di.refused('POST', `/api/members/${principal}/remove`, {})).toMatchObject(denied);
    expect(await di.refused('POST', `/api/members/${principal}/role`, { role: 'owner' })).toMatchObject(
      denied,
    );
    expect(await di.refused('GET', '/api/denials')).toMatchObject(denied);
  });

  test('a new role holds with the next request, and takes the place of the old one', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    expect(await jo.refused('GET', '/api/customers')).toMatchObject({ code: 'permission_denied' });
    await ada.post(`/api/members/${principal}/role`, { role: 'dispatcher' });
    expect(await jo.get('/api/customers')).toMatchObject({ items: [] });
    expect(await jo.get('/api/me')).toMatchObject({ roles: [{ key: 'dispatcher' }] });
    expect(await ada.refused('POST', `/api/members/${principal}/role`, { role: 'emperor' })).toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'role' }],
    });
  });

  test('a removed member is a stranger with the next request, and loses what was assigned', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    const customer = await ada.post<{ id: string }>('/api/customers', { name: 'C' });
    const order = await ada.post<{ id: string }>('/api/orders', { customer: customer.id, title: 'T' });
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await ada.post(`/api/orders/${order.id}/assign`, { assignee: principal });
    expect(await jo.get(`/api/orders/${order.id}`)).toMatchObject({ id: order.id });
    await ada.post(`/api/members/${principal}/remove`);
    expect(await jo.get('/api/me')).toMatchObject({ status: 'stranger' });
    expect(await jo.refused('GET', `/api/orders/${order.id}`)).toMatchObject({ reason: 'not_a_member' });
    const { permissions } = await fixture.fieldwork.host
      .scope(fixture.pipes.scope)
      .holdings({ principal: principal as never });
    expect(permissions).toEqual([]);
    expect(await ada.refused('POST', `/api/members/${principal}/remove`, {})).toMatchObject({ status: 404 });
  });

  test('always keeps the holder of the owner seat, and no member changes themselves', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    const { principal: adas } = await ada.get<{ principal: string }>('/api/me');
    const only = { code: 'conflict', reason: 'last_owner' };
    expect(await ada.refused('POST', `/api/members/${adas}/remove`, {})).toMatchObject(only);
    const { member: ben, principal: bens } = await joinTeam(fixture, ada, fixture.pipes, 'ben', 'owner');
    for (const [who, whom, reason] of [
      [ben, adas, 'owner_seat_held'],
      [ada, adas, 'owner_seat_held'],
      [ben, bens, 'own_membership'],
    ] as const) {
      expect(await who.refused('POST', `/api/members/${whom}/remove`, {})).toMatchObject({
        code: 'conflict',
        reason,
      });
      expect(await who.refused('POST', `/api/members/${whom}/role`, { role: 'technician' })).toMatchObject({
        reason,
      });
    }
  });
});

test('a page of another site can do nothing in a member’s name', async () => {
  const ada = await fixture.signedIn(fixture.pipes, 'ada');
  await ada.get('/api/me');
  const foreign = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ];
  for (const headers of foreign) {
    for (const path of [
      '/api/claim',
      '/api/customers',
      '/api/invites',
      '/api/members/prn_x/remove',
      '/api/accept-invite',
    ]) {
      const problem = await ada.refused('POST', path, { name: 'x', token: 'x', role: 'technician' }, headers);
      expect(problem.code, path).toBe('forbidden');
    }
  }
  await ada.post('/api/customers', { name: 'ours' });
  expect(
    (await ada.request('POST', '/api/customers', { name: 'ours' }, { origin: fixture.pipes.origin })).status,
  ).toBe(201);
});
