import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { APP, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { mountOidcRoutes } from './mount.ts';

const KNOWN = {
  OIDC_ISSUER: 'https://issuer.invalid',
  OIDC_CLIENT_ID: 'client-1',
  SESSION_SECRET: 'x'.repeat(32),
};

test('B-09: exactly login, callback and logout are mounted, by GET', () => {
  const app = new Hono();
  mountOidcRoutes(app, { onSuccess: '/', onError: '/oops' });
  expect(app.routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /api/auth/login',
    'GET /api/auth/callback',
    'GET /api/auth/logout',
  ]);
});

test('B-09: onSuccess and onError are checked when mounting', () => {
  expect(() => mountOidcRoutes(new Hono(), { onSuccess: 'https://evil.example' })).toThrow(TypeError);
});

test('B-01, B-10, B-11: a whole sign-in through the mounted routes', async () => {
  const { rp, issuer, browser } = await makeFixture();
  const app = new Hono();
  mountOidcRoutes(app, { onSuccess: '/home', onError: '/oops', resolve: () => rp });
  const login = await app.request(browser.request(`${APP}/api/auth/login`));
  browser.store(APP, login);
  const callback = issuer.approve(login.headers.get('location') ?? '', { sub: 'alice-1' });
  const done = await app.request(browser.request(callback));
  browser.store(APP, done);
  expect(done.headers.get('location')).toBe('/home');
  expect(rp.sessionFromHeaders(browser.request(`${APP}/x`).headers)).toEqual({ id: 'alice-1' });
});

test('the relying party is resolved for each request, so that tenants keep apart', async () => {
  const { rp, other, issuer, browser } = await makeFixture({ relyingParty: { audience: 'tenant-a' } });
  const tenantB = other({ audience: 'tenant-b' });
  const app = new Hono();
  mountOidcRoutes(app, {
    onError: '/oops',
    resolve: async (c) => (c.req.url.startsWith('https://b.') ? tenantB : rp),
  });
  const login = await app.request(browser.request(`${APP}/api/auth/login`));
  browser.store(APP, login);
  const callback = new URL(issuer.approve(login.headers.get('location') ?? '', { sub: 'alice-1' }));
  callback.hostname = 'b.example';
  const refused = await app.request(browser.request(callback.href));
  expect(refused.headers.get('location')).toBe('/oops?error=flow_expired');
});

test('B-01: processes share nothing but the configuration: another one completes the sign-in', async () => {
  const { approve, browser, other } = await makeFixture();
  const app = new Hono();
  mountOidcRoutes(app, { onSuccess: '/home', resolve: () => other({}) });
  const done = await app.request(browser.request(await approve()));
  expect(done.headers.get('location')).toBe('/home');
});

describe('without resolve the worker’s bindings configure it', () => {
  test('B-02: a missing variable is named', async () => {
    const app = new Hono();
    mountOidcRoutes(app);
    app.onError((error, c) => c.text(error.message, 500));
    const response = await app.request(`${APP}/api/auth/logout`, {}, { ...KNOWN, SESSION_SECRET: undefined });
    expect(await response.text()).toMatch(/^SESSION_SECRET /);
  });

  test('B-02: and a whole configuration serves', async () => {
    const app = new Hono();
    mountOidcRoutes(app);
    const response = await app.request(`${APP}/api/auth/logout?returnTo=%2Fbye`, {}, KNOWN);
    expect(response.headers.get('location')).toBe('/bye');
    expect(response.headers.getSetCookie()[0]).toMatch(/^sb_session=;/);
  });
});
