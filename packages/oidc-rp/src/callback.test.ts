import { describe, expect, test } from 'vitest';
import type { FakeBehaviour } from '../../testkit/src/oidc/fake-issuer.ts';
import { ALICE, APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { verifySession } from './session.ts';

const ROUTES = { onSuccess: '/home', onError: '/sign-in?from=oidc' };
const errorOf = (response: Response): string | null =>
  new URL(response.headers.get('location') ?? '', APP).searchParams.get('error');
const edited = (callback: string, edit: (query: URLSearchParams) => void): string => {
  const url = new URL(callback);
  edit(url.searchParams);
  return url.href;
};
const start = (options: Parameters<typeof makeFixture>[0] = {}): Promise<Fixture> =>
  makeFixture({ routes: ROUTES, ...options });

describe('B-11: a callback', () => {
  test('sets session and hint cookies and redirects to onSuccess', async () => {
    const { signIn, browser, rp } = await start();
    const response = await signIn();
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/home');
    const [session = ''] = browser.values('sb_session');
    expect(verifySession(rp, session)?.user).toEqual({
      id: ALICE.sub,
      email: 'alice@example.org',
      name: 'Alice Example',
      emailVerified: true,
    });
    expect(browser.values('sb_oidc_idt')).toHaveLength(1);
    expect(browser.values('sb_oidc_flow')).toEqual([]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('goes to the returnTo of its login instead', async () => {
    const { signIn } = await start();
    expect((await signIn({ returnTo: '/inbox?folder=1' })).headers.get('location')).toBe('/inbox?folder=1');
  });

  test('that fails redirects to onError with a closed code, and sets no session', async () => {
    const { approve, visit, browser, issuer } = await start();
    issuer.behaviour.signWith = 'unpublished';
    const response = await visit(await approve());
    expect(response.headers.get('location')).toBe('/sign-in?from=oidc&error=id_token_invalid');
    expect(browser.values('sb_session')).toEqual([]);
    expect(browser.values('sb_oidc_idt')).toEqual([]);
    expect(browser.values('sb_oidc_flow')).toEqual([]);
  });
});

// spec B-08
test('completeLogin answers user, session, returnTo and idToken', async () => {
  const { rp, approve, browser, issuer } = await start();
  const login = await rp.completeLogin(browser.request(await approve({ returnTo: '/inbox' })));
  expect(login).toMatchObject({ user: { id: ALICE.sub }, returnTo: '/inbox' });
  expect(login.verified).toEqual(verifySession(rp, login.session));
  expect(login.idToken.split('.')).toHaveLength(3);
  expect(login.verified.issuer).toBe(issuer.url);
});

test('without a returnTo there is none in the result', async () => {
  const { rp, approve, browser } = await start();
  expect(await rp.completeLogin(browser.request(await approve()))).not.toHaveProperty('returnTo');
});

describe('B-01: the code is redeemed', () => {
  test('with the verifier, and the client authenticated as the issuer advertises', async () => {
    const { signIn, issuer } = await start();
    await signIn();
    const token = issuer.requests.find(({ path }) => path === '/token');
    // The client secret has characters that must be form-encoded first (client-secret-basic).
    expect(token?.headers.get('authorization')).toMatch(/^Basic /);
    expect(token?.body.get('code_verifier')).toMatch(/^[\w-]{43}$/);
    expect(token?.body.has('client_secret')).toBe(false);
  });

  test.each([
    [['client_secret_post'], 'client_secret'],
    [['private_key_jwt', 'client_secret_post'], 'client_secret'],
  ])('by post where only that is offered: %j', async (methods, parameter) => {
    const { signIn, issuer } = await start();
    issuer.behaviour.metadata = { token_endpoint_auth_methods_supported: methods };
    expect((await signIn()).headers.get('location')).toBe('/home');
    const token = issuer.requests.find(({ path }) => path === '/token');
    expect(token?.body.has(parameter)).toBe(true);
    expect(token?.headers.has('authorization')).toBe(false);
  });

  test('by basic where the issuer says nothing (RFC 8414)', async () => {
    const { signIn, issuer } = await start();
    issuer.behaviour.metadata = { token_endpoint_auth_methods_supported: undefined };
    await signIn();
    expect(issuer.requests.find(({ path }) => path === '/token')?.headers.has('authorization')).toBe(true);
  });

  test('not at all where no method fits', async () => {
    const { signIn, issuer } = await start();
    issuer.behaviour.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] };
    expect(errorOf(await signIn())).toBe('issuer_misconfigured');
    expect(issuer.count('/token')).toBe(0);
  });

  test('as the operator overrides', async () => {
    const { signIn, issuer } = await start({ relyingParty: { clientAuthMethod: 'client_secret_post' } });
    await signIn();
    expect(issuer.requests.find(({ path }) => path === '/token')?.body.has('client_secret')).toBe(true);
  });

  test('by PKCE alone for a public client', async () => {
    const { signIn, issuer } = await start({ clientSecret: null });
    expect((await signIn()).headers.get('location')).toBe('/home');
    const token = issuer.requests.find(({ path }) => path === '/token');
    expect(token?.body.get('client_id')).toBe('client-1');
    expect(token?.headers.has('authorization')).toBe(false);
  });

  test('once: a replayed callback of the same browser state is refused by the issuer', async () => {
    const { approve, rp, browser } = await start();
    const request = browser.request(await approve());
    await rp.completeLogin(request);
    await expect(rp.completeLogin(request)).rejects.toMatchObject({ code: 'exchange_failed' });
  });

  test('with the redirect URI of the request, even if the callback looks different from here', async () => {
    const { rp, approve, browser } = await start();
    const request = browser.request(await approve());
    const seen = new Request(request.url.replace('https:', 'http:'), { headers: request.headers });
    await expect(rp.completeLogin(seen)).resolves.toMatchObject({ user: { id: ALICE.sub } });
  });
});

describe('RFC 9207: the issuer is judged before the code is redeemed', () => {
  test.each<[string, (query: URLSearchParams) => void]>([
    ['invalid-authorization-response-iss', (query) => query.set('iss', 'https://evil.example')],
    ['an equivalent but not identical iss', (query) => query.set('iss', 'https://issuer.example/')],
    ['remove-authorization-response-iss', (query) => query.delete('iss')],
    ['two of them', (query) => query.append('iss', 'https://evil.example')],
    [
      'and before an error is believed',
      (query) => {
        query.set('iss', 'https://evil.example');
        query.set('error', 'access_denied');
      },
    ],
  ])('%s', async (_, edit) => {
    const { approve, visit, issuer } = await start();
    expect(errorOf(await visit(edited(await approve(), edit)))).toBe('issuer_mismatch');
    expect(issuer.count('/token')).toBe(0);
  });

  test('an issuer that does not announce iss need not send it, but may not send another', async () => {
    const { approve, visit, issuer } = await start();
    issuer.behaviour.metadata = { authorization_response_iss_parameter_supported: false };
    const without = edited(await approve(), (query) => query.delete('iss'));
    expect((await visit(without)).headers.get('location')).toBe('/home');
    const wrong = edited(await approve(), (query) => query.set('iss', 'https://evil.example'));
    expect(errorOf(await visit(wrong))).toBe('issuer_mismatch');
  });
});

describe('a callback fails with a closed code', () => {
  test.each<[string, string, (query: URLSearchParams) => void]>([
    [
      'state_mismatch',
      'ensure-authorization-response-with-invalid-state-fails',
      (query) => query.set('state', 'x'),
    ],
    [
      'state_mismatch',
      'ensure-authorization-response-with-invalid-missing-state-fails',
      (query) => query.delete('state'),
    ],
    ['response_invalid', 'no code', (query) => query.delete('code')],
    ['response_invalid', 'two codes', (query) => query.append('code', 'x')],
    ['response_invalid', 'a token in the front channel', (query) => query.set('id_token', 'x')],
    ['exchange_failed', 'an invented code', (query) => query.set('code', 'x')],
  ])('%s: %s', async (code, _, edit) => {
    const { approve, visit } = await start();
    expect(errorOf(await visit(edited(await approve(), edit)))).toBe(code);
  });

  test.each([
    ['access_denied', 'access_denied'],
    ['login_required', 'login_required'],
    ['interaction_required', 'login_required'],
    ['temporarily_unavailable', 'issuer_unavailable'],
    ['invalid_scope', 'authorization_failed'],
    ['<script>', 'authorization_failed'],
  ])('the issuer’s %s becomes %s, and its description stays behind', async (error, code) => {
    const { visit, issuer } = await start();
    const login = await visit('/api/auth/login');
    const response = await visit(issuer.refuse(login.headers.get('location') ?? '', error));
    expect(response.headers.get('location')).toBe(`/sign-in?from=oidc&error=${code}`);
  });

  test('flow_expired: no cookie at all', async () => {
    const { approve, rp } = await start();
    const response = await rp.handle(new Request(await approve()), ROUTES);
    expect(errorOf(response)).toBe('flow_expired');
  });

  test.each<[string, FakeBehaviour]>([
    ['no access token', { tokens: ({ access_token: _, ...body }) => body }],
    ['an unknown token type', { tokens: (body) => ({ ...body, token_type: 'mac' }) }],
    [
      'a page instead of JSON',
      { intercept: (request) => (request.path === '/token' ? new Response('<html>') : undefined) },
    ],
    [
      'a redirect',
      {
        intercept: (request) =>
          request.path === '/token' ? Response.redirect('https://evil.example/token', 307) : undefined,
      },
    ],
  ])('exchange_failed: the token response has %s', async (_, behaviour) => {
    const { approve, visit, issuer } = await start();
    const callback = await approve();
    Object.assign(issuer.behaviour, behaviour);
    expect(errorOf(await visit(callback))).toBe('exchange_failed');
  });

  test('issuer_unavailable, 503: the token endpoint is down', async () => {
    const { approve, rp, browser, issuer } = await start();
    const request = browser.request(await approve());
    issuer.behaviour.intercept = () => {
      throw new TypeError('fetch failed');
    };
    await expect(rp.completeLogin(request)).rejects.toMatchObject({
      code: 'issuer_unavailable',
      status: 503,
    });
  });
});

test('token-type-case-insensitivity and a response without expires_in are fine', async () => {
  const { signIn, issuer } = await start();
  issuer.behaviour.tokens = ({ expires_in: _, ...body }) => ({ ...body, token_type: 'BEARER' });
  expect((await signIn()).headers.get('location')).toBe('/home');
});

describe('a late or repeated callback of a user who is signed in', () => {
  test.each([
    ['to onSuccess when its login named no place', undefined, '/home'],
    ['to the returnTo of its login, as the first time', '/inbox?folder=1', '/inbox?folder=1'],
  ])('goes %s, asks the issuer nothing and changes no cookie', async (_, returnTo, place) => {
    const { approve, visit, issuer } = await start();
    const callback = await approve(returnTo === undefined ? {} : { returnTo });
    await visit(callback);
    const asked = issuer.requests.length;
    for (let reload = 0; reload < 2; reload += 1) {
      const again = await visit(callback);
      expect(again.headers.get('location')).toBe(place);
      expect(again.headers.getSetCookie()).toEqual([]);
    }
    expect(issuer.requests).toHaveLength(asked);
  });

  test('goes to its own returnTo among several tabs', async () => {
    const { approve, visit } = await start();
    const callbacks: string[] = [];
    for (const returnTo of ['/one', '/two', '/three']) callbacks.push(await approve({ returnTo }));
    const visitAll = async (): Promise<(string | null)[]> => {
      const places: (string | null)[] = [];
      for (const callback of callbacks) places.push((await visit(callback)).headers.get('location'));
      return places;
    };
    expect(await visitAll()).toEqual(['/one', '/two', '/three']);
    expect(await visitAll()).toEqual(['/one', '/two', '/three']);
  });

  test('goes to its returnTo when its flow failed the first time, and to onSuccess when it had none', async () => {
    const { approve, visit, signIn, issuer } = await start();
    await signIn();
    issuer.behaviour.signWith = 'unpublished';
    const failing = await approve({ returnTo: '/inbox' });
    expect(errorOf(await visit(failing))).toBe('id_token_invalid');
    expect((await visit(failing)).headers.get('location')).toBe('/inbox');
    const elsewhere = await approve();
    expect(errorOf(await visit(elsewhere))).toBe('id_token_invalid');
    expect((await visit(elsewhere)).headers.get('location')).toBe('/home');
  });

  test('is refused after signing out: a used flow signs no user in', async () => {
    const { approve, visit, browser, issuer } = await start();
    const callback = await approve({ returnTo: '/inbox' });
    const used = await visit(callback);
    const usedFlow = used.headers.getSetCookie().find((line) => line.startsWith('sb_oidc_flow='));
    await visit('/api/auth/logout');
    const asked = issuer.requests.length;
    expect(errorOf(await visit(callback))).toBe('flow_expired');
    // The same with the cookie that says the flow was used.
    browser.store(APP, { headers: new Headers({ 'set-cookie': usedFlow ?? '' }) });
    expect(errorOf(await visit(callback))).toBe('flow_expired');
    expect(browser.values('sb_session')).toEqual([]);
    expect(issuer.requests).toHaveLength(asked);
  });

  test('goes to its returnTo when its flow has only expired', async () => {
    const { approve, visit, clock, issuer } = await start();
    const late = await approve({ returnTo: '/late' });
    clock.nowMs += 9 * 60 * 1000;
    // Another tab signs in and renews the cookie, which still has the first tab's flow.
    await visit(await approve());
    const asked = issuer.count('/token');
    clock.nowMs += 2 * 60 * 1000;
    expect((await visit(late)).headers.get('location')).toBe('/late');
    expect(issuer.count('/token')).toBe(asked);
  });

  test('is an ordinary failure for a visitor who is not signed in', async () => {
    const { approve, rp } = await start();
    expect(errorOf(await rp.handle(new Request(await approve()), ROUTES))).toBe('flow_expired');
  });
});

test('signing in as another user replaces the session, under a new id', async () => {
  const { signIn, rp, browser } = await start();
  await signIn();
  const first = rp.verifiedSessionFromHeaders(browser.request(`${APP}/x`).headers);
  await signIn({ user: { sub: 'bob-1', claims: { email: 'bob@example.org', name: 'Bob' } } });
  const second = rp.verifiedSessionFromHeaders(browser.request(`${APP}/x`).headers);
  expect(second?.user.id).toBe('bob-1');
  expect(second?.user).not.toHaveProperty('emailVerified');
  expect(second?.sid).not.toBe(first?.sid);
});

test('auth_time of the ID token is kept in the session', async () => {
  const { signIn, rp, browser, clock } = await start();
  const authTime = clock.nowMs / 1000 - 90;
  await signIn({ user: { ...ALICE, claims: { ...ALICE.claims, auth_time: authTime } } });
  expect(rp.verifiedSessionFromHeaders(browser.request(`${APP}/x`).headers)?.authTimeMs).toBe(
    authTime * 1000,
  );
});
