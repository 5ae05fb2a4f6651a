import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { ALICE, APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import {
  BACKCHANNEL_LOGOUT_PATH,
  type BackchannelLogoutHooks,
  handleBackchannelLogout,
  mountBackchannelLogout,
} from './backchannel-logout.ts';
import type { OidcError } from './lib/errors.ts';
import type { LogoutToken } from './logout-token.ts';
import { mountOidcRoutes } from './mount.ts';
import type { SignedIn } from './routes.ts';

const ADDRESS = `${APP}${BACKCHANNEL_LOGOUT_PATH}`;
const FORM = 'application/x-www-form-urlencoded';

const posting = (body: string | URLSearchParams, contentType = FORM): Request =>
  new Request(ADDRESS, { method: 'POST', body, headers: { 'content-type': contentType } });

/** Posts to a relying party whose application records its calls. */
async function post(
  { rp }: Pick<Fixture, 'rp'>,
  request: Request,
  hooks: Partial<BackchannelLogoutHooks> = {},
): Promise<{ response: Response; ended: readonly LogoutToken[]; failures: readonly string[] }> {
  const ended: LogoutToken[] = [];
  const failures: string[] = [];
  const response = await rp.handleBackchannelLogout(request, {
    onLogout: (token) => void ended.push(token),
    onFailure: (error) => failures.push(error.code),
    ...hooks,
  });
  return { response, ended, failures };
}

test('a logout token is answered 200, empty and not to be stored, once the application has ended the sessions', async () => {
  const fixture = await makeFixture();
  const body = new URLSearchParams({ logout_token: await fixture.issuer.logoutToken({ sub: 'alice-1' }) });
  const order: string[] = [];
  const { response, failures } = await post(fixture, posting(body), {
    async onLogout(token, request) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push(`${token.sub} at ${new URL(request.url).pathname}`);
    },
  });
  order.push('answered');
  expect(order).toEqual([`alice-1 at ${BACKCHANNEL_LOGOUT_PATH}`, 'answered']);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(failures).toEqual([]);
});

test('parameters that we do not know are ignored, and so is a charset', async () => {
  const fixture = await makeFixture();
  const token = await fixture.issuer.logoutToken({ sid: 'op-1' });
  const { response, ended } = await post(
    fixture,
    posting(`a=b&logout_token=${token}`, `${FORM}; charset=UTF-8`),
  );
  expect(response.status).toBe(200);
  expect(ended).toMatchObject([{ sid: 'op-1' }]);
});

test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])(
  '%s is 405 and told that POST is right',
  async (method) => {
    const fixture = await makeFixture();
    const token = await fixture.issuer.logoutToken({ sub: 'alice-1' });
    const request = new Request(`${ADDRESS}?logout_token=${token}`, { method });
    const { response, ended } = await post(fixture, request);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(ended).toEqual([]);
    expect(fixture.issuer.requests).toEqual([]);
  },
);

describe('a request at fault is 400, and nothing is ended', () => {
  test.each<[string, string, (token: string) => Request]>([
    [
      'JSON',
      'The body must be a form.',
      (token) => posting(`{"logout_token":"${token}"}`, 'application/json'),
    ],
    [
      'multipart',
      'The body must be a form.',
      (token) => posting(`logout_token=${token}`, 'multipart/form-data'),
    ],
    [
      'the token as plain text',
      'The body must be a form.',
      (token) => posting(`logout_token=${token}`, 'text/plain'),
    ],
    [
      'the token in the query only',
      'The form must have exactly one logout_token.',
      (token) =>
        new Request(`${ADDRESS}?logout_token=${token}`, {
          method: 'POST',
          headers: { 'content-type': FORM },
        }),
    ],
    ['an empty token', 'The form must have exactly one logout_token.', () => posting('logout_token=')],
    [
      'two tokens',
      'The form must have exactly one logout_token.',
      (token) => posting(`logout_token=${token}&logout_token=${token}`),
    ],
    [
      'more than 16 KB',
      'The body must have at most 16384 bytes.',
      (token) => posting(`logout_token=${token}&pad=${'x'.repeat(16 * 1024)}`),
    ],
    ['a token that is none', 'The logout token does not verify.', () => posting('logout_token=secret-input')],
  ])('%s', async (_, description, make) => {
    const fixture = await makeFixture();
    const request = make(await fixture.issuer.logoutToken({ sub: 'alice-1' }));
    const { response, ended, failures } = await post(fixture, request);
    expect(response.status).toBe(400);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ error: 'invalid_request', error_description: description });
    expect(ended).toEqual([]);
    expect(failures).toEqual(['logout_request_invalid']);
  });

  test('a body without end, of which no more than a little over 16 KB is read', async () => {
    const fixture = await makeFixture();
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1024;
        controller.enqueue(new Uint8Array(1024).fill(97));
      },
    });
    const init: RequestInit = {
      method: 'POST',
      body: endless,
      headers: { 'content-type': FORM },
      duplex: 'half',
    };
    const { response } = await post(fixture, new Request(ADDRESS, init));
    expect(response.status).toBe(400);
    expect(sent).toBeLessThanOrEqual(20 * 1024);
  });

  test('exactly 16 KB are read', async () => {
    const fixture = await makeFixture();
    const start = `logout_token=${await fixture.issuer.logoutToken({ sub: 'alice-1' })}&pad=`;
    const full = start.padEnd(16 * 1024, 'x');
    expect((await post(fixture, posting(full))).response.status).toBe(200);
    expect((await post(fixture, posting(`${full}x`))).response.status).toBe(400);
  });
});

