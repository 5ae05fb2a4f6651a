import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { APP, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { isPrefetch } from './login.ts';

const query = (response: Response): URLSearchParams =>
  new URL(response.headers.get('location') ?? '').searchParams;

test('B-10: login sets the flow cookie and redirects to the issuer, with PKCE S256, state and nonce', async () => {
  const { visit, rp, browser } = await makeFixture();
  const response = await visit('/api/auth/login?returnTo=%2Finbox');
  expect(response.status).toBe(302);
  expect(response.headers.get('location')).toMatch(/^https:\/\/issuer\.example\/authorize\?/);
  const asked = query(response);
  expect(Object.fromEntries(asked)).toMatchObject({
    client_id: 'client-1',
    response_type: 'code',
    scope: 'openid email profile',
    redirect_uri: `${APP}/api/auth/callback`,
    code_challenge_method: 'S256',
  });
  const claims = JSON.stringify(rp.signers.flow.verify(browser.values('sb_oidc_flow')[0] ?? ''));
  const verifier = /"v":"([\w-]{43})"/.exec(claims)?.[1] ?? '';
  expect(asked.get('code_challenge')).toBe(createHash('sha256').update(verifier).digest('base64url'));
  // 128 bits of the nonce; of the state 96 and a tag of 128.
  expect(asked.get('nonce')).toMatch(/^[\w-]{22}$/);
  expect(asked.get('state')).toMatch(/^[\w-]{38,}$/);
  expect(response.headers.get('cache-control')).toBe('no-store');
});

test('every sign-in has its own state, nonce and challenge', async () => {
  const { visit } = await makeFixture();
  const first = query(await visit('/api/auth/login'));
  const second = query(await visit('/api/auth/login'));
  for (const name of ['state', 'nonce', 'code_challenge']) expect(first.get(name)).not.toBe(second.get(name));
});

test('B-02: BASE_URL forces the redirect origin, else it is the request’s', async () => {
  const forced = await makeFixture({ baseUrl: 'https://fixed.example' });
  expect(query(await forced.visit('http://10.0.0.1/api/auth/login')).get('redirect_uri')).toBe(
    'https://fixed.example/api/auth/callback',
  );
  const own = await makeFixture();
  expect(query(await own.visit('https://other.example/api/auth/login')).get('redirect_uri')).toBe(
    'https://other.example/api/auth/callback',
  );
});

test('nothing in the query but returnTo reaches the issuer', async () => {
  const { visit } = await makeFixture();
  const response = await visit(
    '/api/auth/login?scope=admin&redirect_uri=https://evil.example&prompt=none&state=x',
  );
  const asked = query(response);
  expect(asked.get('scope')).toBe('openid email profile');
  expect(asked.get('redirect_uri')).toBe(`${APP}/api/auth/callback`);
  expect(asked.get('prompt')).toBeNull();
  expect(asked.get('state')).not.toBe('x');
});

test('the application’s own parameters do', async () => {
  const { rp, browser } = await makeFixture();
  const { redirectTo, state } = await rp.beginLogin(browser.request(`${APP}/api/auth/login`), {
    prompt: 'none',
    loginHint: 'alice@example.org',
  });
  const asked = new URL(redirectTo).searchParams;
  expect([asked.get('prompt'), asked.get('login_hint')]).toEqual(['none', 'alice@example.org']);
  expect(asked.get('state')).toBe(state);
});

describe('the link with `switch` has the issuer ask who signs in', () => {
  test.each([
    ['by select_account, when it says nothing of prompts', undefined, 'select_account'],
    ['by select_account, when it has that', ['none', 'login', 'select_account'], 'select_account'],
    ['by login, when it says that it has no other way', ['none', 'login', 'consent'], 'login'],
    ['by select_account, when what it says cannot be read', 'login', 'select_account'],
  ])('%s', async (_, announced, prompt) => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.metadata = { prompt_values_supported: announced };
    expect(query(await visit('/api/auth/login?switch&returnTo=%2Finbox')).get('prompt')).toBe(prompt);
    expect(query(await visit('/api/auth/login')).has('prompt')).toBe(false);
  });

  test('but the application’s own prompt goes before it', async () => {
    const { rp, browser } = await makeFixture();
    const asked = { otherAccount: true, prompt: 'consent' };
    const { redirectTo } = await rp.beginLogin(browser.request(`${APP}/api/auth/login`), asked);
    expect(new URL(redirectTo).searchParams.getAll('prompt')).toEqual(['consent']);
  });
});

test('a query that the authorization endpoint already has is kept', async () => {
  const { visit, issuer } = await makeFixture();
  issuer.behaviour.metadata = { authorization_endpoint: 'https://issuer.example/authorize?tenant=1' };
  expect(query(await visit('/api/auth/login')).get('tenant')).toBe('1');
});

describe('B-12, B-18: an unsafe returnTo is left out', () => {
  test.each(['https://evil.example/', '//evil.example', '/\\evil.example', '/api/auth/logout'])(
    '%s',
    async (returnTo) => {
      const { signIn } = await makeFixture();
      expect((await signIn({ returnTo })).headers.get('location')).toBe('/');
    },
  );
});

describe('a speculative request of the browser starts no flow', () => {
  test.each([
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'x-moz': 'prefetch' },
    { 'next-router-prefetch': '1' },
  ])('%j', async (headers) => {
    const { visit, issuer } = await makeFixture();
    const response = await visit('/api/auth/login', { headers });
    expect(response.status).toBe(503);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(issuer.requests).toEqual([]);
  });

  test('an ordinary navigation is none', () => {
    expect(isPrefetch(new Headers({ 'sec-fetch-mode': 'navigate' }))).toBe(false);
  });
});

describe('an issuer that requires pushed requests (RFC 9126)', () => {
  test('gets them, and the browser carries only the reference', async () => {
    const { visit, issuer, signIn } = await makeFixture();
    issuer.behaviour.metadata = { require_pushed_authorization_requests: true };
    const asked = query(await visit('/api/auth/login'));
    expect([...asked.keys()].sort()).toEqual(['client_id', 'request_uri']);
    const pushed = issuer.requests.find(({ path }) => path === '/par');
    expect(pushed?.body.get('code_challenge_method')).toBe('S256');
    expect((await signIn()).headers.get('location')).toBe('/');
  });

  test('and refuses one, is a failed sign-in', async () => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.metadata = { require_pushed_authorization_requests: true };
    issuer.behaviour.intercept = (request) =>
      request.path === '/par' ? Response.json({ error: 'invalid_request' }, { status: 400 }) : undefined;
    expect((await visit('/api/auth/login')).status).toBe(502);
  });
});

test('the cookie and Secure follow the application’s own scheme', async () => {
  const { visit } = await makeFixture();
  const insecure = await visit('http://umbrel.local/api/auth/login');
  expect(insecure.headers.getSetCookie()[0]).not.toContain('Secure');
  const secure = await visit('/api/auth/login');
  expect(secure.headers.getSetCookie()[0]).toContain('Secure');
});
