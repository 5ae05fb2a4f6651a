/** The wiring of fieldwork: each of these facts depends on one word in it. */

import { makeApp } from '@freehold/app';
import { identityEventsResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeFakeIssuer } from '../../../packages/auth/test/fake-issuer.ts';
import declared from '../src/app.ts';
import { type Fixture, joinTeam, openFixture, START_MS, type Visitor } from './fixture.ts';
import { openVault } from './vault.ts';

let fixture: Fixture;
let ada: Visitor;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
});
afterEach(async () => {
  await fixture[Symbol.asyncDispose]();
});

describe('an invite with an e-mail address', () => {
  test.each([
    ['another address', 'eve', true, 'invite_email_mismatch'],
    ['the address, which is not verified', 'jo', false, 'invite_email_unverified'],
  ])('is not for a person with %s', async (_who, sub, verified, reason) => {
    const token = await invite('jo@example.org');
    const visitor = fixture.visitor(fixture.pipes, await fixture.cookieOf(fixture.pipes, sub, sub, verified));
    const problem = await visitor.refused('POST', '/api/accept-invite', { token });
    expect([problem.status, problem.reason]).toEqual([403, reason]);
    expect(await visitor.get('/api/me')).toMatchObject({ status: 'stranger' });
  });

  test('is for a person who has that address, verified', async () => {
    const token = await invite('Jo@Example.org');
    const jo = await fixture.signedIn(fixture.pipes, 'jo');
    await jo.post('/api/accept-invite', { token });
    expect(await jo.get('/api/me')).toMatchObject({ status: 'member' });
  });
});

async function invite(email: string): Promise<string> {
  const { url } = await ada.post<{ url: string }>('/api/invites', { role: 'technician', email });
  return new URL(url).searchParams.get('invite') ?? '';
}

test('a member cannot invite to more than the inviter has', async () => {
  const { host } = fixture.fieldwork;
  const { tenant: tenantId, scope: scopeId } = fixture.pipes;
  // A member who manages the team and plans nothing: a role that the platform adds.
  await host.projectRolesLocal(
    { tenantId, scopeId },
    { keeper: ['member.manage', 'team.read', 'order.list'] },
  );
  const { member: kim, principal } = await joinTeam(fixture, ada, fixture.pipes, 'kim', 'technician');
  await host.scope(scopeId).assignRole({ principal: principal as never, role: 'keeper', by: 'platform' });
  for (const role of ['owner', 'dispatcher'])
    expect(await kim.refused('POST', '/api/invites', { role }), role).toMatchObject({ status: 403 });
  expect((await kim.request('POST', '/api/invites', { role: 'technician' })).status).toBe(201);
});

test('people are sent back to the address that browsers see, whatever the request came in at', async () => {
  const issuer = await makeFakeIssuer({ nowMs: START_MS });
  const choice = JSON.stringify({ mode: 'oidc', issuer: issuer.url, clientId: 'app' });
  await using other = await openFixture(
    { fetch: issuer.fetch as never },
    { config: { 'platform:auth': choice } },
  );
  const node = { ...other.pipes, vertical: 'fieldwork', version: '0.1.0', surface: 'app' };
  const response = await other.fieldwork.app.fetch(
    new Request('http://10.0.0.7:8787/api/auth/login', { headers: { host: 'evil.example' } }),
    { node, clientAddress: null },
  );
  expect(response.status).toBe(302);
  const asked = new URL(response.headers.get('location') ?? '').searchParams;
  expect(asked.get('redirect_uri')).toBe('https://pipes.example/api/auth/callback');
  // Seen at https, a cookie is for https alone.
  expect(response.headers.get('set-cookie')).toMatch(/^sb_oidc_flow=.+; Secure/);
});

