/** Signing in with a password. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  ORIGIN,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../../test/directory-provider.ts';
import { type FormBrowser, makeFormBrowser } from '../../../test/directory-provider-browser.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, testRandom } from '../../../test/support.ts';
import { makePasswordHasher, type PasswordHasher } from '../passwords/password-hash.ts';
import { judgePassword } from './login.ts';

const EMAIL = 'ada@example.com';
const HERE = '192.0.2.9';
const THERE = '198.51.100.7';

/** A fresh browser in a network. */
function browserAt(fixture: ProviderFixture, clientAddress: string): FormBrowser {
  return makeFormBrowser(ORIGIN, (request) => fixture.provider.handle(request, { clientAddress }));
}

test('A-01: the right password signs in, and goes on to the requested path', async () => {
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

test("without a returnTo it goes on to the application's default", async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const { clock } = fixture;
  const elsewhere = fixture.make({ runtime: { now: () => clock.nowMs, onSuccess: '/start' } });
  const done = await fixture.browser(elsewhere).post('/api/auth/login', { email: EMAIL, password: PASSWORD });
  expect(done.headers.get('location')).toBe('/start');
});

describe('a sign-in that is refused', () => {
  /** The visible answer and its cost, without the address. */
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
    expect(await refusalOf(fixture, 'unknown@example.com', 'not the password')).toEqual(wrong);
    expect(await refusalOf(fixture, 'bare@example.com', 'not the password')).toEqual(wrong);
  });

  test('without a password is not even counted, for any address', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    for (const email of [EMAIL, 'unknown@example.com'])
      for (let i = 0; i < 40; i += 1)
        expect(await refusalOf(fixture, email, '')).toMatchObject({ status: 422, calls: [], compared: 0 });
    await logIn(fixture);
  });

  test('is the same for an invalid address, and for no password', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const wrong = await refusalOf(fixture, EMAIL, 'not the password');
    expect((await refusalOf(fixture, 'no address', 'x')).body).toBe(wrong.body);
    expect((await refusalOf(fixture, EMAIL, '')).body).toBe(wrong.body);
  });

  test('keeps the typed address, never the password, and is read out to users of screen readers', async () => {
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

  test("an account without a password is not opened by a hasher's answer for null", async () => {
    const yes = { right: true, outdated: false, unreadable: false };
    const gullible: PasswordHasher = { hash: async () => '$x$y', verify: async () => yes };
    const context = { hasher: gullible, report: () => undefined };
    const judge = (hash: string | null) =>
      judgePassword(context, 'x', {
        begin: async () => ({ outcome: 'judge', userId: 'usr_1', hash, passwordChangedMs: null }),
        finish: async ({ right }) => right,
      });
    expect([await judge(null), await judge('$x$y')]).toEqual([false, true]);
    const fixture = await openProvider({ passwordHasher: gullible });
    await fixture.directory.importAccount({ email: 'bare@example.com', emailVerified: true });
    const browser = fixture.browser();
    for (const email of ['bare@example.com', 'unknown@example.com'])
      expect((await browser.post('/api/auth/login', { email, password: 'x' })).status).toBe(422);
    expect(browser.cookies.size).toBe(0);
  });
});

