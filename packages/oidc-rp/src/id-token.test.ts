import type { JWTPayload } from 'jose';
import { describe, expect, test } from 'vitest';
import { type FakeBehaviour, withHmac, withoutSignature } from '../../testkit/src/oidc/fake-issuer.ts';
import { ALICE, type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { judgeIdToken } from './id-token.ts';

async function complete(
  behaviour: FakeBehaviour,
): Promise<Awaited<ReturnType<Fixture['rp']['completeLogin']>>> {
  const fixture = await makeFixture();
  Object.assign(fixture.issuer.behaviour, behaviour);
  return fixture.rp.completeLogin(fixture.browser.request(await fixture.approve()));
}
const changed = (change: Readonly<Record<string, unknown>>): FakeBehaviour => ({
  claims: (claims): JWTPayload => ({ ...claims, ...change }),
});
const NOW_S = Date.UTC(2026, 0, 1, 12) / 1000;

// Titles keep the names of the OpenID Foundation's relying-party test modules (oidcc-client-test-…).
describe('an ID token is refused', () => {
  test.each<[string, FakeBehaviour]>([
    ['invalid-iss', changed({ iss: 'https://evil.example' })],
    ['missing-iss', changed({ iss: undefined })],
    ['missing-sub', changed({ sub: undefined })],
    ['empty sub', changed({ sub: '' })],
    ['numeric sub', changed({ sub: 7 })],
    ['overlong sub', changed({ sub: 's'.repeat(256) })],
    ['invalid-aud', changed({ aud: 'client-2' })],
    ['missing-aud', changed({ aud: undefined })],
    ['invalid-secondary-aud without azp', changed({ aud: ['client-1', 'client-2'] })],
    ['several audiences, issued to another', changed({ aud: ['client-1', 'client-2'], azp: 'client-2' })],
    ['one audience, issued to another', changed({ azp: 'client-2' })],
    ['missing-iat', changed({ iat: undefined })],
    ['iat in the future', changed({ iat: NOW_S + 31 })],
    ['missing-exp', changed({ exp: undefined })],
    ['invalid-expired-exp', changed({ exp: NOW_S - 30 })],
    ['not valid yet', changed({ nbf: NOW_S + 31 })],
    ['nonce-invalid', changed({ nonce: 'another' })],
    ['invalid-missing-nonce', changed({ nonce: undefined })],
    ['auth_time that is text', changed({ auth_time: '1' })],
    ['invalid-sig: another key under a known name', { signWith: 'unpublished' }],
    [
      'invalid-sig-rs256: a changed signature',
      { algorithm: 'RS256', idToken: (token) => `${token.slice(0, -4)}AAAA` },
    ],
    ['idtoken-sig-none', { idToken: withoutSignature }],
    ['a token that is no JWT', { idToken: () => 'not.a-jwt' }],
    ['an encrypted token', { idToken: () => 'a.b.c.d.e' }],
    ['no ID token at all', { tokens: ({ id_token: _, ...body }) => body }],
    ['an ID token that is no text', { tokens: (body) => ({ ...body, id_token: 7 }) }],
    [
      'an algorithm the issuer does not announce',
      { metadata: { id_token_signing_alg_values_supported: ['RS256'] } },
    ],
    [
      'kid-absent-multiple-jwks with one fitting key, but unannounced algorithm',
      {
        namesKey: false,
        metadata: { id_token_signing_alg_values_supported: ['PS256'] },
      },
    ],
  ])('%s', async (_, behaviour) => {
    await expect(complete(behaviour)).rejects.toMatchObject({ code: 'id_token_invalid', status: 502 });
  });

  test.each(['the client secret', 'the public key'] as const)(
    'invalid-sig-hs256: signed with %s as an HMAC key, although the issuer announces HS256',
    async (which) => {
      const fixture = await makeFixture();
      fixture.issuer.behaviour.metadata = { id_token_signing_alg_values_supported: ['HS256', 'ES256'] };
      const secret =
        which === 'the client secret'
          ? (fixture.rp.env.clientSecret ?? '')
          : JSON.stringify((await fixture.issuer.publicKeys()).keys[0]);
      fixture.issuer.behaviour.idToken = (token) => withHmac(token, new TextEncoder().encode(secret));
      const request = fixture.browser.request(await fixture.approve());
      await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'id_token_invalid' });
    },
  );
});

describe('an ID token is accepted', () => {
  test.each<[string, FakeBehaviour]>([
    ['idtoken-sig-es256', { algorithm: 'ES256' }],
    ['idtoken-sig-rs256', { algorithm: 'RS256' }],
    [
      'RS256 of an issuer that announces no algorithms',
      {
        algorithm: 'RS256',
        metadata: { id_token_signing_alg_values_supported: undefined },
      },
    ],
    ['kid-absent-single-jwks: one key fits the algorithm', { namesKey: false }],
    ['valid-aud-as-array', changed({ aud: ['client-1'] })],
    ['several audiences, issued to us', changed({ aud: ['client-1', 'client-2'], azp: 'client-1' })],
    ['expired within 30 seconds', changed({ exp: NOW_S - 29 })],
    ['issued up to 30 seconds ahead', changed({ iat: NOW_S + 30, nbf: NOW_S + 30 })],
  ])('%s', async (_, behaviour) => {
    await expect(complete(behaviour)).resolves.toMatchObject({ user: { id: ALICE.sub } });
  });
});

describe('what was asked for is enforced', () => {
  const claims = { iss: 'i', sub: 's', aud: 'c', iat: 1000, exp: 2000, nonce: 'n' };
  const expected = { clientId: 'c', nonce: 'n', nowMs: 1_000_000 };
  const refused = expect.objectContaining({ code: 'id_token_invalid' });

  test('max_age against auth_time, with 30 seconds of tolerance', () => {
    const judge = (authTime: number | undefined) => (): unknown =>
      judgeIdToken({ ...claims, auth_time: authTime }, { ...expected, maxAgeS: 60 });
    expect(judge(undefined)).toThrow(refused);
    expect(judge(909)).toThrow(refused);
    expect(judge(910)).not.toThrow();
  });

  test('acr against the accepted values', () => {
    const judge = (acr: unknown) => (): unknown =>
      judgeIdToken({ ...claims, acr }, { ...expected, acrValues: ['gold', 'silver'] });
    expect(judge(undefined)).toThrow(refused);
    expect(judge('bronze')).toThrow(refused);
    expect(judge('silver')).not.toThrow();
  });

  test('through a whole sign-in: the flow remembers the request', async () => {
    const fixture = await makeFixture();
    const begun = await fixture.rp.beginLogin(fixture.browser.request('https://app.example/api/auth/login'), {
      maxAgeS: 60,
      acrValues: ['gold'],
    });
    fixture.browser.store('https://app.example/', {
      headers: new Headers(begun.setCookies.map((c) => ['set-cookie', c])),
    });
    const asked = new URL(begun.redirectTo).searchParams;
    expect([asked.get('max_age'), asked.get('acr_values')]).toEqual(['60', 'gold']);
    // The issuer, or a user who edited the URL, ignored both.
    const request = fixture.browser.request(fixture.issuer.approve(begun.redirectTo, ALICE));
    await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'id_token_invalid' });
  });
});
