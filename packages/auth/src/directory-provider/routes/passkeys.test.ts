/** Passkeys: registering them, signing in with them, and everything that must not be accepted as one. */
import { describe, expect, test } from 'vitest';
import {
  isSignedIn,
  logIn,
  ORIGIN,
  openProvider,
  PASSWORD,
  type ProviderFixture,
  signUp,
  userIdOf,
} from '../../../test/directory-provider.ts';
import type { FormBrowser } from '../../../test/directory-provider-browser.ts';
import { turnOnTotp } from '../../../test/directory-provider-totp.ts';
import {
  type Cbor,
  type Misbehaviour,
  makeAuthenticator,
  type SoftwareAuthenticator,
} from '../../../test/software-authenticator.ts';
import { MINUTE_MS } from '../../../test/support.ts';

const EMAIL = 'ada@example.com';
const REFUSED = { code: 'forbidden', reason: 'passkey_refused', detail: 'This passkey was not accepted.' };

async function register(
  browser: FormBrowser,
  authenticator: SoftwareAuthenticator,
  how: Misbehaviour = {},
  name = 'My key',
) {
  const options = await browser.ask('/api/auth/passkeys/options', {});
  expect(options.status).toBe(200);
  const credential = authenticator.register(options.body, how);
  return {
    options: options.body,
    credential,
    answer: await browser.ask('/api/auth/passkeys', { credential, name }),
  };
}

async function signInWith(
  browser: FormBrowser,
  authenticator: SoftwareAuthenticator,
  how: Misbehaviour = {},
  more = {},
) {
  const options = await browser.ask('/api/auth/passkey/options', {});
  expect(options.status).toBe(200);
  const credential = authenticator.sign(options.body, how);
  return {
    options: options.body,
    credential,
    answer: await browser.ask('/api/auth/passkey/verify', { credential, ...more }),
  };
}

/** A user with a passkey. */
async function openWithPasskey() {
  const fixture = await openProvider();
  const owner = await signUp(fixture);
  const authenticator = makeAuthenticator(ORIGIN);
  expect((await register(owner, authenticator)).answer.status).toBe(200);
  fixture.clock.nowMs += 1;
  return { fixture, owner, authenticator };
}