test('what an event of the directory tells is shown by its name, and what has none here is not', async () => {
  const { engine } = fixture;
  const talkative = makeApp(declared, {
    engine: {
      ...engine,
      unit: (definition, key, options) => {
        const stub = engine.unit(definition, key, options);
        return new Proxy(stub, {
          get: (target, name) => {
            const method: unknown = Reflect.get(target, name);
            if (name !== 'listIdentityEvents') return method;
            return async (input: unknown) => {
              const page = await (method as (input: unknown) => Promise<{ items: { detail: object }[] }>)(
                input,
              );
              const items = page.items.map((event) => ({
                ...event,
                detail: {
                  ...event.detail,
                  how: 'first_sign_in',
                  name: 'hush',
                  session: 'hush',
                  token: 'hush',
                },
              }));
              return { ...page, items };
            };
          },
        }) as never;
      },
    },
    vault: openVault(engine),
    platformSecret: undefined,
    now: () => fixture.clock.nowMs,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: async () => new Response(null, { status: 503 }),
    onIncident: () => undefined,
  });
  const node = { ...fixture.pipes, vertical: 'fieldwork', version: '0.1.0', surface: 'app' };
  const response = await talkative.app.fetch(
    new Request('https://pipes.example/api/identity-events?limit=200', {
      headers: { cookie: await fixture.cookieOf(fixture.pipes, 'ada', 'Ada') },
    }),
    { node, clientAddress: null },
  );
  const text = await response.text();
  const { items } = identityEventsResponse.parse(JSON.parse(text));
  expect(items.length).toBeGreaterThan(1);
  for (const { detail } of items) expect(detail.how).toBe('first_sign_in');
  expect(text).not.toContain('hush');
});

test('an unexpected error is reported to the operator, and to no other reader', async () => {
  await using broken = await openFixture({
    vault: {
      keys: () => Promise.reject(new Error('the vault burns at 10.0.0.7')),
      allot: () => Promise.reject(new Error('the vault burns at 10.0.0.7')),
      bind: async () => undefined,
      handBack: async () => undefined,
      shred: () => Promise.reject(new Error('the vault burns')),
      shredded: async () => [],
    },
  });
  const bob = await broken.signedIn(broken.pipes, 'bob', 'Bob');
  await bob.get('/api/me');
  const problem = await bob.refused('POST', '/api/customers', { name: 'Müller' });
  expect(problem).toMatchObject({ status: 500, code: 'internal' });
  expect(JSON.stringify(problem)).not.toMatch(/vault|10\.0\.0\.7/);
  expect(broken.incidents.map((each) => (each as Error).message)).toContain('the vault burns at 10.0.0.7');
  expect((await bob.get<{ items: unknown[] }>('/api/customers')).items).toEqual([]);
});

test('no answer is taken for another content type, on any surface', async () => {
  const addresses = new Set(
    fixture.fieldwork.app.routes.map(({ path }) => path.replaceAll(/:\w+/g, 'x').replaceAll('*', 'x')),
  );
  expect(addresses.size).toBeGreaterThan(40);
  for (const address of [...addresses, '/api/me', '/nowhere']) {
    for (const method of ['GET', 'POST']) {
      const response = await ada.request(method, address, method === 'POST' ? {} : undefined);
      await response.body?.cancel();
      expect([address, response.headers.get('x-content-type-options')]).toEqual([address, 'nosniff']);
    }
  }
});

test('how long a scope keeps what happened is delivered like every setting, and judged first', async () => {
  const { tenant: tenantId, scope: scopeId } = fixture.pipes;
  const configure = (policy: string, tenant = tenantId) =>
    fixture.platform('POST', '/internal/configure', {
      tenantId: tenant,
      scopeId,
      config: { 'platform:retention': policy },
    });
  const stored = async () => fixture.fieldwork.host.scope(scopeId).retention({});
  expect(await stored()).toMatchObject({ historyDays: null, denialsDays: 730 });
  expect((await configure('for ever')).status).toBe(400);
  expect((await configure('{"historyDays":400}', fixture.sparks.tenant)).status).toBe(404);
  expect(await stored()).toMatchObject({ historyDays: null, denialsDays: 730 });
  expect((await configure('{"historyDays":400}')).status).toBe(200);
  expect(await stored()).toMatchObject({ historyDays: 400 });
});
