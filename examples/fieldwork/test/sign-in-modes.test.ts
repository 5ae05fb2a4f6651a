/** Facts that hold for every way to sign in, and the differences between the ways. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acceptInvite, openFixture, type Visitor } from './fixture.ts';

import { type Mode, openMode, postForm, type SignInMode } from './sign-in-modes.ts';

const MODES = ['hosted', 'tokens', 'directory'] as const satisfies readonly Mode[];

let opened: SignInMode;
afterEach(async () => {
  const { incidents } = opened.fixture;
  await opened.fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

// spec A-02: the application is the same behind each of them.
describe.each(MODES)('coming in by %s', (mode) => {
  beforeEach(async () => {
    opened = await openMode(mode);
  });

  test('A-04: an anonymous caller is refused, and told what there is to do about it', async () => {
    const { fixture } = opened;
    const response = await fixture.visitor(fixture.pipes).request('GET', '/api/orders');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      401,
      'application/problem+json',
    ]);
    const problem = (await response.json()) as { code: string; loginUrl?: string };
    expect(problem.code).toBe('unauthenticated');
    expect(problem.loginUrl).toBe(mode === 'tokens' ? undefined : '/api/auth/login?returnTo=%2F');
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer resource_metadata="https://pipes.example/.well-known/oauth-protected-resource"',
    );
  });

  test('the page is told which way it is', async () => {
    const { fixture } = opened;
    expect(await fixture.visitor(fixture.pipes).get('/api/me')).toMatchObject({
      status: 'signed_out',
      business: 'Pipes & Sons',
      signIn: mode === 'directory' ? { mode, securityUrl: '/api/auth/security' } : { mode },
    });
  });

  test('A-05, A-25: the first is the owner, and the second a stranger', async () => {
    const { fixture, enter } = opened;
    const ada = await enter(fixture.pipes, 'ada', 'Ada');
    expect(await ada.get('/api/me')).toMatchObject({
      status: 'member',
      subject: { name: 'Ada', email: 'ada@example.org', emailVerified: true },
      roles: [{ key: 'owner' }],
    });
    const eve = await enter(fixture.pipes, 'eve');
    expect(await eve.get('/api/me')).toMatchObject({ status: 'stranger', principal: null });
    expect(await eve.refused('GET', '/api/orders')).toMatchObject({ status: 403, reason: 'not_a_member' });
  });

  test('A-32, A-33: an invite makes a member, who does what the role allows', async () => {
    const { fixture, enter } = opened;
    const ada = await enter(fixture.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const { member: jo } = await acceptInvite(ada, await enter(fixture.pipes, 'jo', 'Jo'), 'technician');
    expect(await jo.get('/api/me')).toMatchObject({ status: 'member', roles: [{ key: 'technician' }] });
    expect(await jo.get('/api/orders')).toMatchObject({ items: [] });
    expect(await jo.refused('GET', '/api/customers')).toMatchObject({ code: 'permission_denied' });
  });

  test('A-22: a member of one business is unknown at another', async () => {
    const { fixture, credentialsOf } = opened;
    const credentials = await credentialsOf(fixture.pipes, 'ada');
    const trespasser = fixture.visitorWith(fixture.sparks, credentials);
    expect(await trespasser.get('/api/me')).toMatchObject({ status: 'signed_out', business: 'Sparks' });
    expect(await trespasser.refused('GET', '/api/orders')).toMatchObject({ status: 401 });
  });

  test('A-14: a choice that is delivered goes first, with the next request', async () => {
    const { fixture, enter } = opened;
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    const ada = await enter(fixture.pipes, 'ada');
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member' });
    await fixture.platform('POST', '/internal/configure', { tenantId, scopeId, config: fixture.choice });
    expect(await fixture.visitor(fixture.pipes).get('/api/me')).toMatchObject({ signIn: { mode: 'hosted' } });
    if (mode !== 'hosted') expect(await ada.get('/api/me')).toMatchObject({ status: 'signed_out' });
    await fixture.platform('POST', '/internal/configure', {
      tenantId,
      scopeId,
      config: { 'platform:auth': null },
    });
    if (mode !== 'hosted')
      expect(await ada.get('/api/me')).toMatchObject({ status: 'member', signIn: { mode } });
  });

  test('the place where the API’s tokens are made is named: here, or at the issuer that alone makes them', async () => {
    const { fixture } = opened;
    const anonymous = fixture.visitor(fixture.pipes);
    const response = await anonymous.request('GET', '/.well-known/oauth-protected-resource');
    expect(await response.json()).toMatchObject({
      resource: 'https://pipes.example',
      authorization_servers: [mode === 'tokens' ? 'https://issuer.example' : 'https://pipes.example'],
      resource_name: 'Pipes & Sons',
    });
    const server = await anonymous.request('GET', '/.well-known/oauth-authorization-server');
    expect(server.status).toBe(mode === 'tokens' ? 404 : 200);
    const asked = await anonymous.request('GET', '/oauth/authorize?client_id=x');
    expect(asked.status).toBe(mode === 'tokens' ? 404 : 303);
  });
});

describe.each(['hosted', 'directory'] as const)('leaving by %s', (mode) => {
  beforeEach(async () => {
    opened = await openMode(mode);
  });

  test('B-12, B-14: a sign-out ends the session, for copies of the cookie too', async () => {
    const { fixture, credentialsOf } = opened;
    const credentials = await credentialsOf(fixture.pipes, 'ada');
    const ada = fixture.visitorWith(fixture.pipes, credentials);
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

  test('a program that a person let in stays when they sign out here, and ends when they sign out everywhere', async () => {
    const { fixture, credentialsOf } = opened;
    const { pipes } = fixture;
    const ada = fixture.visitorWith(pipes, await credentialsOf(pipes, 'ada'));
    expect(await ada.get('/api/me')).toMatchObject({ status: 'member' });
    const token = await letIn(ada, pipes.origin);
    const program = fixture.visitorWith(pipes, { authorization: `Bearer ${token}` });
    expect(await program.get('/api/me')).toMatchObject({ status: 'member', program: { name: 'Desktop' } });
    expect((await program.request('GET', '/api/orders')).status).toBe(200);
    expect((await ada.request('POST', '/api/sessions/end-all', {})).status).toBe(200);
    expect((await program.request('GET', '/api/orders')).status).toBe(401);
  });
});

/** Lets a program in for reading, and returns its access token. */
async function letIn(person: Visitor, origin: string): Promise<string> {
  const post = async (path: string, fields: Record<string, string>) =>
    person.request('POST', path, new URLSearchParams(fields).toString(), {
      'content-type': 'application/x-www-form-urlencoded',
      origin,
    });
  const registered = await person.request('POST', '/oauth/register', {
    client_name: 'Desktop',
    redirect_uris: ['http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const verifier = 'v'.repeat(43);
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: 'http://127.0.0.1:4711/callback',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const page = await (await person.request('GET', `/oauth/authorize?${asked}`)).text();
  const ticket = / name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const answered = await post('/oauth/consent', { ticket, access: 'read', answer: 'yes' });
  const code = new URL(answered.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const grant = { grant_type: 'authorization_code', client_id, code, code_verifier: verifier };
  return ((await (await post('/oauth/token', grant)).json()) as { access_token: string }).access_token;
}

describe('tokens', () => {
  beforeEach(async () => {
    opened = await openMode('tokens');
  });

  test('there is nothing to sign in at, or out of', async () => {
    const { fixture } = opened;
    for (const path of ['/api/auth/login', '/api/auth/logout'])
      expect(await fixture.visitor(fixture.pipes).refused('GET', path)).toMatchObject({ status: 501 });
  });

  test('A-20: one that is made for another resource, or is no token, is said to be invalid', async () => {
    const { fixture, credentialsOf } = opened;
    const foreign = await credentialsOf(fixture.sparks, 'ada');
    for (const credentials of [foreign, { authorization: 'Bearer nonsense' }]) {
      const response = await fixture.visitorWith(fixture.pipes, credentials).request('GET', '/api/orders');
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token", resource_metadata=/,
      );
    }
  });
});

describe('the directory', () => {
  beforeEach(async () => {
    opened = await openMode('directory');
  });

  test('its pages carry the name of the business', async () => {
    const { fixture } = opened;
    const page = await fixture.visitor(fixture.pipes).request('GET', '/api/auth/login');
    expect(await page.text()).toContain('Sign in to Pipes &amp; Sons');
  });

  test('attempts are counted by the address that the platform names, and by no header', async () => {
    const { fixture } = opened;
    const ask = async (n: number) =>
      (await postForm(fixture, fixture.pipes, '/api/auth/sign-up', { email: `p${n}@example.org`, name: '' }))
        .status;
    fixture.comeFrom('192.0.2.7');
    const statuses = [];
    for (let n = 0; n < 21; n++) statuses.push(await ask(n));
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(statuses[20]).toBe(429);
    fixture.comeFrom('198.51.100.1');
    expect(await ask(22)).toBe(200);
  });
});

test.each([
  ['closed', 403],
  ['shut', 403],
  ['open', 200],
])(
  'sign-up with SIGN_UP %s is answered %i, and is a link on the page of sign-in only when it is open',
  async (value, status) => {
    opened = await openMode('directory');
    const { fixture } = opened;
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    const config = { SIGN_UP: value };
    await fixture.platform('POST', '/internal/configure', { tenantId, scopeId, config });
    const visitor = fixture.visitor(fixture.pipes);
    const headers = { accept: 'text/html' };
    expect((await visitor.request('GET', '/api/auth/sign-up', undefined, headers)).status).toBe(status);
    const page = await (await visitor.request('GET', '/api/auth/login', undefined, headers)).text();
    expect(page.includes('/api/auth/sign-up')).toBe(status === 200);
  },
);

describe('an instance that is not set up', () => {
  const refusedAt = async (...options: Parameters<typeof openFixture>) => {
    const fixture = await openFixture(...options);
    opened = { fixture } as SignInMode;
    return fixture.visitor(fixture.pipes).refused('GET', '/api/me');
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

  test('A-16: a sign-in that is repaired works at the next request', async () => {
    const fixture = await openFixture({}, { bindings: { AUTH_PROVIDER: 'magic' }, config: {} });
    opened = { fixture } as SignInMode;
    const visitor = fixture.visitor(fixture.pipes);
    await visitor.refused('GET', '/api/me');
    const { tenant: tenantId, scope: scopeId } = fixture.pipes;
    const config = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://issuer.example' };
    await fixture.platform('POST', '/internal/configure', { tenantId, scopeId, config });
    expect((await visitor.request('GET', '/api/me')).status).toBe(200);
  });

  test('A-16: a delivered choice that cannot be used is one too, whatever the binding says', async () => {
    const config = { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer: 'https://issuer.example' }) };
    expect(await refusedAt({}, { bindings: { AUTH_PROVIDER: 'directory' }, config })).toMatchObject({
      status: 503,
      reason: 'sign_in_not_configured',
    });
  });
});
