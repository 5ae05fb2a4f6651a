/** The fixed-issuer provider. */
import { OidcConfigError } from '@freehold/oidc-rp';
import { describe, expect, test } from 'vitest';
import { accessClaims, makeFakeIssuer } from '../../test/fake-issuer.ts';
import { describeAuthProvider } from '../../test/provider-suite.ts';
import { DAY_MS, ISSUER, START_MS } from '../../test/support.ts';
import { oidcAuthProvider } from './oidc-auth-provider.ts';

async function make() {
  const clock = { nowMs: START_MS };
  const issuer = await makeFakeIssuer(clock);
  const runtime = { fetch: issuer.fetch, now: () => clock.nowMs };
  const provider = oidcAuthProvider({ issuer: ISSUER, audience: 'resource', runtime });
  const bearer = (token: string) => new Headers({ authorization: `Bearer ${token}` });
  return { clock, issuer, provider, bearer };
}

describeAuthProvider('oidcAuthProvider', async () => {
  const { clock, issuer, provider, bearer } = await make();
  return {
    provider,
    issuer: ISSUER,
    headersOf: async (claims) => bearer(await issuer.sign(accessClaims(clock, claims as never))),
    foreignHeaders: async () => bearer(await issuer.sign(accessClaims(clock, { aud: 'other-tenant' }))),
    credential: bearer,
    breakDependency: () => {
      issuer.down = true;
    },
    passTime: () => {
      clock.nowMs += 2 * DAY_MS;
    },
  };
});

describe('A-20: keys by discovery', () => {
  test('are fetched once for many tokens, and from where the issuer says', async () => {
    const { clock, issuer, provider, bearer } = await make();
    const headers = bearer(await issuer.sign(accessClaims(clock)));
    await Promise.all(Array.from({ length: 5 }, () => provider.resolve(headers)));
    await provider.resolve(headers);
    expect(issuer.requests.map((request) => request.url)).toEqual([
      `${ISSUER}/.well-known/openid-configuration`,
      `${ISSUER}/jwks`,
    ]);
  });

  test('follow a rotation, and the retired key proves nothing any more', async () => {
    const { clock, issuer, provider, bearer } = await make();
    const old = bearer(await issuer.sign(accessClaims(clock)));
    expect(await provider.resolve(old)).not.toBeNull();
    await issuer.rotate();
    expect(await provider.resolve(bearer(await issuer.sign(accessClaims(clock))))).toMatchObject({
      sub: 'ada',
    });
    expect(await provider.resolve(old)).toBeNull();
  });

  test('an issuer that names itself otherwise is unavailable, not trusted', async () => {
    const clock = { nowMs: START_MS };
    const issuer = await makeFakeIssuer(clock);
    const runtime = { fetch: issuer.fetch, now: () => clock.nowMs };
    const provider = oidcAuthProvider({ issuer: `${ISSUER}/`, audience: 'resource', runtime });
    const headers = new Headers({ authorization: `Bearer ${await issuer.sign(accessClaims(clock))}` });
    await expect(provider.resolve(headers)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('the ID token of a sign-in is refused, although the same issuer signed it', async () => {
    const { clock, issuer, provider, bearer } = await make();
    const claims = accessClaims(clock, { nonce: 'n', aud: 'resource' });
    expect(await provider.resolve(bearer(await issuer.sign(claims, { typ: 'JWT' })))).toBeNull();
  });
});

test('only the bearer scheme is read, and no cookie', async () => {
  const { clock, issuer, provider } = await make();
  const token = await issuer.sign(accessClaims(clock));
  for (const headers of [
    { authorization: token },
    { authorization: `Basic ${token}` },
    { authorization: `Bearer ${token}, Bearer ${token}` },
    { authorization: `Bearer ${token} x` },
    { cookie: `sb_session=${token}` },
    { 'x-authorization': `Bearer ${token}` },
  ])
    expect(await provider.resolve(new Headers(headers))).toBeNull();
  expect(await provider.resolve(new Headers({ authorization: `bearer  ${token}` }))).not.toBeNull();
});

test('there is no sign-in here: every route is 501 with a problem document', async () => {
  const { provider } = await make();
  const response = await provider.handle(new Request('https://app.example/api/auth/login'));
  expect(response.status).toBe(501);
  expect(await response.json()).toMatchObject({ code: 'unsupported', reason: 'no_sign_in' });
});

test.each(['', 'issuer.example', 'ftp://issuer.example', 'http://issuer.example'])(
  'the issuer %j is refused when the provider is made',
  (issuer) => {
    expect(() => oidcAuthProvider({ issuer, audience: 'x' })).toThrow(OidcConfigError);
  },
);