describe('registering', () => {
  test('asks for one that verifies its user and is found by the authenticator, for this site, without attestation', async () => {
    const fixture = await openProvider();
    const { options, answer } = await register(await signUp(fixture), makeAuthenticator(ORIGIN));
    expect(options).toMatchObject({
      rp: { id: 'app.example', name: 'Fieldwork' },
      user: { name: EMAIL, displayName: 'Ada' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [],
    });
    expect(answer).toEqual({ status: 200, body: { location: '/api/auth/security' } });
    await fixture.settled();
    expect(fixture.outbox.at(-1)).toMatchObject({ to: EMAIL, subject: 'A passkey was added at Fieldwork' });
  });

  test('is listed under its name, and is excluded from another registration', async () => {
    const { owner, authenticator } = await openWithPasskey();
    expect(await (await owner.get('/api/auth/security')).text()).toContain('<bdi>My key</bdi>');
    const again = await owner.ask('/api/auth/passkeys/options', {});
    expect(again.body.excludeCredentials).toEqual([{ id: authenticator.id, type: 'public-key' }]);
  });

  test('is named after the browser when it gets no name', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const options = await owner.ask('/api/auth/passkeys/options', {});
    const credential = makeAuthenticator(ORIGIN).register(options.body);
    const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    await owner.ask('/api/auth/passkeys', { credential }, { 'user-agent': agent });
    expect(await (await owner.get('/api/auth/security')).text()).toContain('<bdi>Firefox on Linux</bdi>');
  });

  test.each<[string, Misbehaviour]>([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of a sibling host', { origin: 'https://b.app.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['for a challenge that was made up', { challenge: 'bWFkZSB1cA' }],
    ['without its user’s verification', { userVerified: false }],
    ['in a frame of another site', { crossOrigin: true }],
    ['without anybody present', { userPresent: false }],
    ['that is a signature and no registration', { type: 'webauthn.get' }],
    [
      'with an attestation of a format that does not exist',
      { attestation: { fmt: 'odd', attStmt: new Map() } },
    ],
  ])('one %s is refused', async (_, how) => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const { answer } = await register(owner, makeAuthenticator(ORIGIN), how);
    expect(answer).toMatchObject({ status: 403, body: REFUSED });
    expect(await (await owner.get('/api/auth/security')).text()).toContain('You have none');
  });

  test('one with certificates is refused unread: nothing is fetched for it', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    const fetched: unknown[] = [];
    const real = globalThis.fetch;
    globalThis.fetch = async (input) => {
      fetched.push(input);
      throw new TypeError('no network');
    };
    try {
      for (const fmt of ['packed', 'fido-u2f', 'tpm', 'apple', 'android-key', 'android-safetynet']) {
        const attStmt = new Map<Cbor, Cbor>([
          ['alg', -7],
          ['sig', new Uint8Array(8)],
          ['x5c', [new Uint8Array(64)]],
        ]);
        const { answer } = await register(owner, makeAuthenticator(ORIGIN), {
          attestation: { fmt, attStmt },
        });
        expect(answer).toMatchObject({ status: 403, body: REFUSED });
      }
    } finally {
      globalThis.fetch = real;
    }
    expect(fetched).toEqual([]);
    expect(fixture.watch.calls).not.toContain('addPasskey');
  });

  test('a challenge is good once, for five minutes, and for the account that asked', async () => {
    const fixture = await openProvider();
    const [owner, mallory] = [await signUp(fixture), await signUp(fixture, 'mallory@example.com')];
    const { credential } = await register(owner, makeAuthenticator(ORIGIN));
    expect((await owner.ask('/api/auth/passkeys', { credential })).status).toBe(403);

    const hers = await owner.ask('/api/auth/passkeys/options', {});
    const stolen = makeAuthenticator(ORIGIN).register(hers.body);
    expect((await mallory.ask('/api/auth/passkeys', { credential: stolen })).status).toBe(403);

    const slow = await owner.ask('/api/auth/passkeys/options', {});
    fixture.clock.nowMs += 5 * MINUTE_MS;
    const late = makeAuthenticator(ORIGIN).register(slow.body);
    expect((await owner.ask('/api/auth/passkeys', { credential: late })).status).toBe(403);
  });

  test('a known one is not added to a second account', async () => {
    const { fixture, authenticator } = await openWithPasskey();
    const mallory = await signUp(fixture, 'mallory@example.com');
    expect((await register(mallory, authenticator)).answer).toMatchObject({
      status: 409,
      body: { reason: 'passkey_known' },
    });
  });

  test('needs a signed-in user with a proof of the last ten minutes', async () => {
    const fixture = await openProvider();
    const owner = await signUp(fixture);
    expect((await fixture.browser().ask('/api/auth/passkeys/options', {})).status).toBe(401);
    const options = await owner.ask('/api/auth/passkeys/options', {});
    const credential = makeAuthenticator(ORIGIN).register(options.body);
    expect((await fixture.browser().ask('/api/auth/passkeys', { credential })).status).toBe(401);
    fixture.clock.nowMs += 10 * MINUTE_MS;
    for (const path of ['/api/auth/passkeys/options', '/api/auth/passkeys']) {
      const body = path.endsWith('options') ? {} : { credential };
      expect(await owner.ask(path, body)).toMatchObject({ status: 403, body: { reason: 'confirm_first' } });
    }
  });
});

