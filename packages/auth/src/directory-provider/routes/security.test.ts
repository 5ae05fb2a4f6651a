/** The account page: its content, its changes, and the proofs it demands. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
  userIdOf,
} from '../../../test/directory-provider.ts';
import type { FormBrowser } from '../../../test/directory-provider-browser.ts';
import { DAY_MS, MINUTE_MS, OTHER_SCOPE, SCOPE, TENANT_A, testRandom } from '../../../test/support.ts';
import { directoryIssuer } from '../../accounts/contract.ts';

const EMAIL = 'ada@example.com';
const SECURITY = '/api/auth/security';
const CONFIRM = '/api/auth/confirm?returnTo=%2Fapi%2Fauth%2Fsecurity';
const NEW = 'another good phrase';

test('a user who is not signed in does not see it; they are sent to sign in, and back', async () => {
  const fixture = await openProvider();
  const browser = fixture.browser();
  const sent = await browser.get(SECURITY);
  expect([sent.status, sent.headers.get('location')]).toEqual([
    303,
    '/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity',
  ]);
  await signUp(fixture);
  const done = await browser.post('/api/auth/login', {
    email: EMAIL,
    password: PASSWORD,
    returnTo: SECURITY,
  });
  expect(done.headers.get('location')).toBe(SECURITY);
  expect((await browser.get(SECURITY)).status).toBe(200);
});

describe("confirming one's identity", () => {
  const guarded = [
    ['email', { email: 'new@example.com' }],
    ['password', { password: NEW }],
    ['totp', {}],
    ['totp/enable', { code: '000000', sealed: '' }],
    ['totp/disable', {}],
    ['recovery-codes', {}],
    ['passkeys/rename', { id: 'x', name: 'y' }],
    ['passkeys/remove', { id: 'x' }],
    ['delete', { email: 'x' }],
  ] as const;

  test.each(guarded)('ten minutes after the last proof it is demanded: security/%s', async (name, fields) => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    fixture.clock.nowMs += 10 * MINUTE_MS - 2;
    const intime = await browser.post(`${SECURITY}/${name}`, fields);
    expect(intime.headers.get('location')).not.toBe(CONFIRM);
    const other = await logIn(fixture, EMAIL, { password: name === 'password' ? NEW : PASSWORD });
    fixture.clock.nowMs += 10 * MINUTE_MS;
    fixture.watch.calls.length = 0;
    expect((await other.post(`${SECURITY}/${name}`, fields)).headers.get('location')).toBe(CONFIRM);
    expect(new Set(fixture.watch.calls)).toEqual(new Set(['sessionState', 'accountSecurity']));
  });

  test('the page offers no form for it, and leads to the confirmation', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    fixture.clock.nowMs += 11 * MINUTE_MS;
    const page = await (await browser.get(SECURITY)).text();
    expect(page).toContain(`href="${CONFIRM}"`);
    for (const [name] of guarded) expect(page).not.toContain(`action="${SECURITY}/${name}"`);
    expect(page).not.toContain('data-passkey');
  });

  test('with the password: the session is another one, and fresh', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const before = browser.headersFor('/');
    fixture.clock.nowMs += 11 * MINUTE_MS;
    const page = await (await browser.get(CONFIRM)).text();
    expect(page).toContain('name="returnTo" value="/api/auth/security"');
    const done = await browser.post('/api/auth/confirm', {
      password: PASSWORD,
      username: EMAIL,
      returnTo: SECURITY,
    });
    expect([done.status, done.headers.get('location')]).toEqual([303, SECURITY]);
    expect(await fixture.provider.resolve(before)).toBeNull();
    expect((await browser.post(`${SECURITY}/password`, { password: NEW })).headers.get('location')).toBe(
      SECURITY,
    );
  });

  test('a wrong password is refused, counted, and leaves the session as it was', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    for (let i = 0; i < 5; i += 1) {
      const wrong = await browser.post('/api/auth/confirm', { password: 'wrong' });
      expect([wrong.status, (await wrong.text()).includes('This is not your password')]).toEqual([422, true]);
    }
    expect((await browser.post('/api/auth/confirm', { password: PASSWORD })).status).toBe(429);
    expect(await isSignedIn(fixture, browser)).toBe(true);
  });

  test("another user's password proves nothing", async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const mallory = await signUp(fixture, 'mallory@example.com', { password: 'mallory has a phrase' });
    expect((await mallory.post('/api/auth/confirm', { password: PASSWORD })).status).toBe(422);
    expect(await userIdOf(fixture, mallory)).not.toBe(await userIdOf(fixture, browser));
  });
});

describe('the password', () => {
  test('a new one ends every other session, keeps this browser signed in, and is mailed', async () => {
    const fixture = await openProvider();
    const [here, elsewhere] = [await signUp(fixture), await logIn(fixture)];
    const old = here.headersFor('/');
    const done = await here.post(`${SECURITY}/password`, { username: EMAIL, password: NEW });
    expect(done.headers.get('location')).toBe(SECURITY);
    expect([await isSignedIn(fixture, here), await isSignedIn(fixture, elsewhere)]).toEqual([true, false]);
    expect(await fixture.provider.resolve(old)).toBeNull();
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({
      to: EMAIL,
      subject: 'Your password was changed at Fieldwork',
    });
    fixture.clock.nowMs += 2;
    await logIn(fixture, EMAIL, { password: NEW });
    expect(await (await here.get(done.headers.get('location') ?? '')).text()).toContain(
      'all other sessions were ended',
    );
  });

  test('changing it is no new proof: the ten minutes go on from the last one', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    fixture.clock.nowMs += 9 * MINUTE_MS;
    await browser.post(`${SECURITY}/password`, { password: NEW });
    expect((await browser.post(`${SECURITY}/totp`)).status).toBe(200);
    fixture.clock.nowMs += MINUTE_MS;
    expect((await browser.post(`${SECURITY}/totp`)).headers.get('location')).toBe(CONFIRM);
  });

  test('an unacceptable one is refused beside its field', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const refused = await browser.post(`${SECURITY}/password`, { password: 'Fieldwork1' });
    const body = await refused.text();
    expect([refused.status, body.includes('id="new-password-fault"')]).toEqual([422, true]);
    expect(body).toMatch(/<input id="new-password"[^>]* autofocus>/);
  });
});

describe('the address', () => {
  const NEW_EMAIL = 'ada.king@example.com';

  async function askForChange(fixture: ProviderFixture, browser: FormBrowser, email = NEW_EMAIL) {
    const asked = await browser.post(`${SECURITY}/email`, { email });
    expect(asked.headers.get('location')).toBe(SECURITY);
    await fixture.settled();
    const mail = fixture.outbox.findLast(({ to }) => to === email);
    return /[?&]token=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? '';
  }

  test('changes when mail to the new one was shown to arrive, and the old one is notified before and after', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const token = await askForChange(fixture, browser);
    expect(fixture.outbox.at(-1)).toMatchObject({
      to: EMAIL,
      subject: 'Your address is about to change at Fieldwork',
    });
    expect((await browser.get(`/api/auth/email/finish?token=${token}`)).status).toBe(200);
    expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({ email: EMAIL });
    const done = await browser.post('/api/auth/email/finish', { token });
    expect(done.headers.get('location')).toBe(SECURITY);
    expect(await (await browser.get(SECURITY)).text()).toContain('Your address was changed');
    expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({ email: NEW_EMAIL });
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({
      to: EMAIL,
      subject: 'Your address was changed at Fieldwork',
    });
    expect((await browser.post('/api/auth/email/finish', { token })).status).toBe(410);
  });

  test("is not moved by the reader of a mistyped one's mail, signed in or not", async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const token = await askForChange(fixture, browser, 'stranger@example.com');
    const link = `/api/auth/email/finish?token=${token}`;
    const anonymous = fixture.browser();
    const sent = await anonymous.get(link);
    expect(sent.headers.get('location')).toBe(`/api/auth/login?returnTo=${encodeURIComponent(link)}`);
    expect((await anonymous.post('/api/auth/email/finish', { token })).status).toBe(303);
    const mallory = await signUp(fixture, 'mallory@example.com');
    expect((await mallory.get(link)).status).toBe(410);
    expect((await mallory.post('/api/auth/email/finish', { token })).status).toBe(410);
    for (const [who, email] of [
      [browser, EMAIL],
      [mallory, 'mallory@example.com'],
    ] as const)
      expect(await fixture.provider.resolve(who.headersFor('/'))).toMatchObject({ email });
  });

  test('on another device asks its holder to sign in, and goes on to the link', async () => {
    const fixture = await openProvider();
    const token = await askForChange(fixture, await signUp(fixture));
    const link = `/api/auth/email/finish?token=${token}`;
    const phone = fixture.browser();
    const returnTo = new URL((await phone.get(link)).headers.get('location') ?? '', 'https://x').searchParams;
    fixture.clock.nowMs += 1;
    const fields = { email: EMAIL, password: PASSWORD, returnTo: returnTo.get('returnTo') ?? '' };
    const back = await phone.post('/api/auth/login', fields);
    expect(back.headers.get('location')).toBe(link);
    expect(await (await phone.get(link)).text()).toContain('Use this address?');
    fixture.clock.nowMs += 11 * MINUTE_MS;
    expect((await phone.get(link)).headers.get('location')).toBe(
      `/api/auth/confirm?returnTo=${encodeURIComponent(link)}`,
    );
  });

  test('that an attacker requested is not changed after everything was ended', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const thief = await logIn(fixture);
    const token = await askForChange(fixture, thief, 'thief@example.com');
    await browser.post(`${SECURITY}/sessions/end-all`);
    fixture.clock.nowMs += 1;
    const again = await logIn(fixture);
    expect((await again.post('/api/auth/email/finish', { token })).status).toBe(410);
    expect(await fixture.provider.resolve(again.headersFor('/'))).toMatchObject({ email: EMAIL });
  });

  test('is reverted by its former holder, without signing in, and the thief is out', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    const thief = await logIn(fixture);
    await thief.post('/api/auth/email/finish', {
      token: await askForChange(fixture, thief, 'thief@example.com'),
    });
    const token = await fixture.mailedToken();
    expect(fixture.outbox.at(-1)?.text).toContain('7 days');
    // The steps of a thief who wants to keep it.
    await thief.post(`${SECURITY}/password`, { password: NEW });
    const further = await askForChange(fixture, thief, 'thief@other.example');
    await thief.post('/api/auth/email/finish', { token: further });
    const furtherBack = await fixture.mailedToken();

    const holder = fixture.browser();
    const link = `/api/auth/email/revert?token=${token}`;
    for (let i = 0; i < 2; i += 1) expect(await (await holder.get(link)).text()).toContain(EMAIL);
    expect(await isSignedIn(fixture, thief)).toBe(true);
    expect((await holder.post('/api/auth/email/revert', { token })).status).toBe(200);
    expect(await isSignedIn(fixture, thief)).toBe(false);
    expect((await thief.post('/api/auth/email/revert', { token: furtherBack })).status).toBe(410);
    expect((await holder.post('/api/auth/email/revert', { token })).status).toBe(410);
    await holder.post('/api/auth/reset', { email: EMAIL });
    const reset = await fixture.mailedToken();
    fixture.clock.nowMs += 1;
    await holder.post('/api/auth/reset/finish', { token: reset, password: 'mine once again' });
    expect(await fixture.provider.resolve(holder.headersFor('/'))).toMatchObject({ email: EMAIL });
    const { items } = await fixture.directory.listIdentityEvents({ limit: 200 });
    expect(items.map((each) => each.type)).toContain('email_reverted');
  });

  test('of another account gets the same answer, and its holder a mail without a usable link', async () => {
    const fixture = await openProvider();
    await signUp(fixture, 'bea@example.com');
    const browser = await signUp(fixture);
    const asked = await browser.post(`${SECURITY}/email`, { email: ' BEA@example.com' });
    expect(asked.headers.get('location')).toBe(SECURITY);
    await fixture.settled();
    const [toBea] = fixture.outbox.slice(-2);
    expect(toBea).toMatchObject({ to: 'bea@example.com' });
    expect(toBea?.text).not.toContain('token=');
  });

  test('that is invalid is refused beside its field, and too many are limited', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const refused = await browser.post(`${SECURITY}/email`, { email: 'no-address' });
    expect([refused.status, (await refused.text()).includes('id="email-fault"')]).toEqual([422, true]);
    for (let i = 0; i < 10; i += 1) await browser.post(`${SECURITY}/email`, { email: 'new@example.com' });
    const limited = await browser.post(`${SECURITY}/email`, { email: 'new@example.com' });
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true]);
  });
});

test('the name is saved, emptied, and refused when it is unacceptable', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  await browser.post(`${SECURITY}/name`, { name: ' Ada King ' });
  expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({ name: 'Ada King' });
  await browser.post(`${SECURITY}/name`, { name: ' ' });
  expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({ name: null });
  const refused = await browser.post(`${SECURITY}/name`, { name: 'x'.repeat(101) });
  expect([refused.status, (await refused.text()).includes('id="name-fault"')]).toEqual([422, true]);
});

describe('sessions', () => {
  const agent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0';
  const sidsOn = (page: string) =>
    [...page.matchAll(/name="sid" value="([^"]+)"/g)].map((match) => match[1] ?? '');

  test('are listed with their browser, and one of them is this one', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    fixture.clock.nowMs += 1;
    const there = fixture.browser();
    await there.post('/api/auth/login', { email: EMAIL, password: PASSWORD }, { 'user-agent': agent });
    await signUp(fixture, 'bea@example.com');
    const page = await (await here.get(SECURITY)).text();
    expect(sidsOn(page)).toHaveLength(2);
    expect(page).toMatch(/Edge on Windows<\/strong> /);
    expect(page).toMatch(/Unknown browser<\/strong> \(this one\)/);
  });

  test('one is ended by its own person, for good', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const there = await logIn(fixture);
    const bea = await signUp(fixture, 'bea@example.com');
    const [newest = ''] = sidsOn(await (await here.get(SECURITY)).text());
    expect((await bea.post(`${SECURITY}/sessions/end`, { sid: newest })).status).toBe(303);
    expect(await isSignedIn(fixture, there)).toBe(true);
    const done = await here.post(`${SECURITY}/sessions/end`, { sid: newest });
    expect(done.headers.get('location')).toBe(SECURITY);
    expect([await isSignedIn(fixture, there), await isSignedIn(fixture, here)]).toEqual([false, true]);
    expect((await here.post(`${SECURITY}/sessions/end`, { sid: newest })).status).toBe(303);
  });

  test('one of another instance of the tenant is ended from here as well', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const elsewhere = fixture.make({ scopeId: OTHER_SCOPE });
    const there = fixture.browser(elsewhere);
    await there.post('/api/auth/login', { email: EMAIL, password: PASSWORD });
    expect(await elsewhere.resolve(there.headersFor('/'))).not.toBeNull();
    const sids = sidsOn(await (await here.get(SECURITY)).text());
    for (const sid of sids) await here.post(`${SECURITY}/sessions/end`, { sid });
    expect(await elsewhere.resolve(there.headersFor('/'))).toBeNull();
  });

  test('this one is ended as by signing out', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const stolen = here.headersFor('/');
    const [sid = ''] = sidsOn(await (await here.get(SECURITY)).text());
    const done = await here.post(`${SECURITY}/sessions/end`, { sid });
    expect(done.headers.get('location')).toBe('/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity');
    expect(here.cookies.has('sb_session')).toBe(false);
    expect(await fixture.provider.resolve(stolen)).toBeNull();
  });

  test('everywhere means everywhere: this one, the others, and one that was issued a moment ahead of the clock', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const there = await logIn(fixture);
    await here.post(`${SECURITY}/password`, { password: NEW });
    const stolen = [here.headersFor('/'), there.headersFor('/')];
    const done = await here.post(`${SECURITY}/sessions/end-all`);
    expect(done.headers.get('location')).toBe('/api/auth/login');
    expect(here.cookies.has('sb_session')).toBe(false);
    for (const headers of stolen) expect(await fixture.provider.resolve(headers)).toBeNull();
    expect(await (await here.get('/api/auth/login')).text()).toContain('signed out everywhere');
  });
});

test('the cookie of an ended session opens no page and changes nothing', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const cookie = browser.headersFor('/').get('cookie') ?? '';
  await browser.get('/api/auth/logout');
  const thief = fixture.browser();
  const login = '/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity';
  for (const path of [SECURITY, '/api/auth/confirm'])
    expect((await thief.get(path, { cookie })).headers.get('location')).toBe(login);
  const post = await thief.post(`${SECURITY}/password`, { password: NEW }, { cookie });
  expect(post.headers.get('location')).toBe(login);
  expect((await thief.ask('/api/auth/passkeys/options', {}, { cookie })).status).toBe(401);
  fixture.clock.nowMs += 1;
  await logIn(fixture);
});

test('a notice is shown once, and by nothing in an address', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  for (const address of [`${SECURITY}?done=password_changed`, '/api/auth/login?notice=signed_out'])
    expect(await (await browser.get(address)).text()).not.toContain('role="status"');
  await browser.post(`${SECURITY}/name`, { name: 'Ada King' });
  expect(await (await browser.get(SECURITY)).text()).toContain('Your name was saved.');
  expect(await (await browser.get(SECURITY)).text()).not.toContain('Your name was saved.');
  for (const code of ['toString', '__proto__', '<b>x</b>', 'constructor']) {
    const cookie = `${browser.headersFor('/').get('cookie')}; __Host-sb_notice=${encodeURIComponent(code)}`;
    expect(await (await browser.get(SECURITY, { cookie })).text()).not.toContain('role="status"');
  }
});

describe('a request that outlives its session', () => {
  /** A form whose body is sent later, as a thief would, and its answer. */
  function slow(fixture: ProviderFixture, browser: FormBrowser, path: string) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const headers = browser.headersFor(path);
    headers.set('content-type', 'application/x-www-form-urlencoded');
    headers.set('origin', browser.origin);
    headers.set('accept', 'text/html');
    const init = { method: 'POST', headers, body: readable, duplex: 'half' } as const;
    const answer = fixture.provider.handle(new Request(browser.origin + path, init));
    return async (body: string) => {
      const writer = writable.getWriter();
      await writer.write(new TextEncoder().encode(body));
      await writer.close();
      return (await answer).headers.get('location');
    };
  }

  test('changes nothing, however long its body is held back', async () => {
    const fixture = await openProvider();
    const victim = await signUp(fixture);
    const thief = await logIn(fixture);
    const { account } = await accountOf(fixture, victim);
    const begun = [
      ['password', 'password=thief+has+the+last+word'],
      ['email', 'email=thief%40example.com'],
      ['totp', ''],
      ['name', 'name=Thief'],
      ['delete', 'email=ada%40example.com'],
    ].map(([name = '', body = '']) => ({ finish: slow(fixture, thief, `${SECURITY}/${name}`), body }));
    await new Promise((resolve) => setImmediate(resolve));
    await victim.post('/api/auth/reset', { email: EMAIL });
    const token = await fixture.mailedToken();
    fixture.clock.nowMs += MINUTE_MS;
    const done = await fixture.browser().post('/api/auth/reset/finish', { token, password: NEW });
    expect(done.status).toBe(303);
    for (const { finish, body } of begun)
      expect(await finish(body)).toBe('/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity');
    expect(await fixture.directory.findAccount({ userId: account.userId })).toEqual(account);
    fixture.clock.nowMs += 1;
    await logIn(fixture, EMAIL, { password: NEW });
  });

  test('changes nothing when the session is ended while the new password is hashed', async () => {
    const fixture = await openProvider();
    const victim = await signUp(fixture);
    const thief = await logIn(fixture);
    const hasher = {
      ...fixture.hasher,
      hash: async (password: string) => {
        await victim.post(`${SECURITY}/sessions/end-all`);
        return fixture.hasher.hash(password);
      },
    };
    const slowly = fixture.make({ passwordHasher: hasher });
    const response = await slowly.handle(formRequest(thief, `${SECURITY}/password`, { password: NEW }));
    expect(response.headers.get('location')).toContain('/api/auth/login');
    fixture.clock.nowMs += 1;
    await logIn(fixture);
  });
});

