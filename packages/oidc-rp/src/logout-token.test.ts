import { base64url, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { withHmac, withSpoiltSignature } from '../../testkit/src/oidc/fake-issuer.ts';
import { type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { judgeLogoutToken, verifyLogoutToken } from './logout-token.ts';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const invalid = { code: 'logout_request_invalid', status: 400 };
const MINUTE_S = 60;

/** Verifies a logout token whose claims the issuer changed; undefined omits one. */
async function verifyChanged(
  change: Readonly<Record<string, unknown>>,
  fixture?: Fixture,
): Promise<Awaited<ReturnType<typeof verifyLogoutToken>>> {
  const { rp, issuer } = fixture ?? (await makeFixture());
  issuer.behaviour.logoutClaims = (claims) => ({ ...claims, ...change });
  return verifyLogoutToken(rp, await issuer.logoutToken({ sub: 'alice-1', sid: 'op-1' }));
}

describe('a logout token', () => {
  test('says whose sessions ended, at which issuer, when', async () => {
    const { rp, issuer, clock } = await makeFixture();
    issuer.behaviour.logoutClaims = (claims) => ({ ...claims, jti: 'id-1' });
    expect(
      await verifyLogoutToken(rp, await issuer.logoutToken({ sub: 'alice-1', sid: 'op-1' })),
    ).toStrictEqual({
      issuer: 'https://issuer.example',
      sub: 'alice-1',
      sid: 'op-1',
      jti: 'id-1',
      issuedAtMs: clock.nowMs,
      expiresAtMs: clock.nowMs + 2 * MINUTE_S * 1000,
    });
  });

  test.each([{ sub: 'alice-1' }, { sid: 'op-1' }])(
    'may name only one of subject and session: %j',
    async (one) => {
      const { rp, issuer } = await makeFixture();
      const token = await verifyLogoutToken(rp, await issuer.logoutToken(one));
      expect({ sub: token.sub, sid: token.sid }).toEqual({ sub: undefined, sid: undefined, ...one });
    },
  );

  test('may be for several clients, of which we are one', async () => {
    await expect(verifyChanged({ aud: ['client-2', 'client-1'] })).resolves.toMatchObject({ sub: 'alice-1' });
  });

  test('may have something in its event, and other events beside it', async () => {
    await expect(
      verifyChanged({ events: { [EVENT]: { reason: 'x' }, 'urn:other': {} } }),
    ).resolves.toMatchObject({ sub: 'alice-1' });
  });

  test.each(['logout+jwt', 'application/logout+jwt', 'Logout+JWT', 'JWT', null])(
    'may be of type %s',
    async (typ) => {
      const fixture = await makeFixture();
      fixture.issuer.behaviour.logoutType = typ;
      await expect(verifyChanged({}, fixture)).resolves.toMatchObject({ sub: 'alice-1' });
    },
  );

  test('is verified by keys that the issuer rotated to since', async () => {
    const fixture = await makeFixture();
    await verifyChanged({}, fixture);
    await fixture.issuer.rotateKeys();
    await expect(verifyChanged({}, fixture)).resolves.toMatchObject({ sub: 'alice-1' });
    expect(fixture.issuer.count('/jwks')).toBe(2);
  });
});

describe('a logout token is refused', () => {
  test.each([
    ['another issuer', { iss: 'https://issuer.example/' }],
    ['no issuer', { iss: undefined }],
    ['another client', { aud: 'client-2' }],
    ['other clients', { aud: ['client-2', 'client-3'] }],
    ['no audience', { aud: undefined }],
    ['no time of issue', { iat: undefined }],
    ['a time of issue that is text', { iat: '1767268800' }],
    ['an expiry that is text', { exp: '9999999999' }],
    ['no id', { jti: undefined }],
    ['an empty id', { jti: '' }],
    ['an id that is a number', { jti: 7 }],
    ['no events', { events: undefined }],
    ['events that are a list', { events: [EVENT] }],
    ['events that are text', { events: EVENT }],
    ['events that are null', { events: null }],
    ['another event', { events: { [`${EVENT}/`]: {} } }],
    ['an event in other letters', { events: { [EVENT.toUpperCase()]: {} } }],
    ['an event that is true', { events: { [EVENT]: true } }],
    ['an event that is null', { events: { [EVENT]: null } }],
    ['an event that is a list', { events: { [EVENT]: [] } }],
    ['a nonce', { nonce: 'n' }],
    ['an empty nonce', { nonce: '' }],
    ['a nonce of null', { nonce: null }],
    ['neither subject nor session', { sub: undefined, sid: undefined }],
    ['an empty subject', { sub: '' }],
    ['an empty session beside a subject', { sid: '' }],
    ['a subject that is a number', { sub: 7 }],
    ['a subject that is null', { sub: null }],
    ['a session that is a list', { sid: ['op-1'] }],
    ['a subject of 256 characters', { sub: 's'.repeat(256) }],
    ['a session of 256 characters', { sid: 's'.repeat(256) }],
  ])('with %s', async (_, change) => {
    await expect(verifyChanged(change)).rejects.toMatchObject(invalid);
  });

  test.each(['at+jwt', 'secevent+jwt', 'dpop+jwt', 'id_token+jwt', ''])(
    'of type %j: no other token of the issuer is an order to sign out',
    async (typ) => {
      const fixture = await makeFixture();
      fixture.issuer.behaviour.logoutType = typ;
      await expect(verifyChanged({}, fixture)).rejects.toMatchObject(invalid);
    },
  );

  test('when it is an ID token', async () => {
    const { rp, browser, approve } = await makeFixture();
    const { idToken } = await rp.completeLogin(browser.request(await approve()));
    await expect(verifyLogoutToken(rp, idToken)).rejects.toMatchObject(invalid);
  });

  test('and a logout token is no ID token either', async () => {
    const { signIn, issuer, browser } = await makeFixture({ routes: { onError: '/oops' } });
    const logoutToken = await issuer.logoutToken({ sub: 'alice-1' });
    issuer.behaviour.idToken = () => logoutToken;
    expect((await signIn()).headers.get('location')).toBe('/oops?error=id_token_invalid');
    expect(browser.values('sb_session')).toEqual([]);
  });

  test.each<[string, (token: string) => string | Promise<string>]>([
    ['a spoilt signature', withSpoiltSignature],
    [
      'HS256 and the client secret',
      (token) => withHmac(token, encode('s3cret of the client+/ and more bytes')),
    ],
    ['text that is no JWT', () => 'x'],
    ['three empty parts', () => '..'],
    ['five parts, as if encrypted', (token) => `${token}.x.y`],
    ['nothing', () => ''],
  ])('with %s', async (_, change) => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.logoutToken = change;
    const token = await issuer.logoutToken({ sub: 'alice-1' });
    await expect(verifyLogoutToken(rp, token)).rejects.toMatchObject(invalid);
  });

  test('signed with a key that the issuer does not publish', async () => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.signWith = 'unpublished';
    const token = await issuer.logoutToken({ sub: 'alice-1' });
    await expect(verifyLogoutToken(rp, token)).rejects.toMatchObject(invalid);
  });

  test('with the public key as an HS256 secret', async () => {
    const { rp, issuer } = await makeFixture();
    issuer.behaviour.metadata = { id_token_signing_alg_values_supported: ['HS256', 'RS256'] };
    const [key] = (await issuer.publicKeys()).keys.filter(({ alg }) => alg === 'RS256');
    const secret = base64url.decode(String(key?.n));
    const claims = {
      iss: issuer.url,
      aud: 'client-1',
      jti: 'j',
      iat: 1,
      sub: 'alice-1',
      events: { [EVENT]: {} },
    };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    await expect(verifyLogoutToken(rp, token)).rejects.toMatchObject(invalid);
  });
});

