import { describe, expect, test } from 'vitest';
import { ALICE, APP, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { federatedLogoutUrl } from './logout.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const names = (response: Response): string[] =>
  response.headers.getSetCookie().map((line) => line.slice(0, line.indexOf('=')));
const isSignedOut = ({ browser, rp }: Fixture): boolean =>
  browser.values('sb_session').length === 0 &&
  rp.sessionFromHeaders(browser.request(`${APP}/x`).headers) === null;
const locationOf = (response: Response): URL => new URL(response.headers.get('location') ?? '', APP);

describe('B-12: logout', () => {
  test('clears the session, the hint and the flows, then goes to /', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    await fixture.approve();
    const response = await fixture.visit('/api/auth/logout');
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('/');
    expect(isSignedOut(fixture)).toBe(true);
    expect(fixture.browser.values('sb_oidc_idt')).toEqual([]);
    expect(fixture.browser.values('sb_oidc_flow')).toEqual([]);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('goes to a same-origin returnTo', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const response = await fixture.visit('/api/auth/logout?returnTo=%2Fbye%3Fa%3D1');
    expect(response.headers.get('location')).toBe('/bye?a=1');
  });

  test.each(['https://evil.example', '//evil.example', '/\\evil.example', '/api/auth/logout'])(
    'B-18: and to no other: %s',
    async (returnTo) => {
      const fixture = await makeFixture();
      const response = await fixture.visit(`/api/auth/logout?returnTo=${encodeURIComponent(returnTo)}`);
      expect(response.headers.get('location')).toBe('/');
    },
  );

  test('without federated asks the issuer nothing', async () => {
    const { visit, issuer } = await makeFixture();
    await visit('/api/auth/logout');
    expect(issuer.requests).toEqual([]);
  });

  test('without a session is a redirect too', async () => {
    const { visit } = await makeFixture();
    expect((await visit('/api/auth/logout')).status).toBe(302);
  });
});

describe('B-13: federated logout', () => {
  test('carries the ID token as hint and the post-logout address', async () => {
    const fixture = await makeFixture();
    const { idToken } = await fixture.rp.completeLogin(fixture.browser.request(await fixture.approve()));
    await fixture.signIn();
    const url = locationOf(await fixture.visit('/api/auth/logout?federated'));
    expect(`${url.origin}${url.pathname}`).toBe('https://issuer.example/logout');
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${APP}/`);
    expect(url.searchParams.get('client_id')).toBe('client-1');
    const hint = url.searchParams.get('id_token_hint') ?? '';
    expect(hint.split('.')).toHaveLength(3);
    await expect(fixture.rp.issuer.verifyJwt(hint)).resolves.toMatchObject({ sub: ALICE.sub });
    expect(hint.split('.')[0]).toBe(idToken.split('.')[0]);
  });

  test('post_logout_redirect_uri is the origin and the same-origin returnTo, exactly', async () => {
    const { visit } = await makeFixture();
    const url = locationOf(await visit('/api/auth/logout?federated&returnTo=%2Fbye'));
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${APP}/bye`);
    const unsafe = locationOf(await visit('/api/auth/logout?federated&returnTo=%2F%2Fevil.example'));
    expect(unsafe.searchParams.get('post_logout_redirect_uri')).toBe(`${APP}/`);
  });

  test('B-02: its origin is BASE_URL’s', async () => {
    const { visit } = await makeFixture({ baseUrl: 'https://fixed.example' });
    const url = locationOf(await visit('http://10.0.0.1/api/auth/logout?federated'));
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe('https://fixed.example/');
  });

  test('a query that the end-session endpoint already has is kept', async () => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.metadata = { end_session_endpoint: 'https://issuer.example/logout?tenant=1' };
    const url = locationOf(await visit('/api/auth/logout?federated'));
    expect(url.searchParams.get('tenant')).toBe('1');
  });

  test('B-06: the hint is used once', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    expect(
      locationOf(await fixture.visit('/api/auth/logout?federated')).searchParams.has('id_token_hint'),
    ).toBe(true);
    expect(
      locationOf(await fixture.visit('/api/auth/logout?federated')).searchParams.has('id_token_hint'),
    ).toBe(false);
  });

  test('B-06: the hint goes to the logout route only, and not with another site’s link', async () => {
    const { signIn, browser, visit } = await makeFixture();
    await signIn();
    const sent = (path: string, crossSite = false): boolean =>
      (browser.request(`${APP}${path}`, { crossSite }).headers.get('cookie') ?? '').includes('sb_oidc_idt');
    expect(sent('/api/auth/logout')).toBe(true);
    expect(sent('/')).toBe(false);
    expect(sent('/api/auth/callback')).toBe(false);
    expect(sent('/api/auth/logout', true)).toBe(false);
    const url = locationOf(await visit('/api/auth/logout?federated', { crossSite: true }));
    expect(url.searchParams.has('id_token_hint')).toBe(false);
  });

  test('B-17: a session older than the hint cookie signs out without a hint, and none is sent empty', async () => {
    const fixture = await makeFixture();
    const session = fixture.rp.mintSession({ id: 'alice-1' });
    const request = new Request(`${APP}/api/auth/logout?federated`, {
      headers: { cookie: `sb_session=${session}` },
    });
    const response = await fixture.rp.handle(request);
    expect(locationOf(response).searchParams.has('id_token_hint')).toBe(false);
    expect(locationOf(response).searchParams.get('client_id')).toBe('client-1');
    expect(names(response)).toContain('sb_session');
  });

  test('a planted or changed hint is not handed to the issuer', async () => {
    const fixture = await makeFixture();
    fixture.browser.plant({ name: 'sb_oidc_idt', value: 'a.b.c.d' });
    const url = locationOf(await fixture.visit('/api/auth/logout?federated'));
    expect(url.searchParams.has('id_token_hint')).toBe(false);
  });
});