describe('signing in', () => {
  test('with a passkey is enough, second factor or not, and reveals no account beforehand', async () => {
    const { fixture, owner, authenticator } = await openWithPasskey();
    await turnOnTotp(fixture, owner);
    const browser = fixture.browser();
    const { options, answer } = await signInWith(browser, authenticator, {}, { returnTo: '/orders' });
    expect(options).toMatchObject({ rpId: 'app.example', userVerification: 'required' });
    expect(options).not.toHaveProperty('allowCredentials');
    expect(answer).toEqual({ status: 200, body: { location: '/orders' } });
    expect(await userIdOf(fixture, browser)).toBe(await userIdOf(fixture, owner));
    expect(await (await owner.get('/api/auth/security')).text()).toContain('last used on');
  });

  test.each<[string, Misbehaviour]>([
    ['of another origin', { origin: 'https://evil.example' }],
    ['of the same host without TLS', { origin: 'http://app.example' }],
    ['for another relying party', { rpId: 'evil.example' }],
    ['for a parent domain', { rpId: 'example' }],
    ['for a challenge that was made up', { challenge: 'bWFkZSB1cA' }],
    ['without its user’s verification', { userVerified: false }],
    ['in a frame of another site', { crossOrigin: true }],
    ['under a page of another site', { topOrigin: 'https://evil.example' }],
    ['that was made for another account', { userHandle: 'b3RoZXI' }],
    ['without anybody present', { userPresent: false }],
    ['that is a registration and no signature', { type: 'webauthn.create' }],
    ['signed by another key', { otherKey: true }],
  ])('one %s is refused, and begins no session', async (_, how) => {
    const { fixture, authenticator } = await openWithPasskey();
    const browser = fixture.browser();
    const { answer } = await signInWith(browser, authenticator, how);
    expect(answer).toMatchObject({ status: 403, body: REFUSED });
    expect(browser.cookies.size).toBe(0);
    expect((await signInWith(browser, authenticator)).answer.status).toBe(200);
  });

  test.each(['https://evil.example/', '//evil.example', '/api/auth/logout'])(
    'B-18: %s is not a path to go on to',
    async (returnTo) => {
      const { fixture, authenticator } = await openWithPasskey();
      const { answer } = await signInWith(fixture.browser(), authenticator, {}, { returnTo });
      expect(answer.body).toEqual({ location: '/' });
    },
  );

  test('an assertion works once', async () => {
    const { fixture, authenticator } = await openWithPasskey();
    const { credential, answer } = await signInWith(fixture.browser(), authenticator);
    expect(answer.status).toBe(200);
    const thief = fixture.browser();
    expect(await thief.ask('/api/auth/passkey/verify', { credential })).toMatchObject({
      status: 403,
      body: REFUSED,
    });
    expect(await isSignedIn(fixture, thief)).toBe(false);
  });

  test('a challenge works for five minutes, and one of a registration not at all', async () => {
    const { fixture, owner, authenticator } = await openWithPasskey();
    const browser = fixture.browser();
    const slow = await browser.ask('/api/auth/passkey/options', {});
    fixture.clock.nowMs += 5 * MINUTE_MS;
    const late = { credential: authenticator.sign(slow.body) };
    expect((await browser.ask('/api/auth/passkey/verify', late)).status).toBe(403);
    const creation = await owner.ask('/api/auth/passkeys/options', {});
    const crossed = {
      credential: authenticator.sign({ challenge: creation.body.challenge, rpId: 'app.example' }),
    };
    expect((await browser.ask('/api/auth/passkey/verify', crossed)).status).toBe(403);
  });

  test('a copy of the key reveals itself by its counter, and the original keeps working', async () => {
    const { fixture, authenticator } = await openWithPasskey();
    expect((await signInWith(fixture.browser(), authenticator, { counter: 9 })).answer.status).toBe(200);
    for (const counter of [9, 8, 0])
      expect((await signInWith(fixture.browser(), authenticator, { counter })).answer).toMatchObject({
        status: 403,
        body: REFUSED,
      });
    expect((await signInWith(fixture.browser(), authenticator, { counter: 10 })).answer.status).toBe(200);
    const { items } = await fixture.directory.listIdentityEvents({ limit: 200 });
    expect(items.filter((each) => each.type === 'sign_in_refused')).toHaveLength(3);
  });

  test('an unknown one is refused as any other, and so is a removed one', async () => {
    const { fixture, owner, authenticator } = await openWithPasskey();
    const anonymous = (await signInWith(fixture.browser(), makeAuthenticator(ORIGIN))).answer;
    expect(anonymous).toMatchObject({ status: 403, body: REFUSED });
    await owner.post('/api/auth/security/passkeys/remove', { id: authenticator.id });
    expect((await signInWith(fixture.browser(), authenticator)).answer).toEqual(anonymous);
  });

  test.each([
    ['nothing', {}],
    ['a text', { credential: 'x' }],
    ['another type', { credential: { id: 'AA', rawId: 'AA', type: 'password', response: {} } }],
    [
      'an id that is no base64url',
      { credential: { id: '<>', rawId: '<>', type: 'public-key', response: {} } },
    ],
    ['a field that does not belong', { credential: {}, admin: true }],
  ])('%s is a 400', async (_, body) => {
    const fixture = await openProvider();
    expect((await fixture.browser().ask('/api/auth/passkey/verify', body)).status).toBe(400);
  });

  test('bytes that are no assertion are refused, and never an error of ours', async () => {
    const { fixture, authenticator } = await openWithPasskey();
    const browser = fixture.browser();
    const options = await browser.ask('/api/auth/passkey/options', {});
    const good = authenticator.sign(options.body) as { response: Record<string, string> };
    for (const member of ['clientDataJSON', 'authenticatorData', 'signature'])
      for (const bytes of ['AA', 'eyJ9', 'A'.repeat(2_000)]) {
        const credential = {
          ...good,
          response: { ...good.response, [member]: bytes, userHandle: undefined },
        };
        expect((await browser.ask('/api/auth/passkey/verify', { credential })).status).toBe(403);
      }
    expect(fixture.reported).toEqual([]);
  });
});

