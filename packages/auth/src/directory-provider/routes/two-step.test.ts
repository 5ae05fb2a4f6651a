/** Two-step verification: setting it up, signing in with it, and recovery codes. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
} from '../../../test/directory-provider.ts';
import { codesOn, sealedOn, secretOn, totpOf, turnOnTotp } from '../../../test/directory-provider-totp.ts';
import { MINUTE_MS } from '../../../test/support.ts';

const EMAIL = 'ada@example.com';
const SECOND = '/api/auth/login/second-factor';
const STEP_MS = 30_000;

/** A user with two-step verification, and the secret of their app. */
async function openWithTotp() {
  const fixture = await openProvider();
  const owner = await signUp(fixture);
  const secret = await turnOnTotp(fixture, owner);
  fixture.clock.nowMs += STEP_MS;
  return { fixture, owner, secret };
}

/** A browser that has shown the password. */
async function firstFactor(fixture: ProviderFixture, returnTo = '') {
  const browser = fixture.browser();
  const response = await browser.post('/api/auth/login', { email: EMAIL, password: PASSWORD, returnTo });
  expect(response.status).toBe(303);
  return { browser, location: response.headers.get('location') };
}

test('set-up shows the secret as a picture and as text, and the recovery codes once', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const page = await (await browser.post('/api/auth/security/totp')).text();
  const secret = secretOn(page);
  expect(page).toMatch(/<svg class="qr" role="img" aria-label="[^"]+" viewBox="0 0 (\d+) \1"/);
  expect(page.replaceAll(' ', '')).toContain(`<codeclass="secret">${secret}</code>`);
  const code = totpOf(secret, fixture.clock.nowMs);
  const codes = codesOn(
    await (await browser.post('/api/auth/security/totp/enable', { sealed: sealedOn(page), code })).text(),
  );
  expect(codes).toHaveLength(10);
  await fixture.settled();
  expect(fixture.outbox.at(-1)).toMatchObject({
    to: EMAIL,
    subject: 'Two-step verification was turned on at Fieldwork',
  });
  const account = await (await browser.get('/api/auth/security')).text();
  for (const each of [...codes, secret]) expect(account).not.toContain(each);
  expect(account).toContain('You have 10 recovery codes left');
});

test('a wrong first code shows the same secret again, and turns nothing on', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const page = await (await browser.post('/api/auth/security/totp')).text();
  const sealed = sealedOn(page);
  const wrong = await browser.post('/api/auth/security/totp/enable', { sealed, code: '000000' });
  const body = await wrong.text();
  expect([wrong.status, secretOn(body), sealedOn(body), body.includes('id="code-fault"')]).toEqual([
    422,
    secretOn(page),
    sealed,
    true,
  ]);
  expect(
    (await fixture.browser().post('/api/auth/login', { email: EMAIL, password: PASSWORD })).headers.get(
      'location',
    ),
  ).toBe('/');
});

test('each tab has its own secret, and takes no other: not one of another account, forged, or an hour old', async () => {
  const fixture = await openProvider();
  const browser = await signUp(fixture);
  const mallory = await signUp(fixture, 'mallory@example.com');
  const pageOf = async (who: typeof browser) => (await who.post('/api/auth/security/totp')).text();
  const [one, two, hers] = [await pageOf(browser), await pageOf(browser), await pageOf(mallory)];
  const enable = (sealed: string, page: string) =>
    browser.post('/api/auth/security/totp/enable', {
      sealed,
      code: totpOf(secretOn(page), fixture.clock.nowMs),
    });
  for (const sealed of [sealedOn(hers), secretOn(one), '', 'x'.repeat(200)])
    expect((await enable(sealed, one)).status).toBe(422);
  expect((await enable(sealedOn(two), one)).status).toBe(422);
  expect(codesOn(await (await enable(sealedOn(one), one)).text())).toHaveLength(10);
  const other = await openProvider();
  const late = await signUp(other);
  const page = await pageOf(late);
  other.clock.nowMs += 61 * MINUTE_MS;
  const again = other.browser();
  await again.post('/api/auth/login', { email: EMAIL, password: PASSWORD });
  const code = totpOf(secretOn(page), other.clock.nowMs);
  const tooLate = await again.post('/api/auth/security/totp/enable', { sealed: sealedOn(page), code });
  expect([tooLate.status, (await tooLate.text()).includes('Begin again')]).toEqual([422, true]);
});