describe('times, with 30 s of tolerance', () => {
  const at = (offsetS: number, fixture: Fixture): number => fixture.clock.nowMs / 1000 + offsetS;

  test.each([
    ['issued 30 s ahead of us', (f: Fixture) => ({ iat: at(30, f), exp: at(150, f) }), true],
    ['issued 31 s ahead of us', (f: Fixture) => ({ iat: at(31, f), exp: at(150, f) }), false],
    ['expired 29 s ago', (f: Fixture) => ({ exp: at(-29, f) }), true],
    ['expired 30 s ago', (f: Fixture) => ({ exp: at(-30, f) }), false],
    ['without expiry, 10 min 30 s old', (f: Fixture) => ({ iat: at(-630, f), exp: undefined }), true],
    ['without expiry, 10 min 31 s old', (f: Fixture) => ({ iat: at(-631, f), exp: undefined }), false],
    ['with expiry, an hour old', (f: Fixture) => ({ iat: at(-3600, f), exp: at(1, f) }), true],
    ['not valid for another minute', (f: Fixture) => ({ nbf: at(60, f) }), false],
  ])('%s', async (_, change, isAccepted) => {
    const fixture = await makeFixture();
    const outcome = await verifyChanged(change(fixture), fixture).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
    expect(outcome).toBe(isAccepted ? 'accepted' : 'logout_request_invalid');
  });

  test('without exp, none is answered', async () => {
    expect(await verifyChanged({ exp: undefined })).not.toHaveProperty('expiresAtMs');
  });
});

test.each([undefined, '1767268800', null])('claims whose time of issue is %j are no logout token', (iat) => {
  const judge = (change: object): unknown => {
    const claims = { jti: 'j', sub: 'alice-1', exp: 9e9, events: { [EVENT]: {} }, ...change };
    return judgeLogoutToken(claims, { issuer: 'https://issuer.example', nowMs: 1000 });
  };
  expect(() => judge({ iat })).toThrow(expect.objectContaining(invalid));
  expect(judge({ iat: 1 })).toMatchObject({ issuedAtMs: 1000 });
});

test('an issuer whose keys cannot be had is 503, and nothing is judged', async () => {
  const { rp, issuer } = await makeFixture();
  const token = await issuer.logoutToken({ sub: 'alice-1' });
  issuer.behaviour.intercept = () => {
    throw new TypeError('fetch failed');
  };
  await expect(verifyLogoutToken(rp, token)).rejects.toMatchObject({
    code: 'issuer_unavailable',
    status: 503,
  });
});

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
