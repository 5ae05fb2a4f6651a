/** Signing in with a password. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../../test/directory-provider.ts';
import { MINUTE_MS } from '../../../test/support.ts';
import type { PasswordHasher } from '../passwords/password-hash.ts';
import { judgePassword } from './login.ts';

const EMAIL = 'ada@example.com';

test('A-01: the right password signs in, and goes on to where one wanted to be', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const browser = fixture.browser();
  const page = await browser.get('/api/auth/login?returnTo=%2Forders%3Fid%3D1');
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('name="returnTo" value="/orders?id=1"');
  const done = await browser.post('/api/auth/login', {
    email: ' Ada@Example.com ',
    password: PASSWORD,
    returnTo: '/orders?id=1',
  });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/orders?id=1']);
  expect(done.headers.get('cache-control')).toBe('no-store');
  expect(await isSignedIn(fixture, browser)).toBe(true);
});

test('without a returnTo it goes on to where the application said', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const { clock } = fixture;
  const elsewhere = fixture.make({ runtime: { now: () => clock.nowMs, onSuccess: '/start' } });
  const done = await fixture.browser(elsewhere).post('/api/auth/login', { email: EMAIL, password: PASSWORD });
  expect(done.headers.get('location')).toBe('/start');
});

describe('a sign-in that is refused', () => {
  /** What somebody sees, and what it cost, with the address taken out. */
  async function refusalOf(fixture: ProviderFixture, email: string, password: string) {
    const browser = fixture.browser();
    fixture.watch.calls.length = 0;
    fixture.hasher.compared.length = 0;
    const events = async () => (await fixture.directory.listIdentityEvents({ limit: 200 })).items.length;
    const before = await events();
    const response = await browser.post('/api/auth/login', { email, password });
    return {
      status: response.status,
      headers: [...response.headers],
      body: (await response.text()).replaceAll(email, 'EMAIL'),
      calls: [...fixture.watch.calls],
      compared: fixture.hasher.compared.length,
      hashed: fixture.hasher.hashed,
      events: (await events()) - before,
      cookies: browser.cookies.size,
    };
  }

  test('is the same for a wrong password, an unknown address and an account without a password', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    await fixture.directory.importAccount({ email: 'bare@example.com', emailVerified: true });
    const wrong = await refusalOf(fixture, EMAIL, 'not the password');
    expect(wrong).toMatchObject({
      status: 422,
      calls: ['beginPassword', 'finishPassword'],
      compared: 1,
      events: 1,
      cookies: 0,
    });
    expect(wrong.body).toContain('do not go together');
    expect(await refusalOf(fixture, 'nobody@example.com', 'not the password')).toEqual(wrong);
    expect(await refusalOf(fixture, 'bare@example.com', 'not the password')).toEqual(wrong);
    expect(await refusalOf(fixture, 'bare@example.com', '')).toEqual(wrong);
  });

  test('is the same for what is no address, and for no password', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const wrong = await refusalOf(fixture, EMAIL, 'not the password');
    expect((await refusalOf(fixture, 'no address', 'x')).body).toBe(wrong.body);
    expect((await refusalOf(fixture, EMAIL, '')).body).toBe(wrong.body);
  });

  test('keeps the address that was typed, never the password, and says so to who cannot see it', async () => {
    const fixture = await openProvider();
    const browser = fixture.browser();
    const response = await browser.post('/api/auth/login', { email: EMAIL, password: 'hunter-22-hunter' });
    const body = await response.text();
    expect(body).toContain(`value="${EMAIL}"`);
    expect(body).not.toContain('hunter-22');
    expect(body).toMatch(/<p class="alert" id="alert" role="alert">/);
    expect(body.match(/aria-describedby="alert"/g)).toHaveLength(2);
    expect(body).toMatch(/<input id="password"[^>]* autofocus>/);
    expect(body).toContain('<title>Error: Sign in to Fieldwork');
  });

  test('an account without a password is not entered by whatever a hasher makes of nothing', async () => {
    const yes = { right: true, outdated: false, unreadable: false };
    const gullible: PasswordHasher = { hash: async () => '$x$y', verify: async () => yes };
    const context = { hasher: gullible, report: () => undefined };
    expect(await judgePassword(context, 'x', null)).toEqual({ right: false });
    expect(await judgePassword(context, 'x', '$x$y')).toEqual({ right: true });
    const fixture = await openProvider({ passwordHasher: gullible });
    await fixture.directory.importAccount({ email: 'bare@example.com', emailVerified: true });
    const browser = fixture.browser();
    for (const email of ['bare@example.com', 'nobody@example.com'])
      expect((await browser.post('/api/auth/login', { email, password: 'x' })).status).toBe(422);
    expect(browser.cookies.size).toBe(0);
  });
});

