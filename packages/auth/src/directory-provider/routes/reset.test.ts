/** Choosing a new password by a link in a mail. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../../test/directory-provider.ts';
import { totpOf, turnOnTotp } from '../../../test/directory-provider-totp.ts';
import { HOUR_MS } from '../../../test/support.ts';

const EMAIL = 'ada@example.com';
const FINISH = '/api/auth/reset/finish';
const NEW = 'another good phrase';

async function askFor(fixture: ProviderFixture, email = EMAIL) {
  const response = await fixture.browser().post('/api/auth/reset', { email });
  return { status: response.status, body: (await response.text()).replaceAll(email, 'EMAIL') };
}

test('the same answer and the same calls whether or not the address has an account; only one gets a mail', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  fixture.outbox.length = 0;
  fixture.watch.calls.length = 0;
  const known = await askFor(fixture);
  const knownCalls = fixture.watch.calls.splice(0);
  const unknown = await askFor(fixture, 'unknown@example.com');
  expect([known, knownCalls]).toEqual([unknown, fixture.watch.calls]);
  expect(known.status).toBe(200);
  await fixture.settled();
  expect(fixture.outbox.map((mail) => mail.to)).toEqual([EMAIL]);
});

test('ends every former session, begins one here, and the old password no longer works', async () => {
  const fixture = await openProvider();
  const [elsewhere, here] = [await signUp(fixture), fixture.browser()];
  await here.post('/api/auth/reset', { email: EMAIL, returnTo: '/orders' });
  const token = await fixture.mailedToken();
  const page = await here.get(`${FINISH}?token=${token}`);
  expect([page.status, (await page.text()).includes(EMAIL)]).toEqual([200, true]);
  const done = await here.post(FINISH, { token, username: EMAIL, password: NEW });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/orders']);
  expect([await isSignedIn(fixture, elsewhere), await isSignedIn(fixture, here)]).toEqual([false, true]);
  fixture.clock.nowMs += 2;
  expect((await fixture.browser().post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status).toBe(
    422,
  );
  await logIn(fixture, EMAIL, { password: NEW });
  await fixture.settled();
  expect(fixture.outbox.at(-1)).toMatchObject({
    to: EMAIL,
    subject: 'Your password was changed at Fieldwork',
  });
});

test('ends also the session of another user in this browser', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const here = await signUp(fixture, 'bea@example.com');
  const bea = here.headersFor('/');
  await askFor(fixture);
  const token = await fixture.mailedToken();
  await here.post(FINISH, { token, password: NEW });
  expect(await fixture.provider.resolve(bea)).toBeNull();
  expect(await fixture.provider.resolve(here.headersFor('/'))).toMatchObject({ email: EMAIL });
});

test('begins a session also when the directory’s clock is ahead of ours', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  await askFor(fixture);
  const token = await fixture.mailedToken();
  const { clock } = fixture;
  const behind = fixture.browser(fixture.make({ runtime: { now: () => clock.nowMs - 700 } }));
  expect((await behind.post(FINISH, { token, password: NEW })).status).toBe(303);
  expect(await isSignedIn(fixture, behind)).toBe(true);
});

test('a second factor is demanded all the same', async () => {
  const fixture = await openProvider();
  const secret = await turnOnTotp(fixture, await signUp(fixture));
  await askFor(fixture);
  const token = await fixture.mailedToken();
  const browser = fixture.browser();
  const done = await browser.post(FINISH, { token, password: NEW });
  expect(done.headers.get('location')).toBe('/api/auth/login/second-factor');
  expect(await isSignedIn(fixture, browser)).toBe(false);
  fixture.clock.nowMs += 30_000;
  const code = totpOf(secret, fixture.clock.nowMs);
  expect((await browser.post('/api/auth/login/second-factor', { code })).status).toBe(303);
  expect(await isSignedIn(fixture, browser)).toBe(true);
});

describe('the link', () => {
  test('may be shown, and is good once, for an hour', async () => {
    const fixture = await openProvider();
    await signUp(fixture);
    await askFor(fixture);
    const token = await fixture.mailedToken();
    for (let i = 0; i < 3; i += 1)
      expect((await fixture.browser().get(`${FINISH}?token=${token}`)).status).toBe(200);
    expect((await fixture.browser().post(FINISH, { token, password: NEW })).status).toBe(303);
    expect((await fixture.browser().post(FINISH, { token, password: NEW })).status).toBe(410);
    fixture.clock.nowMs += 1;
    await askFor(fixture);
    const late = await fixture.mailedToken();
    fixture.clock.nowMs += HOUR_MS;
    expect((await fixture.browser().post(FINISH, { token: late, password: NEW })).status).toBe(410);
  });

  test('of a sign-up resets nothing', async () => {
    const fixture = await openProvider();
    await fixture.browser().post('/api/auth/sign-up', { email: EMAIL });
    const token = await fixture.mailedToken();
    expect((await fixture.browser().post(FINISH, { token, password: NEW })).status).toBe(410);
  });
});

test('an unacceptable password is refused, and the link stays good', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  await askFor(fixture);
  const token = await fixture.mailedToken();
  const browser = fixture.browser();
  const refused = await browser.post(FINISH, { token, password: 'password1' });
  expect([refused.status, (await refused.text()).includes('attacker would try')]).toEqual([422, true]);
  // Nor the account's own name.
  expect((await browser.post(FINISH, { token, password: 'AdaAda' })).status).toBe(422);
  expect((await browser.post(FINISH, { token, password: NEW })).status).toBe(303);
});

test('an invalid address is refused beside its field', async () => {
  const fixture = await openProvider();
  const { status, body } = await askFor(fixture, 'no-address');
  expect([status, body.includes('id="email-fault"')]).toEqual([422, true]);
});
