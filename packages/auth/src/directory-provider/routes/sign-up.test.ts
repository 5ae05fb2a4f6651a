/** Making an account by a link in a mail. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  ORIGIN,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../../test/directory-provider.ts';
import { DAY_MS, HOUR_MS } from '../../../test/support.ts';

const EMAIL = 'ada@example.com';
const FINISH = '/api/auth/sign-up/finish';

async function askFor(fixture: ProviderFixture, email = EMAIL, fields: Record<string, string> = {}) {
  const response = await fixture.browser().post('/api/auth/sign-up', { email, ...fields });
  expect(response.status).toBe(200);
  return (await response.text()).replaceAll(email, 'EMAIL');
}

test('an address gets a link, the link a form, and the form an account that is signed in', async () => {
  const fixture = await openProvider();
  const browser = fixture.browser();
  await browser.post('/api/auth/sign-up', { email: EMAIL, name: 'Ada' });
  const token = await fixture.mailedToken();
  expect(fixture.outbox).toHaveLength(1);
  expect(fixture.outbox[0]?.to).toBe(EMAIL);
  expect(fixture.outbox[0]?.text).toContain(`${ORIGIN}${FINISH}?token=${token}`);
  expect(fixture.outbox[0]?.text).toContain('24 hours');

  const page = await browser.get(`${FINISH}?token=${token}`);
  const body = await page.text();
  expect([page.status, body.includes(EMAIL), body.includes('value="Ada"')]).toEqual([200, true, true]);
  const done = await browser.post(FINISH, { token, name: 'Ada King', username: EMAIL, password: PASSWORD });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
  expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({
    email: EMAIL,
    name: 'Ada King',
    emailVerified: true,
  });
});

describe('the answer to a request for an account', () => {
  test('is the same whether or not the address has one; the mail is not', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    fixture.watch.calls.length = 0;
    const known = await askFor(fixture);
    const knownCalls = fixture.watch.calls.splice(0);
    const unknown = await askFor(fixture, 'new@example.com');
    expect([known, knownCalls]).toEqual([unknown, fixture.watch.calls]);
    await fixture.settled();
    const [toKnown, toNew] = fixture.outbox.slice(-2);
    expect([toKnown?.to, toNew?.to]).toEqual([EMAIL, 'new@example.com']);
    expect(toKnown?.text).toContain('You have an account with it already');
    expect(toKnown?.text).not.toContain('token=');
    expect(toNew?.text).toContain('token=');
  });

  test('does not wait for the mail, and does not fail with it', async () => {
    let sending = 0;
    const fixture = await openProvider({
      mailer: {
        send: () => {
          sending += 1;
          return sending === 1 ? new Promise(() => undefined) : Promise.reject(new Error('no mail server'));
        },
      },
      background: () => undefined,
    });
    await askFor(fixture);
    await askFor(fixture, 'new@example.com');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sending).toBe(2);
    expect(fixture.reported).toMatchObject([{ message: 'A mail could not be sent.' }]);
  });

  test('is refused after ten mails to one address within the hour, with and without an account', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const ask = (email: string) => fixture.browser().post('/api/auth/sign-up', { email });
    for (let i = 0; i < 9; i += 1) await ask(EMAIL);
    for (let i = 0; i < 10; i += 1) await ask('new@example.com');
    for (const email of [EMAIL, 'new@example.com']) {
      const limited = await ask(email);
      expect([limited.status, Number(limited.headers.get('retry-after')) > 3_000]).toEqual([429, true]);
      expect(await limited.text()).toContain('Too many attempts. Try again in 60 minutes.');
    }
  });
});

test('a mail to another person holds no word that the requester has chosen', async () => {
  const fixture = await openProvider();
  const spam = 'Visit evil.example and win';
  await askFor(fixture, EMAIL, { name: spam, returnTo: '/call-evil.example-now' });
  await signUp(fixture, 'bea@example.com');
  await askFor(fixture, 'bea@example.com', { name: spam, returnTo: '/call-evil.example-now' });
  for (const mail of fixture.outbox) expect(JSON.stringify(mail)).not.toContain('evil');
});

test('the requested path is remembered in that browser, and in no other', async () => {
  const fixture = await openProvider();
  const browser = fixture.browser();
  await browser.post('/api/auth/sign-up', { email: EMAIL, returnTo: '/invites/1?x=y' });
  expect(browser.cookies.get('__Host-sb_return_to')).toMatchObject({
    path: '/',
    attributes: expect.arrayContaining(['httponly', 'secure', 'samesite=lax']),
  });
  const first = await fixture.mailedToken();
  const done = await browser.post(FINISH, { token: first, password: PASSWORD });
  expect(done.headers.get('location')).toBe('/invites/1?x=y');
  expect(browser.cookies.has('__Host-sb_return_to')).toBe(false);

  const [asking, following] = [fixture.browser(), fixture.browser()];
  await asking.post('/api/auth/sign-up', { email: 'bea@example.com', returnTo: '/invites/1' });
  const token = await fixture.mailedToken();
  const elsewhere = await following.post(FINISH, { token, password: PASSWORD });
  expect(elsewhere.headers.get('location')).toBe('/');
});

describe('the link', () => {
  test('may be shown to a mail scanner any number of times', async () => {
    const fixture = await openProvider();
    await askFor(fixture);
    const token = await fixture.mailedToken();
    fixture.watch.calls.length = 0;
    for (let i = 0; i < 3; i += 1) {
      const page = await fixture.browser().get(`${FINISH}?token=${token}`);
      expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
    }
    expect(new Set(fixture.watch.calls)).toEqual(new Set(['showLink']));
    expect((await fixture.browser().post(FINISH, { token, password: PASSWORD })).status).toBe(303);
  });

  test.each([
    [
      'used',
      async (fixture: ProviderFixture, token: string) => {
        await fixture.browser().post(FINISH, { token, password: PASSWORD });
        return token;
      },
    ],
    [
      'replaced',
      async (fixture: ProviderFixture, token: string) => {
        await askFor(fixture);
        return token;
      },
    ],
    [
      'expired',
      async (fixture: ProviderFixture, token: string) => {
        fixture.clock.nowMs += DAY_MS;
        return token;
      },
    ],
    [
      'for something else',
      async (fixture: ProviderFixture) => {
        await signUp(fixture, 'bea@example.com');
        await fixture.browser().post('/api/auth/reset', { email: 'bea@example.com' });
        return fixture.mailedToken();
      },
    ],
    ['made up', async () => 'AAAAAAAAAAAAAAAAAAAAAA'],
    ['empty', async () => ''],
  ])('is 410 when it is %s, and makes no account and no hash', async (_, spoil) => {
    const fixture = await openProvider();
    await askFor(fixture);
    const token = await spoil(fixture, await fixture.mailedToken());
    const { hashed } = fixture.hasher;
    const browser = fixture.browser();
    const shown = await browser.get(`${FINISH}?token=${token}`);
    const done = await browser.post(FINISH, { token, password: PASSWORD });
    expect([shown.status, done.status]).toEqual([410, 410]);
    expect(await done.text()).toBe(await shown.text());
    expect([browser.cookies.size, fixture.hasher.hashed]).toEqual([0, hashed]);
  });

  test('makes one account when it is used twice at the same time', async () => {
    const fixture = await openProvider();
    await askFor(fixture);
    const token = await fixture.mailedToken();
    const [one, two] = [fixture.browser(), fixture.browser()];
    const statuses = await Promise.all(
      [one, two].map(async (browser) => (await browser.post(FINISH, { token, password: PASSWORD })).status),
    );
    expect(statuses.sort()).toEqual([303, 410]);
    expect([await isSignedIn(fixture, one), await isSignedIn(fixture, two)].sort()).toEqual([false, true]);
  });

  test('of an address that has an account by now makes no second one', async () => {
    const fixture = await openProvider();
    await askFor(fixture);
    const token = await fixture.mailedToken();
    await fixture.directory.importAccount({ email: EMAIL, emailVerified: true });
    expect((await fixture.browser().post(FINISH, { token, password: PASSWORD })).status).toBe(410);
  });
});

test('an unacceptable password is refused beside its field, and the link stays good', async () => {
  const fixture = await openProvider();
  await askFor(fixture);
  const token = await fixture.mailedToken();
  const browser = fixture.browser();
  for (const password of ['short', 'password123', EMAIL, 'Fieldwork', 'x'.repeat(257)]) {
    const response = await browser.post(FINISH, { token, name: '<i>Ada', password });
    const body = await response.text();
    expect(response.status).toBe(422);
    expect(body).toMatch(/<p class="fault" id="password-fault" role="alert">/);
    expect(body).toMatch(
      /<input id="password"[^>]* aria-describedby="password-hint password-fault" autofocus>/,
    );
    expect(body).toContain('value="&lt;i&gt;Ada"');
    if (password !== EMAIL && password !== 'Fieldwork') expect(body).not.toContain(password);
  }
  const name = 'x'.repeat(101);
  const tooLong = await browser.post(FINISH, { token, name, password: PASSWORD });
  expect([tooLong.status, (await tooLong.text()).includes('id="name-fault"')]).toEqual([422, true]);
  expect((await browser.post(FINISH, { token, password: PASSWORD })).status).toBe(303);
});

test('an unacceptable address or name is refused beside its field', async () => {
  const fixture = await openProvider();
  const browser = fixture.browser();
  const address = await browser.post('/api/auth/sign-up', { email: 'no-address', name: 'Ada' });
  const body = await address.text();
  expect([address.status, body.includes('id="email-fault"'), body.includes('value="no-address"')]).toEqual([
    422,
    true,
    true,
  ]);
  const name = await browser.post('/api/auth/sign-up', { email: EMAIL, name: 'x'.repeat(101) });
  expect([name.status, (await name.text()).includes('id="name-fault"')]).toEqual([422, true]);
  await fixture.settled();
  expect(fixture.outbox).toEqual([]);
});

describe('closed', () => {
  test('no request is answered with a link, and no page offers it', async () => {
    const fixture = await openProvider({ signUp: 'closed' });
    const browser = fixture.browser();
    expect((await browser.get('/api/auth/sign-up')).status).toBe(403);
    expect((await browser.post('/api/auth/sign-up', { email: EMAIL })).status).toBe(403);
    expect(await (await browser.get('/api/auth/login')).text()).not.toContain('/api/auth/sign-up');
    expect(fixture.watch.calls).toEqual([]);
  });

  test('a link that an operator made in the directory still works', async () => {
    const fixture = await openProvider({ signUp: 'closed' });
    const made = await fixture.directory.beginSignUp({ scopeId: 'scp', email: EMAIL });
    const token = made.outcome === 'made' ? made.token : '';
    fixture.clock.nowMs += HOUR_MS;
    expect((await fixture.browser().post(FINISH, { token, password: PASSWORD })).status).toBe(303);
  });
});