test('after five wrong ones nothing is looked at, for known and unknown addresses alike, until the time is over', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const bodies: string[] = [];
  for (const email of [EMAIL, 'nobody@example.com']) {
    const browser = fixture.browser();
    for (let i = 0; i < 5; i += 1)
      expect((await browser.post('/api/auth/login', { email, password: 'wrong' })).status).toBe(422);
    fixture.hasher.compared.length = 0;
    const limited = await browser.post('/api/auth/login', { email, password: PASSWORD });
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60']);
    expect(fixture.hasher.compared).toEqual([]);
    bodies.push((await limited.text()).replaceAll(email, 'EMAIL'));
  }
  expect(bodies[0]).toContain('Too many attempts. Try again in a minute.');
  expect(bodies[1]).toBe(bodies[0]);
  fixture.clock.nowMs += MINUTE_MS;
  await logIn(fixture);
});

test('attempts are counted by the address of the connection too', async () => {
  const fixture = await openProvider();
  const post = (clientAddress: string, i: number) =>
    fixture.provider.handle(
      new Request('https://app.example/api/auth/login', {
        method: 'POST',
        headers: {
          origin: 'https://app.example',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ email: `user${i}@example.com`, password: 'x' }),
      }),
      { clientAddress },
    );
  for (let i = 0; i < 30; i += 1) expect((await post('192.0.2.1', i)).status).toBe(422);
  expect((await post('192.0.2.1', 30)).status).toBe(429);
  expect((await post('192.0.2.2', 31)).status).toBe(422);
});

test('a second sign-in in a browser ends the session that it replaces', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const before = browser.headersFor('/');
  await logIn(fixture, EMAIL, { browser });
  expect(await fixture.provider.resolve(before)).toBeNull();
  expect(await isSignedIn(fixture, browser)).toBe(true);
});

test('a session that was planted before the sign-in is not the one after it', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const mallory = await signUp(fixture, 'mallory@example.com');
  const planted = mallory.headersFor('/').get('cookie') ?? '';
  const victim = fixture.browser();
  const done = await victim.post(
    '/api/auth/login',
    { email: EMAIL, password: PASSWORD },
    { cookie: planted },
  );
  expect(done.status).toBe(303);
  expect(victim.headersFor('/').get('cookie')).not.toBe(planted);
  expect(await fixture.provider.resolve(new Headers({ cookie: planted }))).toBeNull();
});

test('a hash that is out of date is replaced while the password is known', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const { hasher } = fixture;
  const aging: PasswordHasher = {
    hash: async () => '$argon2id$v=19$m=9,t=1,p=1$AAAAAAAAAAA$renewed',
    verify: async (password, stored) => ({ ...(await hasher.verify(password, stored)), outdated: true }),
  };
  const browser = fixture.browser(fixture.make({ passwordHasher: aging }));
  const stored = async () =>
    (await fixture.directory.beginPassword({ scopeId: 'scp', email: EMAIL })) as { hash: string };
  await browser.post('/api/auth/login', { email: EMAIL, password: 'wrong' });
  expect((await stored()).hash).not.toContain('renewed');
  expect((await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(303);
  expect((await stored()).hash).toContain('renewed');
});

test('a hash that cannot be computed here lets nobody in, and the operator hears of it', async () => {
  const fixture = await openProvider();
  await fixture.directory.importAccount({
    email: EMAIL,
    emailVerified: true,
    passwordHash: '$2b$10$abcdefghijklmnopqrstuv',
  });
  const browser = fixture.browser(fixture.make({ passwordHasher: undefined }));
  expect((await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(422);
  expect(String(fixture.reported[0])).toContain('cannot be computed');
  expect(String(fixture.reported[0])).not.toContain('$2b$');
});

test('a password that is replaced while a sign-in with the old one is judged lets nobody in', async () => {
  const fixture = await openProvider();
  const owner = await signUp(fixture);
  const { hasher, clock } = fixture;
  const slow: PasswordHasher = {
    ...hasher,
    verify: async (password, stored) => {
      const verdict = await hasher.verify(password, stored);
      clock.nowMs += 1;
      expect(
        (await owner.post('/api/auth/security/password', { password: 'another good phrase' })).status,
      ).toBe(303);
      return verdict;
    },
  };
  const thief = fixture.browser(fixture.make({ passwordHasher: slow }));
  expect((await thief.post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(422);
  expect(await isSignedIn(fixture, thief)).toBe(false);
});

test('sessions that are ended while a sign-in is under way end that one too', async () => {
  const fixture = await openProvider();
  const owner = await signUp(fixture);
  const { directory, clock } = fixture;
  const racing = new Proxy(directory, {
    get: (target, name) => {
      if (name !== 'recordSignIn') return Reflect.get(target, name);
      return async (input: Parameters<typeof directory.recordSignIn>[0]) => {
        clock.nowMs += 1;
        await owner.post('/api/auth/security/sessions/end-all');
        return directory.recordSignIn(input);
      };
    },
  });
  const other = fixture.browser(fixture.make({ directory: racing }));
  const response = await other.post('/api/auth/login', { email: EMAIL, password: PASSWORD });
  expect([response.status, other.cookies.size]).toEqual([409, 0]);
  expect(await response.text()).toContain('Sign in again');
});
