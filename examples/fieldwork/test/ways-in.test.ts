/** What holds whichever way people come in, and what differs between the ways. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acceptInvite, openStreet } from './street.ts';
import { type Mode, openWay, postForm, type WayIn } from './ways.ts';

const MODES = ['hosted', 'tokens', 'directory'] as const satisfies readonly Mode[];

let way: WayIn;
afterEach(async () => {
  const { incidents } = way.street;
  await way.street[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

// spec A-02: the application is the same behind each of them.
describe.each(MODES)('coming in by %s', (mode) => {
  beforeEach(async () => {
    way = await openWay(mode);
  });

  test('A-04: nobody is refused, and told what there is to do about it', async () => {
    const { street } = way;
    const response = await street.visitor(street.pipes).request('GET', '/api/orders');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      401,
      'application/problem+json',
    ]);
    const problem = (await response.json()) as { code: string; loginUrl?: string };
    expect(problem.code).toBe('unauthenticated');
    expect(problem.loginUrl).toBe(mode === 'tokens' ? undefined : '/api/auth/login?returnTo=%2F');
    expect(response.headers.get('www-authenticate')).toBe(
      mode === 'tokens'
        ? 'Bearer resource_metadata="https://pipes.example/.well-known/oauth-protected-resource"'
        : 'Bearer',
    );
  });

  test('the page is told which way it is', async () => {
    const { street } = way;
    expect(await street.visitor(street.pipes).get('/api/me')).toMatchObject({
      status: 'signed_out',
      business: 'Pipes & Sons',
      signIn: mode === 'directory' ? { mode, securityUrl: '/api/auth/security' } : { mode },
    });
  });

  test('A-05, A-25: the first is the owner, and the second a stranger', async () => {
    const { street, enter } = way;
    const ada = await enter(street.pipes, 'ada', 'Ada');
    expect(await ada.get('/api/me')).toMatchObject({
      status: 'member',
      subject: { name: 'Ada', email: 'ada@example.org', emailVerified: true },
      roles: [{ key: 'owner' }],
    });
    const eve = await enter(street.pipes, 'eve');
    expect(await eve.get('/api/me')).toMatchObject({ status: 'stranger', principal: null });
    expect(await eve.refused('GET', '/api/orders')).toMatchObject({ status: 403, reason: 'not_a_member' });
  });

  test('A-32, A-33: an invite makes a member, who does what the role allows', async () => {
    const { street, enter } = way;
    const ada = await enter(street.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const { member: jo } = await acceptInvite(ada, await enter(street.pipes, 'jo', 'Jo'), 'technician');
    expect(await jo.get('/api/me')).toMatchObject({ status: 'member', roles: [{ key: 'technician' }] });
    expect(await jo.get('/api/orders')).toMatchObject({ items: [] });
    expect(await jo.refused('GET', '/api/customers')).toMatchObject({ code: 'permission_denied' });
  });

  test('A-22: whoever is somebody at one business is nobody at another', async () => {
    const { street, credentialsOf } = way;
    const credentials = await credentialsOf(street.pipes, 'ada');
    const trespasser = street.visitorWith(street.sparks, credentials);
    expect(await trespasser.get('/api/me')).toMatchObject({ status: 'signed_out', business: 'Sparks' });
    expect(await trespasser.refused('GET', '/api/orders')).toMatchObject({ status: 401 });
  });

  test('A-14: a choice that is delivered goes first, with the next request', async () => {
    const { street, enter } = way;
    const { tenant: tenantId, scope: scopeId } = street.pipes;
    const ada = await enter(street.pipes, 'ada');
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member' });
    await street.platform('POST', '/internal/configure', { tenantId, scopeId, config: street.choice });
    expect(await street.visitor(street.pipes).get('/api/me')).toMatchObject({ signIn: { mode: 'hosted' } });
    if (mode !== 'hosted') expect(await ada.get('/api/me')).toMatchObject({ status: 'signed_out' });
    await street.platform('POST', '/internal/configure', {
      tenantId,
      scopeId,
      config: { 'platform:auth': null },
    });
    if (mode !== 'hosted')
      expect(await ada.get('/api/me')).toMatchObject({ status: 'member', signIn: { mode } });
  });

  test('where the API’s tokens are made is said only where it takes any', async () => {
    const { street } = way;
    const nobody = street.visitor(street.pipes);
    const response = await nobody.request('GET', '/.well-known/oauth-protected-resource');
    if (mode === 'tokens') {
      expect(await response.json()).toMatchObject({
        resource: 'https://pipes.example',
        authorization_servers: ['https://issuer.example'],
        resource_name: 'Pipes & Sons',
      });
    } else expect(response.status).toBe(404);
  });
});

describe.each(['hosted', 'directory'] as const)('leaving by %s', (mode) => {
  beforeEach(async () => {
    way = await openWay(mode);
  });

  test('B-12, B-14: a sign-out ends the session, for copies of the cookie too', async () => {
    const { street, credentialsOf } = way;
    const credentials = await credentialsOf(street.pipes, 'ada');
    const ada = street.visitorWith(street.pipes, credentials);
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member' });
    const left = await ada.request('GET', '/api/auth/logout?returnTo=/', undefined, {
      'sec-fetch-site': 'same-origin',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    });
    expect([left.status, left.headers.get('location')]).toEqual([expect.toBeOneOf([302, 303]), '/']);
    expect(await ada.get('/api/me')).toMatchObject({ status: 'signed_out' });
    expect(await ada.refused('GET', '/api/orders')).toMatchObject({ status: 401 });
  });
});

describe('tokens', () => {
  beforeEach(async () => {
    way = await openWay('tokens');
  });

  test('there is nothing to sign in at, or out of', async () => {
    const { street } = way;
    for (const path of ['/api/auth/login', '/api/auth/logout'])
      expect(await street.visitor(street.pipes).refused('GET', path)).toMatchObject({ status: 501 });
  });

  test('A-20: one that is made for another resource, or is no token, is said to be invalid', async () => {
    const { street, credentialsOf } = way;
    const foreign = await credentialsOf(street.sparks, 'ada');
    for (const credentials of [foreign, { authorization: 'Bearer nonsense' }]) {
      const response = await street.visitorWith(street.pipes, credentials).request('GET', '/api/orders');
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token", resource_metadata=/,
      );
    }
  });
});

describe('the directory', () => {
  beforeEach(async () => {
    way = await openWay('directory');
  });

  test('its pages carry the name of the business', async () => {
    const { street } = way;
    const page = await street.visitor(street.pipes).request('GET', '/api/auth/login');
    expect(await page.text()).toContain('Sign in to Pipes &amp; Sons');
  });

  test('attempts are counted by the address that the platform names, and by no header', async () => {
    const { street } = way;
    const ask = async (n: number) =>
      (await postForm(street, street.pipes, '/api/auth/sign-up', { email: `p${n}@example.org`, name: '' }))
        .status;
    street.comeFrom('192.0.2.7');
    const statuses = [];
    for (let n = 0; n < 21; n++) statuses.push(await ask(n));
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(statuses[20]).toBe(429);
    street.comeFrom('198.51.100.1');
    expect(await ask(22)).toBe(200);
  });
});

describe('a way that is not set up', () => {
  const refusedAt = async (...options: Parameters<typeof openStreet>) => {
    const street = await openStreet(...options);
    way = { street } as WayIn;
    return street.visitor(street.pipes).refused('GET', '/api/me');
  };

  test('A-19: accounts without a way to send mail are a fault of the operator', async () => {
    expect(await refusedAt({}, { bindings: { AUTH_PROVIDER: 'directory' }, config: {} })).toMatchObject({
      status: 500,
      reason: 'sign_in_not_configured',
    });
  });

  test('A-17: tokens without an issuer are one as well', async () => {
    expect(await refusedAt({}, { bindings: { AUTH_PROVIDER: 'oidc' }, config: {} })).toMatchObject({
      status: 500,
      reason: 'sign_in_not_configured',
    });
  });

  test('A-16: a name that is none of the ways is 503', async () => {
    expect(await refusedAt({}, { bindings: { AUTH_PROVIDER: 'magic' }, config: {} })).toMatchObject({
      status: 503,
      reason: 'sign_in_not_configured',
    });
  });

  test('A-16: a delivered choice that cannot be used is one too, whatever the binding says', async () => {
    const config = { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer: 'https://issuer.example' }) };
    expect(await refusedAt({}, { bindings: { AUTH_PROVIDER: 'directory' }, config })).toMatchObject({
      status: 503,
      reason: 'sign_in_not_configured',
    });
  });
});