test('passkeys are made for another relying party id when the application sets it', async () => {
  const fixture = await openProvider({ passkeys: { rpId: 'example', rpName: 'The Example' } });
  const owner = await signUp(fixture);
  const authenticator = makeAuthenticator(ORIGIN);
  const { options, answer } = await register(owner, authenticator);
  expect([options.rp, answer.status]).toEqual([{ id: 'example', name: 'The Example' }, 200]);
  expect((await signInWith(fixture.browser(), authenticator)).answer.status).toBe(200);
});

describe('signing up with a passkey', () => {
  async function beginSignUp(fixture: ProviderFixture) {
    const browser = fixture.browser();
    await browser.post('/api/auth/sign-up', { email: EMAIL, name: 'Ada', returnTo: '/orders' });
    return { browser, linkToken: await fixture.mailedToken() };
  }

  test('makes an account that has no password', async () => {
    const fixture = await openProvider();
    const { browser, linkToken } = await beginSignUp(fixture);
    const options = await browser.ask('/api/auth/passkeys/options', { linkToken });
    expect(options.body.user).toMatchObject({ name: EMAIL, displayName: 'Ada' });
    const authenticator = makeAuthenticator(ORIGIN);
    const credential = authenticator.register(options.body);
    const done = await browser.ask('/api/auth/passkeys', { credential, linkToken, name: 'Ada King' });
    expect(done).toEqual({ status: 200, body: { location: '/orders' } });
    expect(await fixture.provider.resolve(browser.headersFor('/'))).toMatchObject({
      name: 'Ada King',
      email: EMAIL,
    });
    fixture.clock.nowMs += 1;
    expect(
      (await fixture.browser().post('/api/auth/login', { email: EMAIL, password: PASSWORD })).status,
    ).toBe(422);
    expect((await signInWith(fixture.browser(), authenticator)).answer.status).toBe(200);
    expect((await browser.ask('/api/auth/passkeys/options', { linkToken })).status).toBe(404);
  });

  test('takes the challenge of that very link, and no other', async () => {
    const fixture = await openProvider();
    const { browser, linkToken } = await beginSignUp(fixture);
    const options = await browser.ask('/api/auth/passkeys/options', { linkToken });
    await browser.post('/api/auth/sign-up', { email: 'bea@example.com' });
    const otherToken = await fixture.mailedToken();
    const credential = makeAuthenticator(ORIGIN).register(options.body);
    expect((await browser.ask('/api/auth/passkeys', { credential, linkToken: otherToken })).status).toBe(403);
    expect((await browser.ask('/api/auth/passkeys/options', { linkToken: 'made-up' })).status).toBe(404);
    expect(browser.cookies.has('sb_session')).toBe(false);
  });
});