describe('of two users who end everything at once', () => {
  test('the later one wins: the session of the earlier is not live', async () => {
    const fixture = await openProvider();
    const first = await signUp(fixture);
    const { account } = await accountOf(fixture, first);
    const { directory, clock, hasher } = fixture;
    for (const overtaken of ['setPassword', 'completeReset'] as const) {
      clock.nowMs += 1;
      const thief = await logIn(fixture, EMAIL, { password: overtaken === 'setPassword' ? PASSWORD : NEW });
      await thief.post('/api/auth/reset', { email: EMAIL });
      const token = await fixture.mailedToken();
      const racing = new Proxy(directory, {
        get: (target, name: string) => async (input: never) => {
          const method = Reflect.get(target, name) as (input: never) => Promise<unknown>;
          const answer = await method.call(target, input);
          if (name !== overtaken) return answer;
          // A minute is more than any lead that a machine gives itself, and a moment is less.
          clock.nowMs += 1;
          const hash = await hasher.hash(NEW);
          const session = { sid: 'holder', issuedAtMs: clock.nowMs + 1_000 };
          await directory.setPassword({ scopeId: SCOPE, userId: account.userId, session, hash });
          clock.nowMs += 1;
          return answer;
        },
      });
      const provider = fixture.make({ directory: racing });
      const request =
        overtaken === 'setPassword'
          ? formRequest(thief, `${SECURITY}/password`, { password: 'thief changes it first' })
          : formRequest(thief, '/api/auth/reset/finish', { token, password: 'thief resets it first' });
      const response = await provider.handle(request);
      expect([response.status, response.headers.getSetCookie().join().includes('sb_session=ey')]).toEqual([
        409,
        false,
      ]);
    }
  });

  test('everything includes sessions of a machine whose clock is ahead', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const now = () => fixture.clock.nowMs + 5_000;
    const ahead = fixture.make({ runtime: { now, random: testRandom() } });
    const there = await logIn(fixture, EMAIL, { browser: fixture.browser(ahead) });
    const issuer = directoryIssuer(TENANT_A);
    const { account } = await accountOf(fixture, here);
    const early = { sid: 'early', issuedAtMs: fixture.clock.nowMs + 5_000 };
    const subject = { issuer, sub: account.userId, email: null, name: null };
    await fixture.directory.recordSignIn({ scopeId: SCOPE, subject, session: early });
    await here.post(`${SECURITY}/sessions/end-all`);
    expect(await fixture.directory.sessionState({ subject, session: early })).toBe('ended');
    expect(await isSignedIn(fixture, there)).toBe(false);
    // A user who signs in again is not locked out by it.
    await logIn(fixture);
    const again = await logIn(fixture);
    expect(await isSignedIn(fixture, again)).toBe(true);
  });
});