describe('a session from before there was a second factor', () => {
  test("ends with it, but for this browser's, which is replaced", async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const thief = await logIn(fixture);
    const before = owner.headersFor('/');
    await turnOnTotp(fixture, owner);
    expect([await isSignedIn(fixture, thief), await isSignedIn(fixture, owner)]).toEqual([false, true]);
    expect(await fixture.provider.resolve(before)).toBeNull();
  });

  test('cannot be made fresh with the password alone: the code or a passkey is demanded', async () => {
    const { fixture, owner, secret } = await openWithTotp();
    fixture.clock.nowMs += 60 * MINUTE_MS;
    const confirmed = await owner.post('/api/auth/confirm', {
      password: PASSWORD,
      returnTo: '/api/auth/security',
    });
    const next = `${SECOND}?returnTo=%2Fapi%2Fauth%2Fsecurity`;
    expect(confirmed.headers.get('location')).toBe(next);
    const disable = () => owner.post('/api/auth/security/totp/disable');
    expect((await disable()).headers.get('location')).toContain('/api/auth/confirm');
    const code = totpOf(secret, fixture.clock.nowMs);
    const done = await owner.post(SECOND, { code, returnTo: '/api/auth/security' });
    expect(done.headers.get('location')).toBe('/api/auth/security');
    expect((await disable()).headers.get('location')).toBe('/api/auth/security');
    expect((await firstFactor(fixture)).location).toBe('/');
  });
});