describe('confirming with a passkey', () => {
  test('makes the session fresh again', async () => {
    const { fixture, owner, authenticator } = await openWithPasskey();
    fixture.clock.nowMs += 20 * MINUTE_MS;
    expect((await owner.post('/api/auth/security/totp')).headers.get('location')).toContain(
      '/api/auth/confirm',
    );
    const options = await owner.ask('/api/auth/passkey/options', { confirm: true });
    const credential = authenticator.sign(options.body);
    const body = { credential, confirm: true, returnTo: '/api/auth/security' };
    expect(await owner.ask('/api/auth/passkey/verify', body)).toEqual({
      status: 200,
      body: { location: '/api/auth/security' },
    });
    expect((await owner.post('/api/auth/security/totp')).status).toBe(200);
  });

  test('takes only a passkey of the account, and only a challenge that was made for it', async () => {
    const { fixture, owner } = await openWithPasskey();
    const mallory = await signUp(fixture, 'mallory@example.com');
    const hers = makeAuthenticator(ORIGIN);
    await register(mallory, hers);
    const options = await owner.ask('/api/auth/passkey/options', { confirm: true });
    const foreign = { credential: hers.sign(options.body), confirm: true };
    expect((await owner.ask('/api/auth/passkey/verify', foreign)).status).toBe(403);
    const plain = await mallory.ask('/api/auth/passkey/options', {});
    const crossed = { credential: hers.sign(plain.body), confirm: true };
    expect((await mallory.ask('/api/auth/passkey/verify', crossed)).status).toBe(403);
    expect((await fixture.browser().ask('/api/auth/passkey/options', { confirm: true })).status).toBe(401);
  });
});

describe('a passkey of the account', () => {
  test('can be renamed and removed, but not the last credential', async () => {
    const { fixture, owner, authenticator } = await openWithPasskey();
    const { id } = authenticator;
    expect((await owner.post('/api/auth/security/passkeys/rename', { id, name: ' Blue key ' })).status).toBe(
      303,
    );
    expect(await (await owner.get('/api/auth/security')).text()).toContain('<bdi>Blue key</bdi>');
    const removed = await owner.post('/api/auth/security/passkeys/remove', { id });
    expect(removed.headers.get('location')).toBe('/api/auth/security');
    await fixture.settled();
    expect(fixture.outbox.at(-1)?.subject).toBe('A passkey was removed at Fieldwork');

    const browser = fixture.browser();
    await browser.post('/api/auth/sign-up', { email: 'bea@example.com' });
    const linkToken = await fixture.mailedToken();
    const options = await browser.ask('/api/auth/passkeys/options', { linkToken });
    const only = makeAuthenticator(ORIGIN);
    await browser.ask('/api/auth/passkeys', { credential: only.register(options.body), linkToken });
    const refused = await browser.post('/api/auth/security/passkeys/remove', { id: only.id });
    expect([refused.status, (await refused.text()).includes('only way into the account')]).toEqual([
      422,
      true,
    ]);
  });

  test('cannot be renamed or removed by another user', async () => {
    const { fixture, authenticator } = await openWithPasskey();
    const mallory = await signUp(fixture, 'mallory@example.com');
    const { id } = authenticator;
    for (const [action, more] of [
      ['rename', { name: 'x' }],
      ['remove', {}],
    ] as const)
      expect((await mallory.post(`/api/auth/security/passkeys/${action}`, { id, ...more })).status).toBe(422);
    expect((await signInWith(fixture.browser(), authenticator)).answer.status).toBe(200);
  });
});

