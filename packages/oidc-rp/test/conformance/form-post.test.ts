/**
 * oidcc-client-formpost-basic-certification-test-plan: the modules of the basic plan, with an issuer that answers
 * by a form POST. We never request that: a POST from another site comes without our SameSite=Lax flow cookie, and
 * a SameSite=None cookie would come along with every other site's posts too. An issuer answers by redirect unless
 * it is asked otherwise (OAuth 2.0 Form Post Response Mode), so a post must have no effect.
 */
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { APP } from '../../../testkit/src/oidc/fixture.ts';
import { mountOidcRoutes } from '../../src/mount.ts';
import { type Client, makeClient, signedIn } from './client.ts';

/**
 * The post that the issuer's form makes the browser send; `withCookies`: with the cookies that Lax would hold
 * back.
 */
function posted({ browser }: Client, callback: string, { withCookies }: { withCookies: boolean }): Request {
  const { origin, pathname, searchParams } = new URL(callback);
  const address = `${origin}${pathname}`;
  const headers = new Headers(withCookies ? browser.request(address).headers : undefined);
  headers.set('origin', 'https://issuer.example');
  headers.set('content-type', 'application/x-www-form-urlencoded');
  return new Request(address, { method: 'POST', headers, body: searchParams.toString() });
}

// spec B-10
test('oidcc-client-test (form_post): the authorization request asks for no response mode', async () => {
  const client = await makeClient();
  const login = await client.visit('/api/auth/login?response_mode=form_post');
  const asked = new URL(login.headers.get('location') ?? '').searchParams;
  expect(asked.get('response_type')).toBe('code');
  expect(asked.has('response_mode')).toBe(false);
  client.issuer.behaviour.metadata = {
    response_modes_supported: ['form_post'],
    require_pushed_authorization_requests: true,
  };
  client.clock.nowMs += 60 * 60 * 1000;
  await client.visit('/api/auth/login');
  const pushed = client.issuer.requests.find(({ path }) => path === '/par');
  expect(pushed?.body.get('response_type')).toBe('code');
  expect(pushed?.body.has('response_mode')).toBe(false);
});

describe.each([
  ['as a browser sends it, without our cookies', false],
  ['even with our cookies', true],
])('an issuer that posts all the same, %s', (_, withCookies) => {
  // spec B-11
  test('oidcc-client-test (form_post): a posted code is 405 and makes no session', async () => {
    const client = await makeClient();
    const callback = await client.approve();
    const response = await client.rp.handle(posted(client, callback, { withCookies }));
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(client.issuer.count('/token')).toBe(0);
    // The flow is not used up: the redirect still completes it.
    expect(client.outcomeOf(await client.visit(callback))).toEqual(signedIn());
  });

  test('oidcc-client-test-form-post-error: a posted error is 405 and reported nowhere', async () => {
    const client = await makeClient();
    const login = await client.visit('/api/auth/login');
    const callback = client.issuer.refuse(login.headers.get('location') ?? '', 'access_denied');
    const response = await client.rp.handle(posted(client, callback, { withCookies }));
    expect(response.status).toBe(405);
    expect(await response.text()).not.toContain('access_denied');
    expect(client.outcomeOf(response)).toMatchObject({ because: null, user: null });
  });

  test('the mounted routes do not know it', async () => {
    const client = await makeClient();
    const app = new Hono();
    mountOidcRoutes(app, { resolve: () => client.rp });
    const response = await app.request(posted(client, await client.approve(), { withCookies }));
    expect(response.status).toBe(404);
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(client.issuer.count('/token')).toBe(0);
    expect(client.rp.sessionFromHeaders(client.browser.request(`${APP}/page`).headers)).toBeNull();
  });
});