describe('signing in', () => {
  test('the password alone is not enough; the code goes on to the requested path', async () => {
    const { fixture, secret } = await openWithTotp();
    const { browser, location } = await firstFactor(fixture, '/orders');
    expect(location).toBe(`${SECOND}?returnTo=%2Forders`);
    expect(await isSignedIn(fixture, browser)).toBe(false);
    expect(browser.cookies.get('__Host-sb_second_factor')).toMatchObject({
      path: '/',
      attributes: expect.arrayContaining(['httponly', 'secure', 'samesite=strict', 'max-age=300']),
    });
    const page = await (await browser.get(location ?? '')).text();
    expect(page).toContain('autocomplete="one-time-code"');
    expect(page).not.toContain(browser.cookies.get('__Host-sb_second_factor')?.value);
    const code = totpOf(secret, fixture.clock.nowMs);
    const done = await browser.post(SECOND, { code, returnTo: '/orders' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/orders']);
    expect([await isSignedIn(fixture, browser), browser.cookies.has('__Host-sb_second_factor')]).toEqual([
      true,
      false,
    ]);
  });

  test('a code works once, in any browser', async () => {
    const { fixture, secret } = await openWithTotp();
    const code = totpOf(secret, fixture.clock.nowMs);
    const [one, two] = [(await firstFactor(fixture)).browser, (await firstFactor(fixture)).browser];
    expect((await one.post(SECOND, { code })).status).toBe(303);
    expect((await two.post(SECOND, { code })).status).toBe(422);
    expect(await isSignedIn(fixture, two)).toBe(false);
  });

  test('a wrong code is refused beside its field; after too many the sign-in starts again', async () => {
    const { fixture, secret } = await openWithTotp();
    const { browser } = await firstFactor(fixture);
    const wrong = await browser.post(SECOND, { code: '12345x' });
    expect([wrong.status, (await wrong.text()).includes('id="code-fault"')]).toEqual([422, true]);
    for (let i = 0; i < 4; i += 1) await browser.post(SECOND, { code: `00000${i}` });
    const code = totpOf(secret, fixture.clock.nowMs);
    const over = await browser.post(SECOND, { code });
    expect(over.headers.get('location')).toBe('/api/auth/login');
    expect(browser.cookies.has('__Host-sb_second_factor')).toBe(false);
    // Another first factor does not buy another five guesses.
    const again = await firstFactor(fixture);
    expect((await again.browser.post(SECOND, { code })).status).toBe(429);
  });

  test('five minutes after the password, the password is demanded again', async () => {
    const { fixture, secret } = await openWithTotp();
    const { browser } = await firstFactor(fixture);
    fixture.clock.nowMs += 5 * MINUTE_MS;
    const late = await browser.post(SECOND, { code: totpOf(secret, fixture.clock.nowMs) });
    expect(late.headers.get('location')).toBe('/api/auth/login');
    const page = await browser.get(late.headers.get('location') ?? '');
    expect(await page.text()).toContain('That took too long');
    expect(await isSignedIn(fixture, browser)).toBe(false);
  });

  test('without a first factor there is no second', async () => {
    const { fixture, secret } = await openWithTotp();
    const browser = fixture.browser();
    expect((await browser.get(SECOND)).headers.get('location')).toBe('/api/auth/login');
    const code = totpOf(secret, fixture.clock.nowMs);
    for (const cookie of [
      '',
      '__Host-sb_second_factor=made-up',
      '__Host-sb_second_factor=%',
      '__Host-sb_second_factor=',
    ]) {
      const done = await browser.post(SECOND, { code }, { cookie });
      expect(done.headers.get('location')).toBe('/api/auth/login');
    }
    const { browser: half } = await firstFactor(fixture);
    // A sibling host can plant one without the prefix, which does not count.
    const planted = `${half.headersFor(SECOND).get('cookie')}; sb_second_factor=planted`;
    expect((await half.post(SECOND, { code }, { cookie: planted })).headers.get('location')).toBe('/');
  });

  test('a recovery code replaces the phone, once, in any spelling', async () => {
    const { fixture, owner } = await openWithTotp();
    const codes = codesOn(await (await owner.post('/api/auth/security/recovery-codes')).text());
    const first = codes[0] ?? '';
    const { browser } = await firstFactor(fixture);
    expect(
      (await browser.post(SECOND, { code: ` ${first.toUpperCase().replaceAll('-', ' ')} ` })).status,
    ).toBe(303);
    // Its holder is notified, since a code on paper is easily copied.
    await fixture.settled();
    expect(fixture.outbox.at(-1)?.subject).toBe('A recovery code was used at Fieldwork');
    const again = await firstFactor(fixture);
    expect((await again.browser.post(SECOND, { code: first })).status).toBe(422);
    expect(await (await owner.get('/api/auth/security')).text()).toContain('You have 9 recovery codes left');
  });
});

test('new recovery codes void the earlier ones, and their holder is notified', async () => {
  const { fixture, owner } = await openWithTotp();
  const make = async () => codesOn(await (await owner.post('/api/auth/security/recovery-codes')).text());
  const [old] = await make();
  const [fresh] = await make();
  await fixture.settled();
  expect(fixture.outbox.at(-1)?.subject).toBe('New recovery codes were made at Fieldwork');
  const { browser } = await firstFactor(fixture);
  expect((await browser.post(SECOND, { code: old ?? '' })).status).toBe(422);
  expect((await browser.post(SECOND, { code: fresh ?? '' })).status).toBe(303);
});

test('turned off, the password is enough again, and the holder is notified', async () => {
  const { fixture, owner } = await openWithTotp();
  const done = await owner.post('/api/auth/security/totp/disable');
  expect(done.headers.get('location')).toBe('/api/auth/security');
  await fixture.settled();
  expect(fixture.outbox.at(-1)?.subject).toBe('Two-step verification was turned off at Fieldwork');
  expect((await firstFactor(fixture)).location).toBe('/');
});

test('a refusal of the directory is shown on the account page', async () => {
  const { fixture, owner, secret } = await openWithTotp();
  const code = totpOf(secret, fixture.clock.nowMs);
  for (const [path, fields] of [
    ['/api/auth/security/totp', {}],
    ['/api/auth/security/totp/enable', { sealed: '', code }],
  ] as const) {
    const response = await owner.post(path, fields);
    expect([response.status, (await response.text()).includes('class="alert"')]).toEqual([422, true]);
  }
  await owner.post('/api/auth/security/totp/disable');
  expect((await owner.post('/api/auth/security/recovery-codes')).status).toBe(422);
});