describe('B-06: a hint that does not fit its cookie', () => {
  const bulky = { ...ALICE, claims: { ...ALICE.claims, groups: 'g'.repeat(4000) } };

  test('does not stop the sign-in', async () => {
    const fixture = await makeFixture();
    expect((await fixture.signIn({ user: bulky })).headers.get('location')).toBe('/');
    expect(isSignedOut(fixture)).toBe(false);
    expect(fixture.browser.values('sb_oidc_idt')).toEqual([]);
  });

  test('takes the former user’s hint away', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    await fixture.signIn({ user: bulky });
    expect(fixture.browser.values('sb_oidc_idt')).toEqual([]);
  });
});

describe('B-15: the hint is dropped from a URL that is neither https nor loopback', () => {
  test.each([
    ['http://issuer.example/logout', false],
    ['http://10.0.0.5/logout', false],
    ['http://127.0.0.1.evil.example/logout', false],
    ['http://localhost:9000/logout', true],
    ['http://127.0.0.1:9000/logout', true],
    ['http://[::1]:9000/logout', true],
    ['https://issuer.example/logout', true],
  ])('%s: hint %s, and the redirect happens', async (endpoint, isSent) => {
    const fixture = await makeFixture();
    fixture.issuer.behaviour.metadata = { end_session_endpoint: endpoint };
    await fixture.signIn();
    const url = locationOf(await fixture.visit('/api/auth/logout?federated'));
    expect(`${url.origin}${url.pathname}`).toBe(endpoint);
    expect(url.searchParams.has('id_token_hint')).toBe(isSent);
    expect(isSignedOut(fixture)).toBe(true);
  });
});

// spec B-14, B-16
describe('B-16: the user is signed out here', () => {
  test('when the issuer is down', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    fixture.clock.nowMs += 25 * 60 * 60 * 1000;
    fixture.issuer.behaviour.intercept = () => {
      throw new TypeError('fetch failed');
    };
    const response = await fixture.visit('/api/auth/logout?federated&returnTo=%2Fbye');
    expect(response.headers.get('location')).toBe('/bye');
    expect(isSignedOut(fixture)).toBe(true);
  });

  test.each([
    ['advertises no end-session endpoint', undefined],
    ['advertises something that is no address', 'logout'],
    ['advertises a script', 'javascript:alert(1)'],
    ['advertises a number', 7],
  ])('when the issuer %s', async (_, endpoint) => {
    const fixture = await makeFixture();
    fixture.issuer.behaviour.metadata = { end_session_endpoint: endpoint };
    await fixture.signIn();
    const response = await fixture.visit('/api/auth/logout?federated&returnTo=%2Fbye');
    expect(response.headers.get('location')).toBe('/bye');
    expect(isSignedOut(fixture)).toBe(true);
  });

  test('when the issuer refuses the redirect: the cookies are gone before the browser gets there', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const response = await fixture.visit('/api/auth/logout?federated');
    expect(locationOf(response).origin).toBe('https://issuer.example');
    expect(names(response)).toContain('sb_session');
    expect(isSignedOut(fixture)).toBe(true);
  });

  test('when the session cookie is broken, ambiguous or expired', async () => {
    for (const cookie of ['sb_session=x', 'sb_session=', 'sb_session=a; sb_session=b']) {
      const { rp } = await makeFixture();
      const response = await rp.handle(new Request(`${APP}/api/auth/logout`, { headers: { cookie } }));
      expect(names(response)[0]).toBe('sb_session');
    }
  });
});

