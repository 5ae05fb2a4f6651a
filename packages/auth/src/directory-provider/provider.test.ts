/** The provider behind the one interface: its subjects, and requests without one. */
import { describe, expect, test } from 'vitest';
import { logIn, ORIGIN, openProvider, PASSWORD, signUp, userIdOf } from '../../test/directory-provider.ts';
import type { FormBrowser } from '../../test/directory-provider-browser.ts';
import { describeAuthProvider, type SuiteClaims } from '../../test/provider-suite.ts';
import { DAY_MS, OTHER_SCOPE, SCOPE, TENANT_A, TENANT_B } from '../../test/support.ts';
import { directoryIssuer } from '../accounts/contract.ts';
import type { IdentityDirectory } from '../identity-directory/unit.ts';

// spec: constructed directly, it is held to what the two others are held to.
describeAuthProvider(
  'doAuthProvider',
  async () => {
    const fixture = await openProvider();
    const { directory, other, hasher, clock, watch, make } = fixture;
    const subs = new Map<string, string>();

    /** A user with an imported account, who signs in. */
    const signedIn = async (claims: SuiteClaims, in_: IdentityDirectory, provider = fixture.provider) => {
      const { sub, name } = claims;
      const email = claims.email ?? `${sub}@example.com`;
      const account = await in_.importAccount({
        email,
        name: name ?? null,
        emailVerified: claims.email_verified ?? false,
        passwordHash: await hasher.hash('seven green bottles'),
      });
      subs.set(sub, account.userId);
      const browser = fixture.browser(provider);
      const done = await browser.post('/api/auth/login', { email, password: 'seven green bottles' });
      expect(done.status).toBe(303);
      return browser.headersFor('/');
    };

    return {
      provider: fixture.provider,
      issuer: directoryIssuer(TENANT_A),
      headersOf: (claims) => signedIn(claims, directory),
      subOf: (sub) => subs.get(sub) ?? '',
      foreignHeaders: async () => {
        const foreign = make({
          tenantId: TENANT_B,
          directory: other,
          sessionSecret: await other.sessionSecret(),
        });
        return signedIn({ sub: 'ada' }, other, foreign);
      },
      credential: (value) => new Headers({ cookie: `sb_session=${value}` }),
      breakDependency: () => {
        watch.failing = true;
      },
      passTime: () => {
        clock.nowMs += 7 * DAY_MS;
      },
    };
  },
  { keepsAccounts: true },
);

describe('A-06: the directory’s own flag and words, as they are now', () => {
  test('an imported unverified address is verified by a reset, in sessions that go on', async () => {
    const fixture = await openProvider();
    const { directory, hasher, provider } = fixture;
    const passwordHash = await hasher.hash('seven green bottles');
    await directory.importAccount({ email: 'ada@example.com', emailVerified: false, passwordHash });
    const browser = await logIn(fixture);
    expect(await provider.resolve(browser.headersFor('/'))).toMatchObject({
      emailVerified: false,
      name: null,
    });

    await browser.post('/api/auth/reset', { email: 'ada@example.com' });
    const token = await fixture.mailedToken();
    await browser.post('/api/auth/reset/finish', { token, password: 'another good phrase' });
    expect(await provider.resolve(browser.headersFor('/'))).toMatchObject({ emailVerified: true });
  });

  test('a change of name is seen by every session at once', async () => {
    const fixture = await openProvider();
    const [one, two] = [await signUp(fixture), await logIn(fixture)];
    await one.post('/api/auth/security/name', { name: 'Ada King' });
    expect(await fixture.provider.resolve(two.headersFor('/'))).toMatchObject({ name: 'Ada King' });
  });
});

describe('A-22: sessions of other instances', () => {
  test('one of another scope, or of another tenant with the same secret, does not count', async () => {
    const fixture = await openProvider();
    const headers = (await signUp(fixture)).headersFor('/');
    for (const elsewhere of [{ scopeId: OTHER_SCOPE }, { tenantId: TENANT_B }])
      expect(await fixture.make(elsewhere).resolve(headers)).toBeNull();
    expect(await fixture.provider.resolve(headers)).not.toBeNull();
  });

  test('a replaced secret still verifies while it is on the list', async () => {
    const fixture = await openProvider();
    const headers = (await signUp(fixture)).headersFor('/');
    const old = await fixture.directory.sessionSecret();
    const fresh = 'another secret of at least thirty-two bytes';
    expect(await fixture.make({ sessionSecret: [fresh, old] }).resolve(headers)).not.toBeNull();
    expect(await fixture.make({ sessionSecret: fresh }).resolve(headers)).toBeNull();
  });
});

