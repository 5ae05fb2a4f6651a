import { createHmac } from 'node:crypto';
import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { base64url } from 'jose';
import { describe, expect, test } from 'vitest';
import { makeFixture, SECRET } from '../../testkit/src/oidc/fixture.ts';
import { deriveKey } from './lib/keys.ts';
import { mintSession, sessionFromHeaders, verifiedSessionFromHeaders, verifySession } from './session.ts';

const USER = { id: 'alice-1', email: 'alice@example.org', name: 'Alice', emailVerified: true };
const DAY_MS = 24 * 60 * 60 * 1000;
const { rp, clock, other, issuer } = await makeFixture();

const cookie = (...tokens: string[]): Headers =>
  new Headers({ cookie: tokens.map((token) => `sb_session=${token}`).join('; ') });
const payload = (token: string): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(base64url.decode(token.split('.')[1] ?? '')));

/** Returns a token with any content, signed by our own key. */
function forge(
  claims: unknown,
  { header = { alg: 'HS256', typ: 'session+jwt' }, audience = rp.audience } = {},
): string {
  const input = `${base64url.encode(JSON.stringify(header))}.${base64url.encode(JSON.stringify(claims))}`;
  const key = deriveKey(SECRET, { purpose: 'session', audience });
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
}

describe('a session', () => {
  // spec B-05, B-07
  test('carries the user, its issuer, its own id and its times', () => {
    const token = mintSession(rp, USER, { sid: 'sid-1', authTimeMs: clock.nowMs - 5000 });
    expect(verifySession(rp, token)).toEqual({
      user: USER,
      issuer: issuer.url,
      sid: 'sid-1',
      issuedAtMs: clock.nowMs,
      expiresAtMs: clock.nowMs + 7 * DAY_MS,
      authTimeMs: clock.nowMs - 5000,
    });
  });

  test('B-05: is an HS256 JWT over a key derived from SESSION_SECRET, and holds nothing more', () => {
    const token = mintSession(rp, USER);
    const [header = '', body = '', tag] = token.split('.');
    const key = deriveKey(SECRET, { purpose: 'session', audience: rp.audience });
    expect(tag).toBe(createHmac('sha256', key).update(`${header}.${body}`).digest('base64url'));
    expect(JSON.parse(new TextDecoder().decode(base64url.decode(header)))).toEqual({
      alg: 'HS256',
      typ: 'session+jwt',
    });
    expect(Object.keys(payload(token)).sort()).toEqual(
      ['aud', 'email', 'email_verified', 'exp', 'iat', 'idp', 'name', 'sid', 'sub'].sort(),
    );
  });

  // spec B-07
  test.each([true, false])('stores emailVerified %s as email_verified and reads it back', (emailVerified) => {
    const token = mintSession(rp, { id: 'a', emailVerified });
    expect(payload(token).email_verified).toBe(emailVerified);
    expect(verifySession(rp, token)?.user).toEqual({ id: 'a', emailVerified });
  });

  test('B-07: without the flag, the flag is absent and not false', () => {
    const token = mintSession(rp, { id: 'a' });
    expect(payload(token)).not.toHaveProperty('email_verified');
    expect(verifySession(rp, token)?.user).toStrictEqual({ id: 'a' });
  });

  test('B-05: lasts 7 days to the millisecond, with no tolerance', async () => {
    const fixture = await makeFixture();
    const token = mintSession(fixture.rp, USER);
    fixture.clock.nowMs += 7 * DAY_MS - 1;
    expect(verifySession(fixture.rp, token)).not.toBeNull();
    fixture.clock.nowMs += 1;
    expect(verifySession(fixture.rp, token)).toBeNull();
  });

  test('begun while the clock was ahead is not valid once the clock is right', async () => {
    const right = await makeFixture();
    const token = mintSession(right.rp, USER);
    right.clock.nowMs -= DAY_MS;
    expect(verifySession(right.rp, token)).not.toBeNull();
    right.clock.nowMs -= 1;
    expect(verifySession(right.rp, token)).toBeNull();
    right.clock.nowMs += 1;
    expect(verifySession(right.rp, token)).not.toBeNull();
  });

  test('two sessions of one user have different ids', () => {
    const sid = (): string | undefined => verifySession(rp, mintSession(rp, USER))?.sid;
    expect(sid()).not.toBe(sid());
  });

  test('keeps milliseconds of its issue, for "sign out everywhere"', async () => {
    const fixture = await makeFixture();
    fixture.clock.nowMs += 123;
    expect(verifySession(fixture.rp, mintSession(fixture.rp, USER))?.issuedAtMs).toBe(fixture.clock.nowMs);
  });
});