describe('B-14: the session cookie is cleared before anything else', () => {
  test('it is the first cookie of every answer', async () => {
    for (const path of ['/api/auth/logout', '/api/auth/logout?federated']) {
      const fixture = await makeFixture();
      await fixture.signIn();
      const [first] = (await fixture.visit(path)).headers.getSetCookie();
      expect(first).toMatch(/^sb_session=; .*Max-Age=0/);
    }
  });

  test('also when ending the session on the server fails, which is reported and not hidden', async () => {
    const failures: string[] = [];
    const fixture = await makeFixture({
      routes: {
        onSignedOut: () => {
          throw new Error('the directory is down');
        },
        onFailure: (error) => {
          failures.push(error.code);
        },
      },
    });
    await fixture.signIn();
    const response = await fixture.visit('/api/auth/logout?federated');
    expect(response.status).toBe(503);
    expect(isSignedOut(fixture)).toBe(true);
    expect(failures).toEqual(['sign_out_incomplete']);
    expect(await response.text()).not.toContain('directory');
  });

  test.each<[string, Parameters<Fixture['other']>[0]]>([
    [
      'the clock cannot be read',
      {
        now: () => {
          throw new RangeError('no clock');
        },
      },
    ],
    [
      'the issuer’s cache breaks',
      {
        issuer: {
          url: 'https://issuer.example',
          metadata: () => Promise.reject(new RangeError('our bug')),
          verifyJwt: () => Promise.reject(new RangeError('our bug')),
        },
      },
    ],
  ])('whatever of ours fails meanwhile: %s', async (_, broken) => {
    const fixture = await makeFixture();
    await fixture.signIn();
    const failures: unknown[] = [];
    const response = await fixture
      .other(broken)
      .handle(fixture.browser.request(`${APP}/api/auth/logout?federated`), {
        onFailure: ({ cause }) => failures.push(cause),
      });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('sign_out_incomplete');
    expect(failures).toEqual([expect.any(RangeError)]);
    fixture.browser.store(APP, response);
    expect(isSignedOut(fixture)).toBe(true);
    expect(fixture.browser.values('sb_oidc_idt')).toEqual([]);
  });

  test('with a domain, the widened and the host-only cookie both go', async () => {
    const fixture = await makeFixture({ relyingParty: { cookieDomain: 'example' } });
    await fixture.signIn();
    const response = await fixture.visit('/api/auth/logout');
    const cleared = response.headers.getSetCookie().filter((line) => line.startsWith('sb_session='));
    expect(cleared.map((line) => line.includes('Domain=example'))).toEqual([false, true]);
    expect(isSignedOut(fixture)).toBe(true);
  });
});

test('a prefetch of the logout link signs no user out', async () => {
  const fixture = await makeFixture();
  await fixture.signIn();
  const response = await fixture.visit('/api/auth/logout', { headers: { 'sec-purpose': 'prefetch' } });
  expect(response.status).toBe(503);
  expect(isSignedOut(fixture)).toBe(false);
});

// spec B-08
describe('federatedLogoutUrl', () => {
  test('answers the URL, and null without an issuer', async () => {
    const { rp, issuer, other } = await makeFixture();
    const url = new URL((await federatedLogoutUrl(rp, APP, '/bye', 'hint')) ?? '');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      id_token_hint: 'hint',
      client_id: 'client-1',
      post_logout_redirect_uri: `${APP}/bye`,
    });
    issuer.behaviour.intercept = () => new Response(null, { status: 503 });
    expect(await federatedLogoutUrl(other({}), APP, '/bye', 'hint')).toBeNull();
    expect(issuer.count(DISCOVERY)).toBe(2);
  });

  test.each([undefined, null, ''])('leaves an absent hint out: %j', async (hint) => {
    const { rp } = await makeFixture();
    const url = new URL((await federatedLogoutUrl(rp, APP, '/', hint)) ?? '');
    expect(url.searchParams.has('id_token_hint')).toBe(false);
  });

  test('puts / for a path that is not one of ours', async () => {
    const { rp } = await makeFixture();
    const url = new URL((await federatedLogoutUrl(rp, APP, '.evil.example/', undefined)) ?? '');
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${APP}/`);
  });
});
