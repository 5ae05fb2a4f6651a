/** The hosted provider, from the first redirect to the sign-out. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeBrowser } from '../../test/browser.ts';
import { makeFakeIssuer } from '../../test/fake-issuer.ts';
import { describeAuthProvider } from '../../test/provider-suite.ts';
import {
  DAY_MS,
  ISSUER,
  OTHER_SCOPE,
  openPlatform,
  SCOPE,
  START_MS,
  TENANT_A,
  TENANT_B,
} from '../../test/support.ts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';
import { type OidcRpAuthProviderOptions, oidcRpAuthProvider } from './oidc-rp-auth-provider.ts';

const ORIGIN = 'https://app.example';

async function open(more: Partial<OidcRpAuthProviderOptions> = {}) {
  const platform = await openPlatform();
  const { clock, directory } = platform;
  const issuer = await makeFakeIssuer(clock);
  const failing = { directory: false };
  const watched = breakable(directory, failing);
  const make = async (over: Partial<OidcRpAuthProviderOptions> = {}) =>
    oidcRpAuthProvider({
      tenantId: TENANT_A,
      scopeId: SCOPE,
      issuer: ISSUER,
      clientId: 'app',
      sessionSecret: await directory.sessionSecret(),
      directory: watched,
      runtime: { fetch: issuer.fetch, now: () => clock.nowMs },
      ...more,
      ...over,
    });
  const provider = await make();
  const browserOf = (one = provider) => makeBrowser(ORIGIN, (request) => one.handle(request));
  return { ...platform, issuer, provider, failing, make, browserOf };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Signs in as the person that the issuer names. */
async function signIn({ issuer, provider, browserOf }: Opened, browser = browserOf(provider)) {
  const login = await browser.get('/api/auth/login?returnTo=/orders');
  const callback = await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
  expect([callback.status, callback.headers.get('location')]).toEqual([302, '/orders']);
  return browser;
}

describeAuthProvider('oidcRpAuthProvider', async () => {
  const opened = await open();
  const { provider, issuer, clock, failing, make } = opened;
  const headersOf = async (claims: object, one = provider) => {
    issuer.claims = { ...claims };
    const browser = await signIn({ ...opened, provider: one });
    return browser.headersFor('/');
  };
  return {
    provider,
    issuer: ISSUER,
    headersOf,
    foreignHeaders: async () => headersOf({ sub: 'ada' }, await make({ tenantId: TENANT_B })),
    credential: (value) => new Headers({ cookie: `sb_session=${value}` }),
    breakDependency: () => {
      failing.directory = true;
    },
    passTime: () => {
      clock.nowMs += 7 * DAY_MS;
    },
  };
});

