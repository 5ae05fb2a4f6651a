/**
 * Every dependency of the relying party, broken at every step: no user is signed in by it, and no signed-in user
 * is signed out or replaced. Userinfo alone is optional: without it a user signs in by the ID token. spec B-02, B-03,
 * B-11, B-16.
 */
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import type { FakeUser } from '../../testkit/src/oidc/fake-issuer.ts';
import { ALICE, APP, type Fixture, makeFixture, SECRET } from '../../testkit/src/oidc/fixture.ts';
import { parseOidcEnv } from '../src/env.ts';
import { OidcConfigError } from '../src/lib/errors.ts';
import { mountOidcRoutes } from '../src/mount.ts';
import { makeRelyingParty } from '../src/relying-party.ts';
import { makeSessionCookies } from '../src/session.ts';

/** A user whose ID token has so few claims that the userinfo endpoint is asked. */
const BOB: FakeUser = { sub: 'bob-1' };

/** The requests to the issuer at login and at callback, in a process that has just started. */
const AT_LOGIN = ['/.well-known/openid-configuration', '/par'];
const AT_CALLBACK = ['/.well-known/openid-configuration', '/token', '/jwks'];

const FAILURES: readonly [string, () => Promise<Response> | Response][] = [
  ['refuses connections', () => Promise.reject(new TypeError('fetch failed'))],
  ['answers 500', () => new Response('oops', { status: 500 })],
  ['answers 503', () => new Response(null, { status: 503, headers: { 'retry-after': '60' } })],
  ['answers 429', () => new Response(null, { status: 429 })],
  ['answers 404', () => Response.json({ error: 'not_found' }, { status: 404 })],
  ['answers 401', () => Response.json({ error: 'invalid_client' }, { status: 401 })],
  ['answers 204', () => new Response(null, { status: 204 })],
  ['redirects elsewhere', () => Response.redirect('https://evil.example/', 307)],
  [
    'answers a page',
    () => new Response('<html>Sign in to the Wi-Fi', { headers: { 'content-type': 'text/html' } }),
  ],
  ['answers nothing', () => new Response('', { headers: { 'content-type': 'application/json' } })],
  [
    'answers half of it',
    () => new Response('{"issuer":', { headers: { 'content-type': 'application/json' } }),
  ],
  ['answers null', () => Response.json(null)],
  ['answers a list', () => Response.json([])],
  ['answers an empty object', () => Response.json({})],
  ['breaks off', () => new Response(brokenStream(), { headers: { 'content-type': 'application/json' } })],
];

const breaking =
  (path: string, failure: () => Promise<Response> | Response) =>
  (request: { path: string }): Promise<Response> | Response | undefined =>
    request.path === path ? failure() : undefined;

const userOf = ({ rp, browser }: Fixture): string | undefined =>
  rp.sessionFromHeaders(browser.request(`${APP}/page`).headers)?.id;

/** Returns the names of the cookies that a response sets to a value. */
const cookiesSet = (response: Response): string[] =>
  response.headers.getSetCookie().flatMap((line) => /^([^=]+)=[^;]/.exec(line)?.[1] ?? []);

describe.each(AT_LOGIN)('a login whose %s', (path) => {
  test.each(FAILURES)('%s starts nothing: 502 or 503, and no cookie', async (_, failure) => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.metadata = { require_pushed_authorization_requests: true };
    issuer.behaviour.intercept = breaking(path, failure);
    const response = await visit('/api/auth/login');
    expect([502, 503]).toContain(response.status);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(response.headers.get('location')).toBeNull();
  });
});

describe.each(AT_CALLBACK)('a callback whose %s', (path) => {
  test.each(FAILURES)('%s signs no user in: 502 or 503, and never 401', async (_, failure) => {
    const { fixture, response } = await callBack(path, failure);
    expect([502, 503]).toContain(response.status);
    expect(cookiesSet(response)).toEqual([]);
    expect(userOf(fixture)).toBeUndefined();
    expect(await response.text()).not.toMatch(/evil|invalid_client|oops|Wi-Fi/);
  });

  test.each(FAILURES)('%s leaves the user who was signed in before as they are', async (_, failure) => {
    const { fixture, response } = await callBack(path, failure, ALICE);
    expect([502, 503]).toContain(response.status);
    expect(cookiesSet(response)).toEqual([]);
    expect(userOf(fixture)).toBe(ALICE.sub);
  });

  test('never answers signs no user in once its time is over', async () => {
    const controllers: AbortController[] = [];
    const deadline = (): AbortSignal => {
      const controller = new AbortController();
      controllers.push(controller);
      return controller.signal;
    };
    const fixture = await makeFixture({ relyingParty: { deadline } });
    const request = fixture.browser.request(await fixture.approve({ user: BOB }));
    fixture.issuer.behaviour.intercept = breaking(path, () => new Promise<Response>(() => {}));
    const asked = fixture.issuer.count(path);
    const waiting = fixture.other({}).handle(request);
    while (fixture.issuer.count(path) === asked) await new Promise((resolve) => setImmediate(resolve));
    for (const controller of controllers) controller.abort(new DOMException('too late', 'TimeoutError'));
    const response = await waiting;
    expect(response.status).toBe(503);
    expect(cookiesSet(response)).toEqual([]);
  });

  test('works after all: the same sign-in without the fault succeeds', async () => {
    const { fixture, response } = await callBack('none', () => new Response());
    expect(response.status).toBe(302);
    expect(cookiesSet(response)).toEqual(['sb_session', 'sb_oidc_idt']);
    expect(userOf(fixture)).toBe('bob-1');
    expect(fixture.issuer.count(path)).toBeGreaterThan(0);
  });
});

