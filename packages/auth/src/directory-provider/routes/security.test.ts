/** The account page: what it shows, what it changes, and what it asks for first. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  openProvider,
  PASSWORD,
  signUp,
  userIdOf,
} from '../../../test/directory-provider.ts';
import { MINUTE_MS, OTHER_SCOPE } from '../../../test/support.ts';

const EMAIL = 'ada@example.com';
const SECURITY = '/api/auth/security';
const CONFIRM = '/api/auth/confirm?returnTo=%2Fapi%2Fauth%2Fsecurity';
const NEW = 'another good phrase';

test('nobody who is not signed in sees it; they are sent to sign in, and back', async () => {
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

describe('proving once more who one is', () => {
  const guarded = [
    ['email', { email: 'new@example.com' }],
    ['password', { password: NEW }],
    ['totp', {}],
    ['totp/enable', { code: '000000', secret: '' }],
    ['totp/disable', {}],
    ['recovery-codes', {}],
    ['passkeys/rename', { id: 'x', name: 'y' }],
    ['passkeys/remove', { id: 'x' }],
  ] as const;

  test.each(guarded)(
    'ten minutes after the last proof it is asked for: security/%s',
    async (name, fields) => {
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
    },
  );

  test('the page offers no form for it, and says where to go', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    fixture.clock.nowMs += 11 * MINUTE_MS;
    const page = await (await browser.get(SECURITY)).text();
    expect(page).toContain(`href="${CONFIRM}"`);
    for (const [name] of guarded) expect(page).not.toContain(`action="${SECURITY}/${name}"`);
    expect(page).not.toContain('data-passkey');
  });

  test('with the password: the session is another one, fresh, and a second factor is not asked for', async () => {
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
    expect((await browser.post(`${SECURITY}/password`, { password: NEW })).headers.get('location')).toContain(
      'done=',
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

  test('somebody else’s password proves nothing', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const mallory = await signUp(fixture, 'mallory@example.com', { password: 'mallory has a phrase' });
    expect((await mallory.post('/api/auth/confirm', { password: PASSWORD })).status).toBe(422);
    expect(await userIdOf(fixture, mallory)).not.toBe(await userIdOf(fixture, browser));
  });
});

describe('the password', () => {
  test('a new one ends every other session, keeps this browser signed in, and is told', async () => {
    const fixture = await openProvider();
    const [here, elsewhere] = [await signUp(fixture), await logIn(fixture)];
    const old = here.headersFor('/');
    const done = await here.post(`${SECURITY}/password`, { username: EMAIL, password: NEW });
    expect(done.headers.get('location')).toBe(`${SECURITY}?done=password_changed`);
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

  test('changing it proves nothing anew: the ten minutes go on from the last proof', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    fixture.clock.nowMs += 9 * MINUTE_MS;
    await browser.post(`${SECURITY}/password`, { password: NEW });
    expect((await browser.post(`${SECURITY}/totp`)).status).toBe(200);
    fixture.clock.nowMs += MINUTE_MS;
    expect((await browser.post(`${SECURITY}/totp`)).headers.get('location')).toBe(CONFIRM);
  });

  test('one that will not do is refused beside its field', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const refused = await browser.post(`${SECURITY}/password`, { password: 'Fieldwork1' });
    const body = await refused.text();
    expect([refused.status, body.includes('id="new-password-fault"')]).toEqual([422, true]);
    expect(body).toMatch(/<input id="new-password"[^>]* autofocus>/);
  });
});

describe('the address', () => {
  test('changes when the new one was shown to work, and the old one is told', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const asked = await browser.post(`${SECURITY}/email`, { email: 'ada.king@example.com' });
    expect(asked.headers.get('location')).toBe(`${SECURITY}?done=email_sent`);
    const token = await fixture.mailedToken();
    expect(fixture.outbox.at(-1)?.to).toBe('ada.king@example.com');
    const phone = fixture.browser();
    expect((await phone.get(`/api/auth/email/finish?token=${token}`)).status).toBe(200);
    expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({ email: EMAIL });
    expect((await phone.post('/api/auth/email/finish', { token })).status).toBe(200);
    expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({
      email: 'ada.king@example.com',
    });
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({
      to: EMAIL,
      subject: 'Your address was changed at Fieldwork',
    });
    expect((await phone.post('/api/auth/email/finish', { token })).status).toBe(410);
    expect(phone.cookies.size).toBe(0);
  });

  test('of somebody else gets the same answer, and its holder a mail without a link to take over', async () => {
    const fixture = await openProvider();
    await signUp(fixture, 'bea@example.com');
    const browser = await signUp(fixture);
    const asked = await browser.post(`${SECURITY}/email`, { email: ' BEA@example.com' });
    expect(asked.headers.get('location')).toBe(`${SECURITY}?done=email_sent`);
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({ to: 'bea@example.com' });
    expect(fixture.outbox.at(-1)?.text).not.toContain('token=');
  });

  test('that is none is refused beside its field, and too many are limited', async () => {
    const fixture = await openProvider();
    const browser = await signUp(fixture);
    const refused = await browser.post(`${SECURITY}/email`, { email: 'nobody' });
    expect([refused.status, (await refused.text()).includes('id="email-fault"')]).toEqual([422, true]);
    for (let i = 0; i < 3; i += 1) await browser.post(`${SECURITY}/email`, { email: 'new@example.com' });
    const limited = await browser.post(`${SECURITY}/email`, { email: 'new@example.com' });
    expect([limited.status, limited.headers.has('retry-after')]).toEqual([429, true]);
  });
});

test('the name is saved, emptied, and refused when it will not do', async () => {
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
    expect(done.headers.get('location')).toBe(`${SECURITY}?done=session_ended`);
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
    expect([done.headers.get('location'), here.cookies.size]).toEqual([
      '/api/auth/login?returnTo=%2Fapi%2Fauth%2Fsecurity',
      0,
    ]);
    expect(await fixture.provider.resolve(stolen)).toBeNull();
  });

  test('everywhere means everywhere: this one, the others, and one that was issued a moment ahead of the clock', async () => {
    const fixture = await openProvider();
    const here = await signUp(fixture);
    const there = await logIn(fixture);
    await here.post(`${SECURITY}/password`, { password: NEW });
    const stolen = [here.headersFor('/'), there.headersFor('/')];
    const done = await here.post(`${SECURITY}/sessions/end-all`);
    expect([done.headers.get('location'), here.cookies.size]).toEqual([
      '/api/auth/login?notice=signed_out',
      0,
    ]);
    for (const headers of stolen) expect(await fixture.provider.resolve(headers)).toBeNull();
    expect(await (await here.get('/api/auth/login?notice=signed_out')).text()).toContain(
      'signed out everywhere',
    );
  });
});

test('the cookie of a session that was ended opens no page and changes nothing', async () => {
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

test('what stands in the address is said only when it is a sentence of ours', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  for (const code of ['toString', '__proto__', '<b>x</b>', 'constructor'])
    expect(await (await browser.get(`${SECURITY}?done=${encodeURIComponent(code)}`)).text()).not.toContain(
      'role="status"',
    );
  expect(await (await browser.get(`${SECURITY}?done=name_saved`)).text()).toContain('Your name was saved.');
});