describe('A-21: signing in on the server', () => {
  test('redirects to the issuer with PKCE, exchanges the code there, and hands the browser a session only', async () => {
    const opened = await open();
    const login = await opened.browserOf().get('/api/auth/login');
    const query = new URL(login.headers.get('location') ?? '').searchParams;
    expect(query.get('code_challenge_method')).toBe('S256');
    expect(query.get('redirect_uri')).toBe(`${ORIGIN}/api/auth/callback`);
    const browser = await signIn(opened);
    // The flow cookie may remember where the sign-in led.
    const cookieNames = [...browser.cookies.keys()].filter((name) => name !== 'sb_oidc_flow');
    expect(cookieNames.sort()).toEqual(['sb_auth_idt', 'sb_session']);
    expect(opened.issuer.requests.at(-2)?.url).toBe(`${ISSUER}/token`);
    const session = atob(browser.cookies.get('sb_session')?.value.split('.')[1] ?? '');
    expect(session).not.toContain('id_token');
  });

  test('a client secret is shown to the token endpoint; without one the client is public', async () => {
    const hidden = await open({ clientSecret: 'hush' });
    await signIn(hidden);
    const used = hidden.issuer.requests.find((request) => request.url.endsWith('/token'));
    expect(used?.authorization).toBe(`Basic ${btoa('app:hush')}`);
    const open_ = await open();
    await signIn(open_);
    const bare = open_.issuer.requests.find((request) => request.url.endsWith('/token'));
    expect([bare?.authorization, bare?.body.get('client_id')]).toEqual([null, 'app']);
  });

  test('a sign-in is an event, and a second one ends the session that it replaces', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    const before = browser.headersFor('/');
    opened.clock.nowMs += 1;
    await signIn(opened, browser);
    expect(await opened.provider.resolve(before)).toBeNull();
    expect(await opened.provider.resolve(browser.headersFor('/'))).toMatchObject({ sub: 'ada' });
    const events = (await opened.directory.listIdentityEvents({ scopeId: SCOPE })).items.map(
      (each) => each.type,
    );
    expect(events).toEqual(['session_ended', 'signed_in', 'signed_in']);
  });

  test('no session begins when the directory fails', async () => {
    const opened = await open();
    const browser = opened.browserOf();
    const login = await browser.get('/api/auth/login');
    opened.failing.directory = true;
    const back = opened.issuer.authorize(login.headers.get('location') ?? '');
    await expect(browser.get(back)).rejects.toMatchObject({ code: 'unavailable' });
    expect(browser.cookies.has('sb_session')).toBe(false);
  });

  test('an issuer that is down is 503 at the login, and signed-in people stay so', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    opened.issuer.down = true;
    opened.clock.nowMs += 2 * DAY_MS;
    expect((await browser.get('/api/auth/login')).status).toBe(503);
    expect(await opened.provider.resolve(browser.headersFor('/'))).toMatchObject({ sub: 'ada' });
  });

  test('an address that is none of the three is a 404 problem', async () => {
    const { provider } = await open();
    const response = await provider.handle(new Request(`${ORIGIN}/api/auth/other`));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  });
});

describe('A-22: sessions of other instances', () => {
  test('one of another scope of the same tenant, signed with the same secret, does not count', async () => {
    const opened = await open();
    const headers = (await signIn(opened)).headersFor('/');
    const elsewhere = await opened.make({ scopeId: OTHER_SCOPE });
    expect(await elsewhere.resolve(headers)).toBeNull();
    expect(await opened.provider.resolve(headers)).not.toBeNull();
  });

  test('one from before the issuer was changed does not count', async () => {
    const opened = await open();
    const headers = (await signIn(opened)).headersFor('/');
    const moved = await opened.make({ issuer: 'https://other.example' });
    expect(await moved.resolve(headers)).toBeNull();
  });
});

describe('signing out', () => {
  test('takes effect on the next request with the old cookie, in every copy', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    const stolen = browser.headersFor('/');
    const response = await browser.get('/api/auth/logout?returnTo=/bye');
    expect([response.status, response.headers.get('location')]).toEqual([302, '/bye']);
    expect(browser.cookies.size).toBe(0);
    expect(await opened.provider.resolve(stolen)).toBeNull();
  });

  test('everywhere takes effect on the next request of every browser', async () => {
    const opened = await open();
    const browsers = [await signIn(opened), await signIn(opened)];
    opened.clock.nowMs += 1;
    await opened.directory.endAllSessions({ issuer: ISSUER, sub: 'ada', nowMs: opened.clock.nowMs });
    for (const browser of browsers) expect(await opened.provider.resolve(browser.headersFor('/'))).toBeNull();
    opened.clock.nowMs += 1;
    const again = await signIn(opened);
    expect(await opened.provider.resolve(again.headersFor('/'))).not.toBeNull();
  });

  test('clears the cookies and reports a directory that fails', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    opened.failing.directory = true;
    const response = await browser.get('/api/auth/logout');
    expect(response.status).toBe(503);
    expect(browser.cookies.size).toBe(0);
  });

  test('A-39: keeps the hint in its own cookie, for the logout path and this site only', async () => {
    const browser = await signIn(await open());
    expect(browser.cookies.has('sb_oidc_idt')).toBe(false);
    expect(browser.cookies.get('sb_auth_idt')).toMatchObject({
      path: '/api/auth/logout',
      attributes: expect.arrayContaining(['samesite=strict', 'httponly', 'secure']),
    });
  });

  test('A-39: hands the hint back exactly once', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    const logout = async () =>
      new URL(
        (await browser.get('/api/auth/logout?federated&returnTo=/bye')).headers.get('location') ?? '',
        ORIGIN,
      );
    const first = await logout();
    expect(first.origin + first.pathname).toBe(`${ISSUER}/end`);
    expect(first.searchParams.get('post_logout_redirect_uri')).toBe(`${ORIGIN}/bye`);
    const hint = first.searchParams.get('id_token_hint')?.split('.')[1] ?? '';
    expect(JSON.parse(atob(hint.replaceAll('-', '+').replaceAll('_', '/')))).toMatchObject({
      sub: 'ada',
      aud: 'app',
    });
    expect((await logout()).searchParams.has('id_token_hint')).toBe(false);
  });

  test('A-39: a plain sign-out uses the hint up as well', async () => {
    const opened = await open();
    const browser = await signIn(opened);
    await browser.get('/api/auth/logout');
    const location = (await browser.get('/api/auth/logout?federated')).headers.get('location') ?? '';
    expect(new URL(location).searchParams.has('id_token_hint')).toBe(false);
  });
});