test.each(FAILURES)('a callback whose /userinfo %s signs the user in by the ID token', async (_, failure) => {
  const { fixture, response } = await callBack('/userinfo', failure, ALICE);
  expect(response.status).toBe(302);
  expect(userOf(fixture)).toBe('bob-1');
});

describe('a sign-out whose issuer', () => {
  test.each(FAILURES)('%s is a sign-out', async (_, failure) => {
    const fixture = await makeFixture();
    await fixture.signIn();
    fixture.issuer.behaviour.intercept = breaking('/.well-known/openid-configuration', failure);
    const request = fixture.browser.request(`${APP}/api/auth/logout?federated&returnTo=%2Fbye`);
    const response = await fixture.other({}).handle(request);
    fixture.browser.store(request.url, response);
    expect(response.headers.get('location')).toBe('/bye');
    expect(userOf(fixture)).toBeUndefined();
  });
});

describe('a missing or short SESSION_SECRET', () => {
  const KNOWN = { OIDC_ISSUER: 'https://issuer.example', OIDC_CLIENT_ID: 'client-1' };

  test.each([
    ['absent', undefined],
    ['empty', ''],
    ['only commas', ' , ,'],
    ['31 bytes', 'x'.repeat(31)],
    ['a long one and a short one', `${SECRET},short`],
    ['no text', 7],
    ['an empty list', []],
  ])('(%s) configures nothing, so that no cookie can be signed or believed', async (_, secret) => {
    expect(() => parseOidcEnv({ ...KNOWN, SESSION_SECRET: secret })).toThrow(OidcConfigError);
    const app = new Hono();
    mountOidcRoutes(app);
    app.onError((error, c) => c.text(error.name, 500));
    for (const path of ['/api/auth/login', '/api/auth/callback?code=x&state=x', '/api/auth/logout']) {
      const response = await app.request(`${APP}${path}`, {}, { ...KNOWN, SESSION_SECRET: secret });
      expect([response.status, await response.text()]).toEqual([500, 'OidcConfigError']);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
  });

  test('makes no relying party and no session cookies by hand either', () => {
    const now = (): number => 0;
    const random = (bytes: number): Uint8Array => new Uint8Array(bytes);
    const fetch = (): Promise<Response> => Promise.reject(new Error('no network'));
    for (const secrets of [[], [''], ['short'], [SECRET, '']]) {
      const env = { issuer: 'https://issuer.example', clientId: 'client-1', sessionSecrets: secrets };
      expect(() => makeRelyingParty({ env, fetch, now })).toThrow(OidcConfigError);
      expect(() => makeSessionCookies({ issuer: 'urn:x', secrets, audience: 'a', now, random })).toThrow(
        OidcConfigError,
      );
    }
  });
});

describe('a clock that answers no number', () => {
  const broken = (fixture: Fixture) => fixture.other({ now: () => Number.NaN });

  test('ends every session, and mints none', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const { headers } = fixture.browser.request(`${APP}/page`);
    expect(fixture.rp.sessionFromHeaders(headers)?.id).toBe(ALICE.sub);
    expect(broken(fixture).sessionFromHeaders(headers)).toBeNull();
    expect(broken(fixture).verifySession(broken(fixture).mintSession({ id: 'a' }))).toBeNull();
  });

  test('ends every pending sign-in', async () => {
    const fixture = await makeFixture();
    const request = fixture.browser.request(await fixture.approve());
    const response = await broken(fixture).handle(request);
    expect(response.status).toBe(400);
    expect(cookiesSet(response)).toEqual([]);
    expect(fixture.issuer.count('/token')).toBe(0);
  });

  test('believes no token of the issuer, however long ago it expired', async () => {
    const fixture = await makeFixture();
    const token = await fixture.issuer.logoutToken({ sub: 'alice-1' });
    await expect(broken(fixture).issuer.verifyJwt(token)).rejects.toThrow(/clock/);
  });
});

test('randomness that fails starts no sign-in', async () => {
  const random = (): never => {
    throw new Error('no entropy');
  };
  const { rp } = await makeFixture({ relyingParty: { random } });
  await expect(rp.handle(new Request(`${APP}/api/auth/login`))).rejects.toThrow('no entropy');
});

/** Bob's callback in a process that has just started, while one address of the issuer is broken. */
async function callBack(
  path: string,
  failure: () => Promise<Response> | Response,
  before?: FakeUser,
): Promise<{ fixture: Fixture; response: Response }> {
  const fixture = await makeFixture();
  if (before !== undefined) await fixture.signIn({ user: before });
  const request = fixture.browser.request(await fixture.approve({ user: BOB }));
  fixture.issuer.behaviour.intercept = breaking(path, failure);
  const response = await fixture.other({}).handle(request);
  fixture.browser.store(request.url, response);
  return { fixture, response };
}

function brokenStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
}
