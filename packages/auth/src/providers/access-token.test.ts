/** the demands on an access token, and tokens that prove nothing. */

import { makeIssuer, SIGNING_ALGORITHMS } from '@freehold/oidc-rp';
import fc from 'fast-check';
import { generateKeyPair, type JWK, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { accessClaims, makeFakeIssuer } from '../../test/fake-issuer.ts';
import { ISSUER, START_MS } from '../../test/support.ts';
import { verifyAccessToken } from './access-token.ts';

const clock = { nowMs: START_MS };
const nowSeconds = START_MS / 1_000;
const issuer = await makeFakeIssuer(clock);
const { keys: published } = (await (await issuer.fetch(`${ISSUER}/jwks`)).json()) as { keys: JWK[] };
const known = makeIssuer({
  url: ISSUER,
  fetch: (url, init) => issuer.fetch(url, init),
  now: () => clock.nowMs,
});

const verify = (token: string, audiences = ['resource']) =>
  verifyAccessToken(token, known, { audiences, nowMs: clock.nowMs });

describe('A-20: proves its subject', () => {
  test.each(['at+jwt', 'application/at+jwt', 'AT+JWT', 'JWT'])('typ %s', async (typ) => {
    const token = await issuer.sign(accessClaims(clock), { typ });
    expect(await verify(token)).toEqual({ issuer: ISSUER, sub: 'ada', email: null, name: null });
  });

  test('with one of several audiences', async () => {
    const token = await issuer.sign(accessClaims(clock, { aud: ['elsewhere', 'resource'] }));
    expect(await verify(token)).toMatchObject({ sub: 'ada' });
  });

  test('for any of the names that this resource has', async () => {
    const audiences = ['scope', 'https://app.example', 'https://app.example/mcp'];
    for (const aud of [...audiences, ['elsewhere', 'https://app.example/mcp']])
      expect(await verify(await issuer.sign(accessClaims(clock, { aud })), audiences)).not.toBeNull();
  });

  test.each([true, false])('A-06: email_verified %s passes through unchanged', async (verified) => {
    const token = await issuer.sign(
      accessClaims(clock, { email: 'ada@example.com', name: 'Ada', email_verified: verified }),
    );
    expect(await verify(token)).toEqual({
      issuer: ISSUER,
      sub: 'ada',
      email: 'ada@example.com',
      name: 'Ada',
      emailVerified: verified,
    });
  });

  test.each(['true', 1, null, {}])('A-05: an email_verified of %j is no assertion', async (verified) => {
    const subject = await verify(await issuer.sign(accessClaims(clock, { email_verified: verified })));
    expect(subject && 'emailVerified' in subject).toBe(false);
  });

  test('with clocks half a minute apart', async () => {
    expect(await verify(await issuer.sign(accessClaims(clock, { exp: nowSeconds - 29 })))).not.toBeNull();
    expect(await verify(await issuer.sign(accessClaims(clock, { nbf: nowSeconds + 29 })))).not.toBeNull();
    expect(await verify(await issuer.sign(accessClaims(clock, { iat: nowSeconds + 30 })))).not.toBeNull();
  });
});

test('takes the algorithms of sign-in: one list, without none and without HMAC', async () => {
  const asked: unknown[] = [];
  const witness: typeof known = {
    ...known,
    verifyJwt: (token, expected) => {
      asked.push(expected?.algorithms);
      return known.verifyJwt(token, expected);
    },
  };
  const rules = { audiences: ['resource'], nowMs: clock.nowMs };
  await verifyAccessToken(await issuer.sign(accessClaims(clock)), witness, rules);
  expect(asked[0]).toBe(SIGNING_ALGORITHMS);
  expect(
    SIGNING_ALGORITHMS.filter((each) => !/^(?:[RPE]S(?:256|384|512)|EdDSA|Ed25519)$/.test(each)),
  ).toEqual([]);
});

describe('A-20: proves nothing', () => {
  test.each<[string, object]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['the issuer with a slash', { iss: `${ISSUER}/` }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'elsewhere' }],
    ['no audience', { aud: undefined }],
    ['an audience that only begins alike', { aud: 'resource2' }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a number for a subject', { sub: 7 }],
    ['expired', { exp: nowSeconds - 30 }],
    ['without expiry', { exp: undefined }],
    ['an expiry that is no number', { exp: '9999999999' }],
    ['not yet valid', { nbf: nowSeconds + 31 }],
    ['made later than now', { iat: nowSeconds + 31 }],
    ['made at no time', { iat: 'now' }],
    ['an audience that is no text', { aud: 7 }],
    ['audiences of which none is a text', { aud: [7, null, ['resource'], {}] }],
    ['no audience in a list', { aud: [] }],
    ['the nonce of an ID token', { nonce: 'n' }],
    ['the at_hash of an ID token', { at_hash: 'h' }],
    ['bound to a key', { cnf: { jkt: 'x' } }],
  ])('%s', async (_, claims) => {
    const token = await issuer.sign(accessClaims(clock, claims as never));
    expect(await verify(token)).toBeNull();
  });

  test.each(['logout+jwt', 'id_token+jwt', 'session+jwt', 'dpop+jwt', ''])('typ %j', async (typ) => {
    expect(await verify(await issuer.sign(accessClaims(clock), { typ }))).toBeNull();
  });

  test.each([
    'https://app.example/',
    'https://APP.example',
    'http://app.example',
    'https://app.example:443',
    'https://app.example/mcp',
    'https://app.example.evil',
    'https://app.exampl',
    '',
  ])('made for %j, which is nearly a name of this resource', async (aud) => {
    expect(await verify(await issuer.sign(accessClaims(clock, { aud })), ['https://app.example'])).toBeNull();
  });

  test('no typ at all', async () => {
    expect(await verify(await issuer.sign(accessClaims(clock), { typ: undefined }))).toBeNull();
  });

  test('signed by another key under the published key’s name', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const header = { alg: 'ES256', typ: 'at+jwt', kid: 'key-0' };
    expect(
      await verify(await new SignJWT(accessClaims(clock)).setProtectedHeader(header).sign(privateKey)),
    ).toBeNull();
    const unknown = await issuer.sign(accessClaims(clock), { kid: 'key-9' });
    expect(await verify(unknown)).toBeNull();
  });

  test('a public key used as an HMAC secret, and no signature at all', async () => {
    const encode = (value: object) =>
      btoa(JSON.stringify(value)).replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_');
    const secret = new TextEncoder().encode(JSON.stringify(published[0]));
    const hmac = await new SignJWT(accessClaims(clock))
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'key-0' })
      .sign(secret);
    expect(await verify(hmac)).toBeNull();
    for (const alg of ['none', 'None', 'NONE'])
      expect(await verify(`${encode({ alg, typ: 'at+jwt' })}.${encode(accessClaims(clock))}.`)).toBeNull();
  });

  test('any other text proves nothing, and is never an exception', async () => {
    const good = await issuer.sign(accessClaims(clock));
    const part = fc.constantFrom(...good.split('.'), '', 'e30', 'bnVsbA', 'W10', 'IiI', '!!', '=');
    const token = fc.oneof(
      fc.string(),
      fc.array(part, { maxLength: 6 }).map((parts) => parts.join('.')),
    );
    await fc.assert(
      fc.asyncProperty(token, async (candidate) => {
        if (candidate !== good) expect(await verify(candidate)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  test('one changed character anywhere', async () => {
    const good = await issuer.sign(accessClaims(clock));
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 2), async (at) => {
        const changed = good[at] === 'A' ? 'B' : 'A';
        expect(await verify(good.slice(0, at) + changed + good.slice(at + 1))).toBeNull();
      }),
      { numRuns: 100 },
    );
  });
});