describe('several session cookies in one request', () => {
  /** The header with the sessions of several browsers in it. */
  const together = (...browsers: readonly { readonly cookies: ReadonlyMap<string, { value: string }> }[]) =>
    browsers.map(({ cookies }) => `sb_session=${cookies.get('sb_session')?.value}`).join('; ');

  test('the one that was not ended counts, in any order: a Domain that was removed leaves the other', async () => {
    const opened = await open();
    const { provider, clock } = opened;
    const runtime = { fetch: opened.issuer.fetch, now: () => clock.nowMs, cookieDomain: 'example.com' };
    const wide = await opened.make({ runtime });
    const before = await signIn({ ...opened, browserOf: () => opened.browserOf(wide) });
    const old = { cookies: new Map(before.cookies) };
    expect(await provider.resolve(before.headersFor('/'))).toMatchObject({ sub: 'ada' });
    clock.nowMs += 1;
    // The browser signs in again, now without a Domain: it keeps both, and sends both from now on.
    const after = await signIn({ ...opened, browserOf: () => opened.browserOf() }, before);
    const fresh = (await provider.resolve(after.headersFor('/')))?.session;
    for (const cookie of [together(old, after), together(after, old)])
      expect((await provider.resolve(new Headers({ cookie })))?.session).toEqual(fresh);
  });

  test('two live ones count as none, whichever was planted, and a sign-in ends them both', async () => {
    const opened = await open();
    const { provider, issuer, directory } = opened;
    const victim = await signIn(opened);
    issuer.claims = { sub: 'mallory' };
    const mallory = await signIn(opened);
    const both = together(victim, mallory);
    expect(await provider.resolve(new Headers({ cookie: both }))).toBeNull();
    expect(await provider.resolve(new Headers({ cookie: together(mallory, victim) }))).toBeNull();

    issuer.claims = { sub: 'ada' };
    opened.clock.nowMs += 1;
    const again = opened.browserOf();
    const login = await again.get('/api/auth/login', { cookie: both });
    const flow = `sb_oidc_flow=${again.cookies.get('sb_oidc_flow')?.value}`;
    const back = issuer.authorize(login.headers.get('location') ?? '');
    expect((await again.get(back, { cookie: `${both}; ${flow}` })).status).toBe(302);
    const headers = new Headers({ cookie: `${both}; ${together(again)}` });
    expect(await provider.resolve(headers)).toMatchObject({ sub: 'ada' });
    expect(await provider.resolve(mallory.headersFor('/'))).toBeNull();
    const { items } = await directory.listSessions({ issuer: ISSUER, sub: 'mallory' });
    expect(items).toEqual([]);
  });

  test('signing out ends every one of them, and reports when that fails', async () => {
    const opened = await open();
    const { provider, issuer, failing } = opened;
    const victim = await signIn(opened);
    issuer.claims = { sub: 'mallory' };
    const mallory = await signIn(opened);
    const cookie = together(victim, mallory);
    failing.directory = true;
    const failed = await victim.get('/api/auth/logout', { cookie });
    expect(failed.status).toBe(503);
    expect(await failed.json()).toMatchObject({ reason: 'sign_out_incomplete' });
    expect(victim.cookies.has('sb_session')).toBe(false);
    failing.directory = false;
    const left = await opened.browserOf().get('/api/auth/logout?returnTo=/bye', { cookie });
    expect([left.status, left.headers.get('location')]).toEqual([302, '/bye']);
    for (const pair of cookie.split('; '))
      expect(await provider.resolve(new Headers({ cookie: pair }))).toBeNull();
  });

  test('a page that makes a browser request the sign-out ends none of them', async () => {
    const opened = await open();
    const [one, two] = [await signIn(opened), await signIn(opened)];
    const headers = {
      cookie: together(one, two),
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'no-cors',
    };
    await one.get('/api/auth/logout', headers);
    expect(await opened.provider.resolve(two.headersFor('/'))).toMatchObject({ sub: 'ada' });
  });

  test('of more than eight none counts, and the directory is not called', async () => {
    const opened = await open();
    const browsers = [];
    for (let count = 0; count < 9; count += 1) browsers.push(await signIn(opened));
    opened.failing.directory = true;
    const headers = new Headers({ cookie: together(...browsers) });
    expect(await opened.provider.resolve(headers)).toBeNull();
  });
});