test('asking for challenges writes nothing, and each of many stays good', async () => {
  const { fixture, authenticator } = await openWithPasskey();
  const browser = fixture.browser();
  const { body } = await browser.ask('/api/auth/passkey/options', {});
  fixture.watch.calls.length = 0;
  for (let i = 0; i < 200; i += 1) await fixture.browser().ask('/api/auth/passkey/options', {});
  expect(fixture.watch.calls).toEqual([]);
  const verified = await browser.ask('/api/auth/passkey/verify', { credential: authenticator.sign(body) });
  expect(verified.status).toBe(200);
});

test('an account has one user handle for all of its passkeys, from the sign-up on, and every signature may name it', async () => {
  const fixture = await openProvider();
  const handles: unknown[] = [];
  const handleOf = (options: Record<string, unknown>) => {
    const { id } = options.user as { id: string };
    handles.push(id);
    return id;
  };
  const browser = fixture.browser();
  await browser.post('/api/auth/sign-up', { email: EMAIL });
  const linkToken = await fixture.mailedToken();
  const first = await browser.ask('/api/auth/passkeys/options', { linkToken });
  const one = makeAuthenticator(ORIGIN);
  const userHandle = handleOf(first.body);
  await browser.ask('/api/auth/passkeys', { credential: one.register(first.body), linkToken });
  fixture.clock.nowMs += 1;
  expect((await signInWith(fixture.browser(), one, { userHandle })).answer.status).toBe(200);
  const two = makeAuthenticator(ORIGIN);
  handleOf((await register(browser, two)).options);
  expect((await signInWith(fixture.browser(), two, { userHandle })).answer.status).toBe(200);
  expect(new Set(handles).size).toBe(1);
  const bea = await signUp(fixture, 'bea@example.com');
  handleOf((await register(bea, makeAuthenticator(ORIGIN))).options);
  expect(new Set(handles).size).toBe(2);
});

test('the mail about a new passkey leads to the list of them; a reset can remove them all', async () => {
  const fixture = await openProvider();
  await signUp(fixture);
  const thief = await logIn(fixture);
  const authenticator = makeAuthenticator(ORIGIN);
  await register(thief, authenticator, {}, 'Backdoor');
  await fixture.settled();
  expect(fixture.outbox.at(-1)?.text).toContain('/api/auth/security#passkeys');
  expect(await (await thief.get('/api/auth/security')).text()).toContain('id="passkeys"');

  const holder = fixture.browser();
  await holder.post('/api/auth/reset', { email: EMAIL });
  const token = await fixture.mailedToken();
  const page = await (await holder.get(`/api/auth/reset/finish?token=${token}`)).text();
  expect(page).toContain('<bdi>Backdoor</bdi>');
  const box = /name="removePasskeys"[^>]*>/.exec(page)?.[0] ?? '';
  expect([box.includes('type="checkbox"'), box.includes('checked')]).toEqual([true, false]);
  const fields = { token, password: 'brand new secret words', removePasskeys: 'yes' };
  const weak = await holder.post('/api/auth/reset/finish', { ...fields, password: 'password1' });
  expect(await weak.text()).toMatch(/name="removePasskeys"[^>]* checked/);
  expect((await holder.post('/api/auth/reset/finish', fields)).status).toBe(303);
  expect((await signInWith(fixture.browser(), authenticator)).answer.status).toBe(403);
  expect(await (await holder.get('/api/auth/security')).text()).not.toContain('Backdoor');
});