test('a clock that is set back revives neither a session nor the proof of an identity', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  fixture.clock.nowMs -= 10 * MINUTE_MS;
  expect((await browser.post(`${SECURITY}/totp`)).headers.get('location')).toBe(CONFIRM);
  fixture.clock.nowMs -= 10 * 365 * DAY_MS;
  expect(await isSignedIn(fixture, browser)).toBe(false);
  expect((await browser.get(SECURITY)).status).toBe(303);
});

describe('deleting the account', () => {
  test('demands its address typed out, ends its sessions, and leaves no credential', async () => {
    const fixture = await openProvider();
    const [here, there] = [await signUp(fixture), await logIn(fixture)];
    const wrong = await here.post(`${SECURITY}/delete`, { email: 'bea@example.com' });
    expect([wrong.status, (await wrong.text()).includes('id="delete-email-fault"')]).toEqual([422, true]);
    const done = await here.post(`${SECURITY}/delete`, { email: 'Ada@Example.com' });
    expect([done.status, here.cookies.has('sb_session')]).toEqual([200, false]);
    expect(await isSignedIn(fixture, there)).toBe(false);
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({
      to: EMAIL,
      subject: 'Your account was deleted at Fieldwork',
    });
    fixture.clock.nowMs += 1;
    const fields = { email: EMAIL, password: PASSWORD };
    expect((await fixture.browser().post('/api/auth/login', fields)).status).toBe(422);
    const { items } = await fixture.directory.listIdentityEvents({ limit: 1 });
    expect(items).toMatchObject([{ type: 'sign_in_refused', subject: null }]);
    // The address is free again.
    await signUp(fixture);
  });

  test('of the holder of the owner seat is refused', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const { account } = await accountOf(fixture, browser);
    const subject = { issuer: directoryIssuer(TENANT_A), sub: account.userId, email: EMAIL, name: 'Ada' };
    await fixture.directory.setPendingOwner({ scopeId: SCOPE });
    await fixture.directory.resolvePrincipal({ scopeId: SCOPE, subject });
    const refused = await browser.post(`${SECURITY}/delete`, { email: EMAIL });
    expect([refused.status, (await refused.text()).includes('holds the owner seat')]).toEqual([422, true]);
    expect(await isSignedIn(fixture, browser)).toBe(true);
  });
});

async function accountOf(fixture: ProviderFixture, browser: FormBrowser) {
  const account = await fixture.directory.findAccount({ userId: await userIdOf(fixture, browser) });
  if (account === null) throw new Error('there is no account');
  return { account };
}

/** The form that a browser would send, for another provider than its own. */
function formRequest(browser: FormBrowser, path: string, fields: Record<string, string>): Request {
  const headers = browser.headersFor(path);
  headers.set('origin', browser.origin);
  headers.set('accept', 'text/html');
  return new Request(browser.origin + path, { method: 'POST', headers, body: new URLSearchParams(fields) });
}