describe('the list of sessions', () => {
  test('has the session of a sign-in, with our label of the browser, until its very end', async () => {
    const opened = await open();
    const browser = opened.browserOf();
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 <b>mine</b>';
    const login = await browser.get('/api/auth/login');
    const back = opened.issuer.authorize(login.headers.get('location') ?? '');
    await browser.get(back, { 'user-agent': userAgent });
    const { items } = await opened.directory.listSessions({ issuer: ISSUER, sub: 'ada' });
    const session = (await opened.provider.resolve(browser.headersFor('/')))?.session;
    expect(items).toEqual([
      {
        sid: session?.sid,
        scopeId: SCOPE,
        client: 'Firefox on Linux',
        startedMs: START_MS,
        expiresMs: START_MS + 7 * DAY_MS,
      },
    ]);
    await opened.directory.endOwnSession({ issuer: ISSUER, sub: 'ada', sid: items[0]?.sid ?? '' });
    expect(await opened.provider.resolve(browser.headersFor('/'))).toBeNull();
  });
});

describe('a session from the future', () => {
  test('does not count: a clock that lost years does not revive expired sessions', async () => {
    const opened = await open();
    const headers = (await signIn(opened)).headersFor('/');
    opened.clock.nowMs -= DAY_MS;
    expect(await opened.provider.resolve(headers)).toMatchObject({ sub: 'ada' });
    opened.clock.nowMs -= 1;
    expect(await opened.provider.resolve(headers)).toBeNull();
  });
});

