import { describe, expect, test } from 'vitest';
import { APP, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { failureResponse } from './failure-page.ts';
import { OIDC_ERROR_CODES, OidcError } from './lib/errors.ts';
import { checkAuthRoutesOptions, type SignedIn } from './routes.ts';

const ROUTES = ['/api/auth/login', '/api/auth/callback', '/api/auth/logout'];

test.each(ROUTES)('%s answers only GET, not even HEAD', async (path) => {
  const { rp, issuer } = await makeFixture();
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const response = await rp.handle(new Request(`${APP}${path}`, { method }));
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
    expect(response.headers.getSetCookie()).toEqual([]);
  }
  expect(issuer.requests).toEqual([]);
});

test.each([
  '/api/auth',
  '/api/auth/',
  '/api/auth/login/',
  '/api/auth/loginx',
  '/constructor',
  '/x/api/auth/login',
])('any other path is 404: %s', async (path) => {
  const { rp } = await makeFixture();
  expect((await rp.handle(new Request(`${APP}${path}`))).status).toBe(404);
});

test('every answer forbids storing it', async () => {
  const { visit, approve } = await makeFixture();
  const paths = [...ROUTES, '/api/auth/none', await approve(), '/api/auth/logout?federated'];
  for (const path of paths) expect((await visit(path)).headers.get('cache-control')).toBe('no-store');
});

describe('an issuer that is down', () => {
  const down = (): never => {
    throw new TypeError('fetch failed');
  };

  test('is 503 with Retry-After on our own page', async () => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.intercept = down;
    const response = await visit('/api/auth/login');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('30');
    expect(await response.text()).toContain('issuer_unavailable');
  });

  test('is a code for onError where there is one', async () => {
    const { visit, issuer } = await makeFixture({ routes: { onError: '/oops' } });
    issuer.behaviour.intercept = down;
    expect((await visit('/api/auth/login')).headers.get('location')).toBe('/oops?error=issuer_unavailable');
  });
});

test('B-11: without onError a failure is a page of our own, with the code and nothing of the request', async () => {
  const { rp } = await makeFixture();
  const response = await rp.handle(
    new Request(`${APP}/api/auth/callback?state=%3Cscript%3E&error=x&error_description=%3Cscript%3E`),
  );
  expect(response.status).toBe(400);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).toContain('flow_expired');
  expect(page).not.toContain('<script>');
});

describe('B-11: the page leads on to the destination of the sign-in', () => {
  const again = '<a href="/api/auth/login?returnTo=%2Finbox">Try again</a>';

  test('when the issuer is down at login', async () => {
    const { visit, issuer } = await makeFixture();
    issuer.behaviour.intercept = () => Promise.reject(new TypeError('fetch failed'));
    const response = await visit('/api/auth/login?returnTo=%2Finbox');
    expect(await response.text()).toContain(again);
  });

  test('when the issuer says no, as another user too', async () => {
    const { visit, issuer } = await makeFixture();
    const login = await visit('/api/auth/login?returnTo=%2Finbox');
    const page = await visit(issuer.refuse(login.headers.get('location') ?? '', 'access_denied'));
    const text = await page.text();
    expect(text).toContain(again);
    const [, other = ''] = /<a href="([^"]+)">Use another account</.exec(text) ?? [];
    const asked = await visit(other.replaceAll('&amp;', '&'));
    const url = asked.headers.get('location') ?? '';
    expect(new URL(url).searchParams.get('prompt')).toBe('select_account');
    const bob = { sub: 'bob-1', claims: { email: 'bob@example.org', name: 'Bob' } };
    expect((await visit(issuer.approve(url, bob))).headers.get('location')).toBe('/inbox');
  });

  test('when ten minutes have passed, and the cookie with them', async () => {
    const { approve, visit, clock } = await makeFixture();
    const callback = await approve({ returnTo: '/inbox' });
    clock.nowMs += 10 * 60 * 1000;
    const response = await visit(callback);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(again);
  });
});

test('every code has a page with its own status, and never 401', () => {
  for (const code of OIDC_ERROR_CODES) {
    const error = new OidcError(code, 'a detail for operators');
    const response = failureResponse(error);
    expect(response.status).toBe(error.status);
    expect(response.status).not.toBe(401);
    expect(error.message).not.toContain('detail');
  }
});

describe('hooks', () => {
  test('onSignedIn gets the new session and the one it replaces', async () => {
    const events: SignedIn[] = [];
    const { signIn } = await makeFixture({ routes: { onSignedIn: (event) => void events.push(event) } });
    await signIn();
    await signIn({ user: { sub: 'bob-1', claims: { email: 'b@example.org', name: 'B' } } });
    expect(events.map(({ session, previous }) => [session.user.id, previous?.user.id ?? null])).toEqual([
      ['alice-1', null],
      ['bob-1', 'alice-1'],
    ]);
    expect(events[1]?.previous?.sid).toBe(events[0]?.session.sid);
  });

  test('onSignedIn can refuse a user, who then gets no cookie', async () => {
    const { signIn, browser } = await makeFixture({
      routes: {
        onError: '/oops',
        onSignedIn: () => {
          throw new OidcError('sign_in_refused', 'not on the roster');
        },
      },
    });
    expect((await signIn()).headers.get('location')).toBe('/oops?error=sign_in_refused');
    expect(browser.values('sb_session')).toEqual([]);
    expect(browser.values('sb_oidc_idt')).toEqual([]);
  });

  test('a hook that fails signs no user in: its error is passed on unchanged', async () => {
    const { approve, rp, browser } = await makeFixture();
    const request = browser.request(await approve());
    const onSignedIn = (): never => {
      throw new Error('the directory is down');
    };
    await expect(rp.handle(request, { onSignedIn })).rejects.toThrow('the directory is down');
  });

  test('onSignedOut gets the session that ended, and nothing when there was none', async () => {
    const ended: string[] = [];
    const fixture = await makeFixture({
      routes: { onSignedOut: ({ session }) => void ended.push(session.user.id) },
    });
    await fixture.visit('/api/auth/logout');
    expect(ended).toEqual([]);
    await fixture.signIn();
    await fixture.visit('/api/auth/logout');
    expect(ended).toEqual(['alice-1']);
  });

  test('onFailure gets every failure, with a detail for operators', async () => {
    const failures: OidcError[] = [];
    const { visit } = await makeFixture({ routes: { onFailure: (error) => void failures.push(error) } });
    await visit('/api/auth/callback?state=x');
    expect(failures.map(({ code }) => code)).toEqual(['flow_expired']);
    expect(failures[0]?.detail).not.toBe('');
  });
});

test.each(['https://evil.example', '//evil.example', 'home', '/api/auth/login'])(
  'onSuccess and onError must be paths of ours: %s',
  (path) => {
    expect(() => checkAuthRoutesOptions({ onSuccess: path })).toThrow(TypeError);
    expect(() => checkAuthRoutesOptions({ onError: path })).toThrow(TypeError);
  },
);

test('the hint can live in a cookie of another name', async () => {
  const { signIn, browser, visit } = await makeFixture({ relyingParty: { hintCookieName: 'sb_auth_idt' } });
  await signIn();
  expect(browser.values('sb_oidc_idt')).toEqual([]);
  expect(browser.values('sb_auth_idt')).toHaveLength(1);
  const response = await visit('/api/auth/logout?federated');
  expect(new URL(response.headers.get('location') ?? '').searchParams.has('id_token_hint')).toBe(true);
  expect(browser.values('sb_auth_idt')).toEqual([]);
});
