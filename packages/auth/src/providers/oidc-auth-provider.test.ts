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
  test('are fetched once for many tokens, and from the address that the issuer names', async () => {
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

test('A-20: two Authorization values count as none, whatever each is worth', async () => {
  const { clock, issuer, provider } = await make();
  const token = await issuer.sign(accessClaims(clock));
  for (const [first, second] of [
    [`Bearer ${token}`, `Bearer ${token}`],
    [`Bearer ${token}`, 'Basic eDp5'],
    ['', `Bearer ${token}`],
  ] as const) {
    const headers = new Headers({ authorization: first });
    headers.append('authorization', second);
    expect(await provider.resolve(headers)).toBeNull();
  }
});

test('A-20: a token in the address or in a form is never read', async () => {
  const { clock, issuer, provider } = await make();
  const token = await issuer.sign(accessClaims(clock));
  const url = `https://app.example/api?access_token=${token}`;
  const form = new Request(url, { method: 'POST', body: new URLSearchParams({ access_token: token }) });
  for (const request of [new Request(url, { headers: { referer: url } }), form])
    expect(await provider.resolve(request.headers)).toBeNull();
});

test('names the one issuer whose tokens it takes, for the metadata of the resource', async () => {
  expect((await make()).provider.authorizationServers).toEqual([ISSUER]);
});

test('takes tokens for each of its names, and none for another', async () => {
  const { clock, issuer } = await make();
  const runtime = { fetch: issuer.fetch, now: () => clock.nowMs };
  const audience = ['scp_1', 'https://app.example/mcp'];
  const provider = oidcAuthProvider({ issuer: ISSUER, audience, runtime });
  const isTaken = async (aud: string | string[]) => {
    const token = await issuer.sign(accessClaims(clock, { aud }));
    return (await provider.resolve(new Headers({ authorization: `Bearer ${token}` }))) !== null;
  };
  expect(await isTaken('scp_1')).toBe(true);
  expect(await isTaken(['other', 'https://app.example/mcp'])).toBe(true);
  for (const aud of ['https://app.example', 'https://app.example/mcp/', 'scp_1 https://app.example/mcp'])
    expect(await isTaken(aud)).toBe(false);
});

test.each([[''], [[]], [['scp_1', '']]])(
  'the audience %j would admit every token, and is refused',
  (audience) => {
    expect(() => oidcAuthProvider({ issuer: ISSUER, audience })).toThrow(OidcConfigError);
  },
);

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