describe('back-channel logout', () => {
  const PATH = '/api/auth/backchannel-logout';

  /** A provider that takes logout tokens, and an issuer that sends them. */
  async function openListening() {
    const opened = await open();
    const { issuer, clock } = opened;
    const runtime = { fetch: issuer.fetch, now: () => clock.nowMs, backchannelLogout: true };
    const provider = await opened.make({ runtime });
    let count = 0;
    const tokenOf = (claims: object) => {
      count += 1;
      const iat = Math.floor(clock.nowMs / 1_000);
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      return issuer.sign(
        { iss: ISSUER, aud: 'app', iat, exp: iat + 120, jti: `jti-${count}`, events, ...claims },
        { typ: 'logout+jwt' },
      );
    };
    const send = (token: string, to = provider) =>
      to.handle(
        new Request(`${ORIGIN}${PATH}`, {
          method: 'POST',
          body: new URLSearchParams({ logout_token: token }),
        }),
      );
    const signInAs = async (claims: { sub: string; sid?: string }) => {
      issuer.claims = { ...claims };
      return signIn({ ...opened, provider, browserOf: () => opened.browserOf(provider) });
    };
    return { ...opened, provider, send, tokenOf, signInAs };
  }

  test('exists only where it was enabled', async () => {
    const { provider, send, tokenOf } = await openListening();
    const silent = await open();
    const answer = await send(await tokenOf({ sub: 'ada' }), silent.provider);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: 'not_found' });
    expect((await provider.handle(new Request(`${ORIGIN}${PATH}`))).status).toBe(405);
    expect((await provider.handle(new Request(`${ORIGIN}${PATH}/x`, { method: 'POST' }))).status).toBe(404);
  });

  test('by session ends the browser that came from it, on the next request, and no other', async () => {
    const { provider, send, tokenOf, signInAs } = await openListening();
    const one = await signInAs({ sub: 'ada', sid: 'at-issuer-1' });
    const two = await signInAs({ sub: 'ada', sid: 'at-issuer-2' });
    const answer = await send(await tokenOf({ sub: 'ada', sid: 'at-issuer-1' }));
    expect([answer.status, answer.headers.get('cache-control'), await answer.text()]).toEqual([
      200,
      'no-store',
      '',
    ]);
    expect(await provider.resolve(one.headersFor('/'))).toBeNull();
    expect(await provider.resolve(two.headersFor('/'))).toMatchObject({ sub: 'ada' });
  });

  test('by person ends all of theirs, also when the issuer never named a session', async () => {
    const { provider, send, tokenOf, signInAs, clock } = await openListening();
    const adas = [await signInAs({ sub: 'ada' }), await signInAs({ sub: 'ada', sid: 'x' })];
    const bobs = await signInAs({ sub: 'bob' });
    expect((await send(await tokenOf({ sub: 'ada' }))).status).toBe(200);
    for (const browser of adas) expect(await provider.resolve(browser.headersFor('/'))).toBeNull();
    expect(await provider.resolve(bobs.headersFor('/'))).toMatchObject({ sub: 'bob' });
    clock.nowMs += 1;
    const again = await signInAs({ sub: 'ada' });
    expect(await provider.resolve(again.headersFor('/'))).toMatchObject({ sub: 'ada' });
  });

  test('repeated, it does not end the session that began since', async () => {
    const { provider, send, tokenOf, signInAs, clock } = await openListening();
    await signInAs({ sub: 'ada' });
    const token = await tokenOf({ sub: 'ada' });
    await send(token);
    clock.nowMs += 1_000;
    const since = await signInAs({ sub: 'ada' });
    expect((await send(token)).status).toBe(200);
    expect(await provider.resolve(since.headersFor('/'))).not.toBeNull();
  });

  test('a running sign-in from the ended session is refused, and leaves no session', async () => {
    const { provider, issuer, directory, send, tokenOf, browserOf } = await openListening();
    issuer.claims = { sub: 'ada', sid: 'x' };
    const browser = browserOf(provider);
    const login = await browser.get('/api/auth/login');
    const back = issuer.authorize(login.headers.get('location') ?? '');
    await send(await tokenOf({ sub: 'ada', sid: 'x' }));
    const answer = await browser.get(back);
    expect([answer.status, browser.cookies.has('sb_session')]).toEqual([403, false]);
    expect((await directory.listSessions({ issuer: ISSUER, sub: 'ada' })).items).toEqual([]);
    expect((await directory.listIdentityEvents({ scopeId: SCOPE })).items).toEqual([]);
  });

  test.each<[string, object]>([
    ['made for another client', { aud: 'other' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['with a nonce', { nonce: 'n' }],
    ['that announces no logout', { events: {} }],
    ['without a subject and a session', { sub: undefined }],
    ['that expired', { exp: 1 }],
  ])('a token %s is 400, and no session ends', async (_, claims) => {
    const { provider, send, tokenOf, signInAs } = await openListening();
    const browser = await signInAs({ sub: 'ada' });
    expect((await send(await tokenOf({ sub: 'ada', ...claims }))).status).toBe(400);
    expect(await provider.resolve(browser.headersFor('/'))).not.toBeNull();
  });

  test('when the directory fails it is 503, so that the issuer tries again, and that then works', async () => {
    const { provider, send, tokenOf, signInAs, failing } = await openListening();
    const browser = await signInAs({ sub: 'ada' });
    const token = await tokenOf({ sub: 'ada' });
    failing.directory = true;
    const answer = await send(token);
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
    failing.directory = false;
    expect((await send(token)).status).toBe(200);
    expect(await provider.resolve(browser.headersFor('/'))).toBeNull();
  });
});

