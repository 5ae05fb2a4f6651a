/** A tenant's builders sign in as staff do, and are in their tenant what a push token is (design: control-plane, "Actors"). */
import { adminOperations } from '@freehold/directory/declarations';
import { describe, expect, test } from 'vitest';
import { modernCall } from '../../../vertical-host/test/mcp/messages.ts';
import { adminToolsOf } from '../../src/mcp/admin-tools.ts';
import { makeBrowser } from '../connect/browser.ts';
import { type Fixture, ORIGIN, openFixture, ownPage, signedIn, tokenOf } from './fixture.ts';
import { chooses, openFixtureWithIssuer } from './fixture-with-issuer.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const me = async (fixture: Fixture, token: string) =>
  (await fixture.ask('/auth/me', { headers: bearer(token) })).json();

/** As the operator. */
const operate = (fixture: Fixture, path: string, method: string, body?: object) =>
  fixture.ask(path, {
    method,
    headers: { ...bearer(fixture.secret), 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

const suspend = (fixture: Fixture, tenant: string, status = 'suspended') =>
  operate(fixture, `/tenants/${tenant}/status`, 'PUT', { status });

/** Two tenants, and the builder of the first, whose cookie is `who=bob`. */
async function withBob(options: Parameters<typeof openFixture>[0] = {}) {
  const fixture = await openFixture(options);
  const [ours, theirs] = [await fixture.tenant('acme'), await fixture.tenant('globex')];
  const bob = await signedIn(fixture, 'bob', 'builder', ours.id);
  return { fixture, ours, theirs, bob };
}

describe('with a browser, at a certified OpenID provider', () => {
  async function open() {
    const { fixture, issuer } = await openFixtureWithIssuer(ORIGIN);
    const browser = makeBrowser({ [new URL(ORIGIN).host]: fixture.send }, []);
    const [ours, theirs] = [await fixture.tenant('acme'), await fixture.tenant('globex')];
    const ada = await fixture.invite('ada', 'builder', ours.id);
    const signIn = async () =>
      chooses(browser, issuer, (await browser.go(`${ORIGIN}/auth/login`)).response, 'ada');
    const go = async (path: string, init?: RequestInit) =>
      (await browser.go(`${ORIGIN}${path}`, init)).response;
    return { fixture, ours, theirs, ada, signIn, go };
  }

  test('a builder signs in, reads what is theirs, and finds nothing of anybody else', async () => {
    const { ours, theirs, ada, signIn, go } = await open();
    const landed = await signIn();
    expect(await landed.response.text()).toContain(`signed in as ada, builder of ${ours.id}`);
    expect(await (await go('/auth/me')).json()).toEqual({
      kind: 'builder',
      id: ada.id,
      name: 'ada',
      role: 'builder',
      tenant: ours.id,
    });
    expect(await (await go('/tenants')).json()).toMatchObject({ items: [{ id: ours.id }] });
    expect((await go(`/tenants/${ours.id}/scopes`)).status).toBe(200);
    const nowhere = `${theirs.id.slice(0, 4)}${'0'.repeat(26)}`;
    const answers = [];
    for (const tenant of [theirs.id, nowhere]) {
      const response = await go(`/tenants/${tenant}/scopes`);
      const { requestId: _, ...problem } = (await response.json()) as Record<string, unknown>;
      answers.push({ status: response.status, problem });
    }
    expect(answers[0]).toMatchObject({ status: 404, problem: { reason: 'unknown_tenant' } });
    expect(answers[1]).toEqual(answers[0]);
    for (const path of ['/staff', '/service-tokens', '/admin-log'])
      expect([path, await (await go(path)).json()]).toMatchObject([path, { reason: 'staff_only' }]);
  });

  test('a page elsewhere cannot act for a builder', async () => {
    const { ours, signIn, go } = await open();
    await signIn();
    const bind = (site: string) =>
      go('/hostnames', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': site },
        body: JSON.stringify({
          hostname: 'www.example.org',
          tenant: ours.id,
          scope: `scp_${'0'.repeat(26)}`,
        }),
      });
    for (const site of ['cross-site', 'same-site'])
      expect(await (await bind(site)).json()).toMatchObject({ status: 403, reason: 'cross_site' });
    expect(await (await bind('same-origin')).json()).toMatchObject({ status: 404 });
  });

  test('a tenant that is suspended has no builder: signed in already, or about to', async () => {
    const { fixture, ours, signIn, go } = await open();
    await signIn();
    await suspend(fixture, ours.id);
    for (const path of ['/auth/me', '/tenants']) expect((await go(path)).status).toBe(401);
    // The issuer still knows who they are.
    const response = await go('/auth/login');
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('<code>tenant_not_active</code>');
    await suspend(fixture, ours.id, 'active');
    await go('/auth/login');
    expect((await go('/tenants')).status).toBe(200);
  });

  test('a builder who is removed is out with the next request', async () => {
    const { fixture, ada, signIn, go } = await open();
    await signIn();
    await operate(fixture, `/staff/${ada.id}`, 'DELETE');
    expect((await go('/tenants')).status).toBe(401);
    expect(await (await go('/auth/login')).text()).toContain('<code>not_on_roster</code>');
  });
});

describe('a program of a builder', () => {
  test('is given a token by a code with PKCE, for as long as the builder may', async () => {
    const { fixture, ours, theirs, bob } = await withBob();
    const token = await tokenOf(fixture, 'bob');
    expect(await me(fixture, token)).toMatchObject({ kind: 'builder', id: bob.id, tenant: ours.id });
    const headers = bearer(token);
    expect((await fixture.ask(`/tenants/${ours.id}`, { headers })).status).toBe(200);
    expect((await fixture.ask(`/tenants/${theirs.id}`, { headers })).status).toBe(404);
    expect((await fixture.ask('/staff', { headers })).status).toBe(403);
    await suspend(fixture, ours.id);
    expect((await fixture.ask(`/tenants/${ours.id}`, { headers })).status).toBe(401);
  });

  test('is given one by a code that the builder types', async () => {
    const { fixture, ours, bob } = await withBob();
    const started = await fixture.post('/oauth/device_authorization', { client_id: 'freehold-cli' });
    const codes = (await started.json()) as { device_code: string; user_code: string };
    const page = await fixture.post(
      '/device',
      { user_code: codes.user_code, decision: 'look' },
      ownPage('bob'),
    );
    expect(await page.text()).toContain(`You are bob, builder of ${ours.id}.`);
    await fixture.post('/device', { user_code: codes.user_code, decision: 'approve' }, ownPage('bob'));
    const answer = await fixture.post('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'freehold-cli',
      device_code: codes.device_code,
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    expect(await me(fixture, token)).toMatchObject({ kind: 'builder', id: bob.id, tenant: ours.id });
  });

  test('is listed exactly the tools that it may call', async () => {
    const { fixture } = await withBob();
    const call = modernCall('tools/list');
    const response = await fixture.send(
      new Request(`${ORIGIN}/mcp`, {
        ...call,
        headers: { ...call.headers, ...bearer(await tokenOf(fixture, 'bob')) },
      }),
    );
    const { result } = (await response.json()) as { result: { tools: { name: string }[] } };
    expect(result.tools.map(({ name }) => name)).toEqual(
      adminToolsOf(adminOperations)
        .filter(({ operation }) => operation.builder === 'own-tenant')
        .map(({ name }) => name),
    );
  });

  test('and the builder’s browser share one allowance', async () => {
    const { fixture } = await withBob({ rateLimit: { calls: 3, windowSeconds: 60 } });
    const headers = bearer(await tokenOf(fixture, 'bob'));
    const statuses = [];
    for (const each of [headers, ownPage('bob'), headers, ownPage('bob'), headers])
      statuses.push((await fixture.ask('/tenants', { headers: each })).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });
});

test('who a token is: a service token has the role of its owner, the operator’s own and a push token have none', async () => {
  const { fixture, ours } = await withBob();
  await signedIn(fixture, 'eve', 'admin');
  const mint = async (path: string, headers: Record<string, string>, body: object) => {
    const response = await fixture.ask(path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { secret: string }).secret;
  };
  const owned = await mint('/service-tokens', ownPage('eve'), { name: 'nightly' });
  const push = await mint('/push-tokens', bearer(fixture.secret), { name: 'ci', tenant: ours.id });
  expect(await me(fixture, owned)).toMatchObject({ kind: 'service', role: 'admin', tenant: null });
  expect(await me(fixture, fixture.secret)).toMatchObject({ kind: 'service', role: null, tenant: null });
  expect(await me(fixture, push)).toMatchObject({ kind: 'builder', role: null, tenant: ours.id });
});