test('after five wrong ones nothing is compared, for known and unknown addresses alike, until the lock ends', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const bodies: string[] = [];
  for (const email of [EMAIL, 'unknown@example.com']) {
    const browser = browserAt(fixture, HERE);
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
  await logIn(fixture, EMAIL, { browser: browserAt(fixture, HERE) });
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

test('a planted session from before the sign-in is not the one after it', async () => {
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

test('an outdated hash is replaced while the password is known', async () => {
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

test('a hash that cannot be computed here signs no one in, and is reported to the operator', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const unable: PasswordHasher = {
    ...fixture.hasher,
    verify: async () => ({ right: false, outdated: false, unreadable: true }),
  };
  const browser = fixture.browser(fixture.make({ passwordHasher: unable }));
  expect((await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(422);
  expect(String(fixture.reported[0])).toContain('cannot be computed');
  expect(String(fixture.reported[0])).not.toContain('$argon2id');
});

test('a password that is replaced while a sign-in with the old one is judged signs no one in', async () => {
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

test('an end of all sessions during a sign-in ends the new one too', async () => {
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

describe('an attacker who guesses', () => {
  const wrong = { email: EMAIL, password: 'wrong' };
  const right = { email: EMAIL, password: PASSWORD };

  test('from one network locks no other network out, day and night, and blocks no mail', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const anonymous = browserAt(fixture, HERE);
    for (let hour = 0; hour < 24; hour += 1) {
      for (let i = 0; i < 10; i += 1) await anonymous.post('/api/auth/login', wrong);
      for (let i = 0; i < 5; i += 1) {
        await anonymous.post('/api/auth/sign-up', { email: EMAIL });
        await anonymous.post('/api/auth/reset', { email: EMAIL });
      }
      fixture.clock.nowMs += HOUR_MS / 2;
      const holder = browserAt(fixture, THERE);
      expect((await holder.post('/api/auth/login', right)).status).toBe(303);
      expect((await holder.post('/api/auth/reset', { email: EMAIL })).status).toBe(200);
      fixture.clock.nowMs += HOUR_MS / 2;
    }
    expect((await owner.post('/api/auth/login', right)).status).toBe(303);
  });

  test('from everywhere comes to a limit over all networks, and a browser that knows the account still gets in', async () => {
    const fixture = await openProvider();
    const known = await signUp(fixture);
    await known.get('/api/auth/logout');
    let judged = 0;
    for (let i = 0; i < 100; i += 1) {
      const { status } = await browserAt(fixture, `203.0.113.${i}`).post('/api/auth/login', wrong);
      judged += Number(status === 422);
    }
    expect(judged).toBe(30);
    expect((await browserAt(fixture, THERE).post('/api/auth/login', right)).status).toBe(429);
    fixture.clock.nowMs += 1;
    expect((await known.post('/api/auth/login', right)).status).toBe(303);
    // That is no way around the limit: a browser has its own five guesses.
    for (let i = 0; i < 5; i += 1) await known.post('/api/auth/login', wrong);
    expect((await known.post('/api/auth/login', right)).status).toBe(429);
  });

  test('behind the same address as many others does not lock out those who have signed in there before', async () => {
    const fixture = await openProvider();
    const known = browserAt(fixture, HERE);
    await signUp(fixture, EMAIL, { browser: known });
    for (let i = 0; i < 30; i += 1)
      await browserAt(fixture, HERE).post('/api/auth/login', { email: `n${i}@example.com`, password: 'x' });
    expect((await browserAt(fixture, HERE).post('/api/auth/login', right)).status).toBe(429);
    fixture.clock.nowMs += 1;
    expect((await known.post('/api/auth/login', right)).status).toBe(303);
  });

  test('gains nothing by a browser that knows another account, an older password, or nothing at all', async () => {
    const fixture = await openProvider();
    const old = await signUp(fixture);
    const mallory = await signUp(fixture, 'mallory@example.com');
    const cookieOf = (browser: FormBrowser) =>
      `__Host-sb_browser=${browser.cookies.get('__Host-sb_browser')?.value}`;
    const former = cookieOf(old);
    await old.post('/api/auth/security/password', { password: 'another good phrase' });
    for (let i = 0; i < 30; i += 1) await fixture.browser().post('/api/auth/login', wrong);
    const now = { email: EMAIL, password: 'another good phrase' };
    fixture.clock.nowMs += 1;
    for (const cookie of [former, cookieOf(mallory), '__Host-sb_browser=made-up', `sb_browser=${former}`])
      expect((await fixture.browser().post('/api/auth/login', now, { cookie })).status).toBe(429);
    expect((await fixture.browser().post('/api/auth/login', now, { cookie: cookieOf(old) })).status).toBe(
      303,
    );
    fixture.clock.nowMs += 200 * DAY_MS;
    for (let i = 0; i < 30; i += 1) await fixture.browser().post('/api/auth/login', wrong);
    expect((await fixture.browser().post('/api/auth/login', now, { cookie: cookieOf(old) })).status).toBe(
      429,
    );
  });

  test('is reported to the holder of the account, once a day', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const before = fixture.outbox.length;
    for (let i = 0; i < 200; i += 1) {
      await browserAt(fixture, HERE).post('/api/auth/login', wrong);
      fixture.clock.nowMs += MINUTE_MS;
    }
    await fixture.settled();
    expect(fixture.outbox.slice(before).map(({ to, subject }) => [to, subject])).toEqual([
      [EMAIL, 'Your password may be under attack at Fieldwork'],
    ]);
  });
});

test('the cookie of a known browser opens nothing, and goes to this host alone', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const browserCookie = browser.cookies.get('__Host-sb_browser');
  expect(browserCookie).toMatchObject({
    path: '/',
    attributes: expect.arrayContaining(['httponly', 'secure', 'samesite=strict']),
  });
  const headers = new Headers({
    cookie: `__Host-sb_browser=${browserCookie?.value}; sb_session=${browserCookie?.value}`,
  });
  expect(await fixture.provider.resolve(headers)).toBeNull();
});

test('a hasher without a place turns callers away before anything is counted', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const hasher = makePasswordHasher({ random: testRandom(), atOnceMax: 1, waitingMax: 0 });
  let release: () => void = () => expect.fail('the place is not held');
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const busy = hasher.inTurn?.(() => held);
  const browser = fixture.browser(fixture.make({ passwordHasher: hasher }));
  fixture.watch.calls.length = 0;
  for (let i = 0; i < 40; i += 1)
    expect((await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(503);
  expect(fixture.watch.calls).toEqual([]);
  release();
  await busy;
  await logIn(fixture);
});

test('four right sign-ins at once with an outdated hash all get in, and one new hash is stored', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  let made = 0;
  const aging: PasswordHasher = {
    hash: async () => {
      made += 1;
      return `$argon2id$v=19$m=9,t=1,p=1$AAAAAAAAAAA$renewed${made}`;
    },
    verify: async (password, stored) => ({
      ...(await fixture.hasher.verify(password, stored)),
      outdated: true,
    }),
  };
  const provider = fixture.make({ passwordHasher: aging });
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() =>
      fixture.browser(provider).post('/api/auth/login', { email: EMAIL, password: PASSWORD }),
    ),
  );
  expect(answers.map((each) => each.status)).toEqual([303, 303, 303, 303]);
});