describe('after the session secret was replaced', () => {
  test('users stay signed in and no running sign-in is lost; when the former secret expires, so do its sessions', async () => {
    const opened = await open();
    const { directory, issuer, make, browserOf } = opened;
    const former = await directory.sessionSecret();
    const before = await signIn(opened);
    const waiting = browserOf();
    const login = await waiting.get('/api/auth/login?returnTo=/orders');

    await directory.rotateSessionSecret({});
    const current = await directory.sessionSecret();
    const rotated = await make({ sessionSecret: [current, former] });
    expect(await rotated.resolve(before.headersFor('/'))).toMatchObject({ sub: 'ada' });
    // The browser is the same; another provider answers it.
    const back = new URL(issuer.authorize(login.headers.get('location') ?? ''));
    const answer = await rotated.handle(
      new Request(back, { headers: waiting.headersFor('/api/auth/callback') }),
    );
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/orders']);
    const after = await signIn({ ...opened, provider: rotated, browserOf: () => browserOf(rotated) });

    const later = await make({ sessionSecret: current });
    expect(await later.resolve(after.headersFor('/'))).toMatchObject({ sub: 'ada' });
    expect(await later.resolve(before.headersFor('/'))).toBeNull();
    const hint = await rotated.handle(
      new Request(`${ORIGIN}/api/auth/logout?federated`, { headers: before.headersFor('/api/auth/logout') }),
    );
    expect(new URL(hint.headers.get('location') ?? '').searchParams.has('id_token_hint')).toBe(true);
  });

  test.each([[[]], [['']], [['short']], [['x'.repeat(32), 'short']]])(
    'secrets that could be guessed are refused: %j',
    async (sessionSecret) => {
      const { make } = await open();
      await expect(make({ sessionSecret })).rejects.toMatchObject({
        name: 'OidcConfigError',
        variable: 'SESSION_SECRET',
      });
    },
  );
});

/** The directory, until it fails like one whose disk is gone. */
function breakable(directory: IdentityDirectory, failing: { directory: boolean }) {
  const guard =
    <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (failing.directory) throw new PlatformError('unavailable', 'The directory does not answer.');
      return method(...args);
    };
  return {
    sessionState: guard(directory.sessionState),
    endSession: guard(directory.endSession),
    recordSignIn: guard(directory.recordSignIn),
    endIssuerSessions: guard(directory.endIssuerSessions),
  };
}

test('an operator learns why a sign-in failed, and the person only that it did', async () => {
  const told: { readonly code: string; readonly detail: string }[] = [];
  const provider = oidcRpAuthProvider({
    tenantId: 'tnt_1',
    scopeId: 'scp_1',
    issuer: 'https://down.example',
    clientId: 'app',
    sessionSecret: 'a secret of at least thirty-two bytes',
    directory: {} as never,
    runtime: {
      fetch: () => Promise.reject(new Error('the host is on no list of ours')),
      onFailure: (error) => told.push(error),
      onError: '/',
    },
  });
  const response = await provider.handle(new Request('https://app.example/api/auth/login'));
  expect(response.headers.get('location')).toBe('/?error=issuer_unavailable');
  expect(told).toMatchObject([{ code: 'issuer_unavailable', cause: expect.anything() }]);
});