describe('no foreign token is a session', () => {
  const token = mintSession(rp, USER);

  test('another tenant’s', () => {
    expect(verifySession(other({ audience: 'tenant-b' }), token)).toBeNull();
  });

  test('another purpose’s, with the same claims', () => {
    const flow = rp.signers.flow.sign(payload(token));
    expect(verifySession(rp, flow)).toBeNull();
    // The header of a session does not help it either.
    const dressed = [token.split('.')[0], ...flow.split('.').slice(1)].join('.');
    expect(verifySession(rp, dressed)).toBeNull();
  });

  test('another issuer’s, whose subjects are other people', () => {
    const moved = other({ env: { ...rp.env, issuer: 'https://other.example' }, audience: rp.audience });
    const theirs = other({ audience: rp.audience });
    expect(verifySession(theirs, mintSession(theirs, USER))).not.toBeNull();
    expect(verifySession(moved, mintSession(theirs, USER))).toBeNull();
  });

  test('one whose claims were changed', () => {
    const [header, , tag] = token.split('.');
    const changed = base64url.encode(JSON.stringify({ ...payload(token), sub: 'bob-1' }));
    expect(verifySession(rp, `${header}.${changed}.${tag}`)).toBeNull();
  });

  test.each([
    ['alg none', { alg: 'none', typ: 'session+jwt' }],
    ['no typ', { alg: 'HS256' }],
    ['other spelling', { typ: 'session+jwt', alg: 'HS256' }],
  ])('one under another header, even with our tag: %s', (_, header) => {
    const claims = payload(token);
    expect(verifySession(rp, forge(claims))).not.toBeNull();
    expect(verifySession(rp, forge(claims, { header: header as { alg: string; typ: string } }))).toBeNull();
  });

  test.each([
    ['no sub', { sub: undefined }],
    ['an empty sub', { sub: '' }],
    ['a numeric sub', { sub: 7 }],
    ['no sid', { sid: undefined }],
    ['no exp', { exp: undefined }],
    ['an exp that is text', { exp: '9999999999' }],
    ['no iat', { iat: undefined }],
    ['another aud', { aud: 'tenant-b' }],
    ['no idp', { idp: undefined }],
  ])('one that we would never mint: %s', (_, change) => {
    expect(verifySession(rp, forge({ ...payload(token), ...change }))).toBeNull();
  });

  test.each([
    ['an array', []],
    ['null', null],
    ['text', 'x'],
  ])('one whose payload is %s', (_, claims) => {
    expect(verifySession(rp, forge(claims))).toBeNull();
  });

  test('another spelling of a good tag', () => {
    const last = token.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last of 43 characters has two spare bits; setting one must not make a second valid token.
    const twin = alphabet[alphabet.indexOf(last) ^ 1] ?? '';
    expect(verifySession(rp, `${token.slice(0, -1)}${twin}`)).toBeNull();
    expect(verifySession(rp, `${token}=`)).toBeNull();
    expect(verifySession(rp, ` ${token}`)).toBeNull();
    expect(verifySession(rp, `${token}.${token.split('.')[2]}`)).toBeNull();
  });

  test('any text at all, without a throw', () => {
    const [header = '', body = ''] = token.split('.');
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string().map((tail) => `${header}.${tail}`),
      fc
        .string({ minLength: 43, maxLength: 43, unit: anyCharacter })
        .map((tag) => `${header}.${body}.${tag}`),
    );
    fc.assert(fc.property(text, (candidate) => verifySession(rp, candidate) === null));
  });
});

describe('a rotation of SESSION_SECRET', () => {
  const NEXT = 'the next session secret, also long enough';
  const withSecrets = (sessionSecrets: readonly string[]): ReturnType<typeof other> =>
    other({ env: { ...rp.env, sessionSecrets } });

  test('signs no user out while the old secret is listed', () => {
    expect(verifySession(withSecrets([NEXT, SECRET]), mintSession(rp, USER))?.user).toEqual(USER);
  });

  test('signs with the first secret', () => {
    expect(verifySession(withSecrets([NEXT]), mintSession(withSecrets([NEXT, SECRET]), USER))).not.toBeNull();
    expect(verifySession(rp, mintSession(withSecrets([NEXT, SECRET]), USER))).toBeNull();
  });

  test('ends what a secret signed that is no longer listed', () => {
    expect(verifySession(withSecrets([NEXT]), mintSession(rp, USER))).toBeNull();
  });
});

describe('a request', () => {
  const token = mintSession(rp, USER);

  // spec B-08
  test('with the cookie is its user’s', () => {
    expect(sessionFromHeaders(rp, cookie(token))).toEqual(USER);
    expect(rp.sessionFromHeaders(cookie(token))).toEqual(USER);
  });

  test('without it, or with a broken one, has no user', () => {
    for (const headers of [new Headers(), cookie(''), cookie('x'), cookie(`${token}x`), cookie('%00')]) {
      expect(sessionFromHeaders(rp, headers)).toBeNull();
    }
  });

  test('with a planted worthless cookie in front is still its user’s', () => {
    expect(verifiedSessionFromHeaders(rp, cookie('planted', token))?.user).toEqual(USER);
  });

  test('with two valid sessions has no user: one of them may be planted', () => {
    expect(sessionFromHeaders(rp, cookie(token, mintSession(rp, { id: 'mallory' })))).toBeNull();
  });
});

test('keys differ by secret, purpose and audience, and are repeatable', () => {
  const key = (secret: string, purpose: 'flow' | 'session', audience: string): string =>
    base64url.encode(deriveKey(secret, { purpose, audience }));
  const keys = [
    key('a', 'flow', 'x'),
    key('b', 'flow', 'x'),
    key('a', 'session', 'x'),
    key('a', 'flow', 'y'),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(key('a', 'flow', 'x')).toBe(keys[0]);
});