describe('the issuer is asked to repeat (503 with Retry-After)', () => {
  test.each(['/.well-known/openid-configuration', '/jwks'])('when its %s cannot be had', async (path) => {
    const fixture = await makeFixture();
    const body = new URLSearchParams({ logout_token: await fixture.issuer.logoutToken({ sub: 'alice-1' }) });
    fixture.issuer.behaviour.intercept = (request) => {
      if (request.path === path) throw new TypeError('fetch failed');
      return undefined;
    };
    const { response, ended, failures } = await post(fixture, posting(body));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('30');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({ error: 'temporarily_unavailable' });
    expect(ended).toEqual([]);
    expect(failures).toEqual(['issuer_unavailable']);
  });

  test('when the application cannot end the sessions: success is not reported, nor why it failed', async () => {
    const fixture = await makeFixture();
    const body = new URLSearchParams({ logout_token: await fixture.issuer.logoutToken({ sub: 'alice-1' }) });
    const broken = new Error('the directory is down');
    const heard: OidcError[] = [];
    const { response } = await post(fixture, posting(body), {
      onLogout: () => Promise.reject(broken),
      onFailure: (error) => void heard.push(error),
    });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('30');
    expect(await response.json()).toEqual({
      error: 'server_error',
      error_description: 'The sessions could not be ended.',
    });
    expect(heard.map(({ cause }) => cause)).toEqual([broken]);
  });
});

test('our own bug is not turned into an answer', async () => {
  const { rp } = await makeFixture();
  const verifyJwt = (): never => {
    throw new RangeError('a bug');
  };
  const request = posting('logout_token=x');
  const answer = handleBackchannelLogout({ ...rp, issuer: { ...rp.issuer, verifyJwt } }, request, {
    onLogout: () => undefined,
  });
  await expect(answer).rejects.toThrow('a bug');
});

describe('the mount', () => {
  test('adds one address of its own, and the three routes of spec 4.1 stay three', () => {
    const app = new Hono();
    const rp = makeFixture().then((fixture) => fixture.rp);
    mountBackchannelLogout(app, { resolve: () => rp, onLogout: () => undefined });
    expect(app.routes.map(({ path }) => path)).toEqual(['/api/auth/backchannel-logout']);
    // spec B-09
    const three = new Hono();
    mountOidcRoutes(three, { resolve: () => rp });
    expect(three.routes.map(({ path }) => path)).not.toContain(BACKCHANNEL_LOGOUT_PATH);
    expect(three.routes).toHaveLength(3);
  });

  test('resolves the relying party of each request: a token for one tenant ends nothing at another', async () => {
    const a = await makeFixture();
    const b = await makeFixture({ issuerUrl: 'https://issuer-b.example' });
    const ended: string[] = [];
    const app = new Hono();
    mountBackchannelLogout(app, {
      resolve: (c) => (c.req.url.startsWith('https://b.') ? b.rp : a.rp),
      onLogout: ({ issuer, sub }, c) => void ended.push(`${sub} of ${issuer} at ${new URL(c.req.url).host}`),
    });
    const body = new URLSearchParams({ logout_token: await b.issuer.logoutToken({ sub: 'bob-1' }) });
    expect((await app.request(ADDRESS, { method: 'POST', body })).status).toBe(400);
    expect(ended).toEqual([]);
    const right = `https://b.example${BACKCHANNEL_LOGOUT_PATH}`;
    expect((await app.request(right, { method: 'POST', body })).status).toBe(200);
    expect(ended).toEqual(['bob-1 of https://issuer-b.example at b.example']);
  });

  test('names the right method for a wrong one, and passes failures on', async () => {
    const { rp } = await makeFixture();
    const failures: string[] = [];
    const app = new Hono();
    mountBackchannelLogout(app, {
      resolve: () => rp,
      onLogout: () => undefined,
      onFailure: ({ code }) => void failures.push(code),
    });
    expect((await app.request(ADDRESS)).status).toBe(405);
    expect((await app.request(ADDRESS, { method: 'HEAD' })).status).toBe(405);
    expect((await app.request(ADDRESS, { method: 'POST' })).status).toBe(400);
    expect(failures).toEqual(['logout_request_invalid']);
  });

  test('lets what resolve throws through: an unknown tenant is the application’s to answer', async () => {
    const app = new Hono();
    app.onError((error, c) => c.text(error.message, 404));
    mountBackchannelLogout(app, {
      resolve: () => Promise.reject(new Error('no such tenant')),
      onLogout: () => undefined,
    });
    const response = await app.request(ADDRESS, { method: 'POST', body: 'logout_token=x' });
    expect([response.status, await response.text()]).toEqual([404, 'no such tenant']);
  });
});

test.each([
  ['tells', { sid: 'op-1' }, 'op-1'],
  ['does not tell', {}, undefined],
  ['misstates', { sid: 7 }, undefined],
])('onSignedIn has the issuer’s session id where the ID token %s it', async (_, claims, issuerSid) => {
  const events: SignedIn[] = [];
  const { signIn } = await makeFixture({ routes: { onSignedIn: (event) => void events.push(event) } });
  await signIn({ user: { ...ALICE, claims: { ...ALICE.claims, ...claims } } });
  expect(events).toHaveLength(1);
  expect(events[0]?.issuerSid).toBe(issuerSid);
  expect(events[0]?.session.sid).not.toBe(issuerSid);
});