describe('several session cookies in one request', () => {
  const cookieOf = (browser: FormBrowser) => `sb_session=${browser.cookies.get('sb_session')?.value}`;

  test('the one that was not ended counts, in any order', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const old = cookieOf(browser);
    await logIn(fixture, 'ada@example.com', { browser });
    const fresh = cookieOf(browser);
    const expected = await fixture.provider.resolve(browser.headersFor('/'));
    expect(expected).not.toBeNull();
    for (const cookie of [`${old}; ${fresh}`, `${fresh}; ${old}`]) {
      expect(await fixture.provider.resolve(new Headers({ cookie }))).toEqual(expected);
      expect((await fixture.browser().get('/api/auth/security', { cookie })).status).toBe(200);
    }
  });

  test('two live ones count as none, and a sign-in ends them both', async () => {
    const fixture = await openProvider();
    const [victim, mallory] = [await signUp(fixture), await signUp(fixture, 'mallory@example.com')];
    const both = `${cookieOf(mallory)}; ${cookieOf(victim)}`;
    expect(await fixture.provider.resolve(new Headers({ cookie: both }))).toBeNull();
    const again = fixture.browser();
    fixture.clock.nowMs += 1;
    const fields = { email: 'ada@example.com', password: PASSWORD };
    await again.post('/api/auth/login', fields, { cookie: both });
    const headers = new Headers({ cookie: `${both}; ${cookieOf(again)}` });
    expect(await fixture.provider.resolve(headers)).toMatchObject({ email: 'ada@example.com' });
  });
});

test('a signed-in user can sign in as another user, at the address for it', async () => {
  const fixture = await openProvider();
  await signUp(fixture, 'bea@example.com');
  const anonymous = await signUp(fixture);
  const before = anonymous.headersFor('/');
  const page = await anonymous.get('/api/auth/login?switch&returnTo=/here');
  expect([page.status, (await page.text()).includes('value="/here"')]).toEqual([200, true]);
  await logIn(fixture, 'bea@example.com', { browser: anonymous });
  expect(await fixture.provider.resolve(anonymous.headersFor('/'))).toMatchObject({
    email: 'bea@example.com',
  });
  expect(await fixture.provider.resolve(before)).toBeNull();
});

test('the cookie holds the user id, and nothing else about the user', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const cookie = browser.cookies.get('sb_session');
  expect(cookie?.attributes).toEqual(['path=/', 'max-age=604800', 'httponly', 'secure', 'samesite=lax']);
  const claims = JSON.parse(Buffer.from(cookie?.value.split('.')[1] ?? '', 'base64url').toString());
  expect(Object.keys(claims).sort()).toEqual(['aud', 'auth_time', 'exp', 'iat', 'idp', 'sid', 'sub']);
  expect(claims.sub).toBe(await userIdOf(fixture, browser));
  // Both, although the issuer names the tenant too: the values that are sealed beside the session have the same
  // audience.
  expect(claims.aud).toBe(`${TENANT_A}/${SCOPE}`);
});

test('a deleted account does not count, and its session opens no page', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const { directory } = fixture;
  const provider = fixture.make({
    directory: new Proxy(directory, {
      get: (target, name) =>
        name === 'findAccount' || name === 'accountSecurity' ? async () => null : Reflect.get(target, name),
    }),
  });
  expect(await provider.resolve(browser.headersFor('/'))).toBeNull();
  const page = await fixture.browser(provider).get('/api/auth/security', {
    cookie: browser.headersFor('/').get('cookie') ?? '',
  });
  expect(page.headers.get('location')).toBe('/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity');
});

test.each([
  ['a base URL with a path', { baseUrl: 'https://app.example/' }],
  ['a landing path on another host', { runtime: { onSuccess: '//evil.example' } }],
  ['a landing path that signs out', { runtime: { onSuccess: '/api/auth/logout' } }],
  ['a secret that is too short', { sessionSecret: 'short' }],
  ['no secret', { sessionSecret: [] }],
])('%s is refused when the provider is made', async (_, options) => {
  const fixture = await openProvider();
  expect(() => fixture.make(options)).toThrow();
});

test('a provider without a hasher has the real one', async () => {
  const fixture = await openProvider();
  const real = fixture.make({ passwordHasher: undefined });
  const browser = fixture.browser(real);
  await browser.post('/api/auth/sign-up', { email: 'ada@example.com' });
  const token = await fixture.mailedToken();
  const password = 'seven green bottles';
  expect((await browser.post('/api/auth/sign-up/finish', { token, password })).status).toBe(303);
  fixture.clock.nowMs += 1;
  expect((await browser.post('/api/auth/login', { email: 'ada@example.com', password })).status).toBe(303);
  const { hash } = (await fixture.directory.beginPassword({
    scopeId: 'scp',
    email: 'ada@example.com',
  })) as { hash: string };
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test('links in mails name the base URL, for any host of the request', async () => {
  const fixture = await openProvider({ baseUrl: ORIGIN });
  const poisoned = new Request('https://evil.example/api/auth/reset', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ORIGIN },
    body: new URLSearchParams({ email: 'ada@example.com' }),
  });
  await signUp(fixture);
  expect((await fixture.provider.handle(poisoned)).status).toBe(200);
  await fixture.settled();
  expect(fixture.outbox.at(-1)?.text).toContain(`${ORIGIN}/api/auth/reset/finish?token=`);
  expect(fixture.outbox.at(-1)?.text).not.toContain('evil.example');
});

test('forwarded headers name the origin only behind a configured proxy', async () => {
  const fixture = await openProvider();
  const ask = (provider = fixture.provider) =>
    provider.handle(
      new Request('http://internal:8080/api/auth/reset', {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: 'https://app.example',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'app.example',
        },
        body: new URLSearchParams({ email: 'ada@example.com' }),
      }),
    );
  expect((await ask()).status).toBe(403);
  const { clock } = fixture;
  const trusting = fixture.make({ runtime: { now: () => clock.nowMs, trustForwarded: true } });
  expect((await ask(trusting)).status).toBe(200);
});
