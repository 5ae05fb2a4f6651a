import { expect, test } from 'vitest';
import { makeFixture, SECRET } from '../../testkit/src/oidc/fixture.ts';
import { OidcConfigError } from './lib/errors.ts';
import { makeRelyingParty, type RelyingPartyOptions } from './relying-party.ts';
import { mintSession, verifySession } from './session.ts';

const OPTIONS: RelyingPartyOptions = {
  env: { issuer: 'https://issuer.example', clientId: 'client-1', sessionSecrets: [SECRET] },
  fetch: () => Promise.reject(new Error('no network')),
  now: () => 0,
};

test('a hand-made configuration is checked like a parsed one', () => {
  expect(() => makeRelyingParty({ ...OPTIONS, env: { ...OPTIONS.env, sessionSecrets: [] } })).toThrow(
    OidcConfigError,
  );
  expect(() => makeRelyingParty({ ...OPTIONS, env: { ...OPTIONS.env, issuer: 'http://idp.lan' } })).toThrow(
    OidcConfigError,
  );
  expect(() => makeRelyingParty({ ...OPTIONS, scope: 'email' })).toThrow(TypeError);
  expect(() => makeRelyingParty({ ...OPTIONS, cookieDomain: 'a.example; Path=/x' })).toThrow(TypeError);
  expect(() => makeRelyingParty({ ...OPTIONS, hintCookieName: 'a=b' })).toThrow(TypeError);
});

test('making one fetches nothing: a process starts without its issuer', () => {
  const rp = makeRelyingParty({
    ...OPTIONS,
    fetch: () => {
      throw new Error('fetched');
    },
  });
  expect(rp.verifySession(rp.mintSession({ id: 'a' }))?.user).toEqual({ id: 'a' });
});

test('the audience is the given one, else BASE_URL’s origin, else the client at its issuer', () => {
  expect(makeRelyingParty({ ...OPTIONS, audience: 'tenant-a' }).audience).toBe('tenant-a');
  expect(
    makeRelyingParty({ ...OPTIONS, env: { ...OPTIONS.env, baseUrl: 'https://app.example/' } }).audience,
  ).toBe('https://app.example');
  expect(makeRelyingParty(OPTIONS).audience).toBe('client-1@https://issuer.example');
});

test('one issuer, and its caches, can serve several relying parties of it', async () => {
  const { rp, other, issuer } = await makeFixture();
  const tenantB = other({ audience: 'tenant-b', issuer: rp.issuer });
  await Promise.all([rp.issuer.metadata(), tenantB.issuer.metadata()]);
  expect(issuer.requests).toHaveLength(1);
  expect(() => other({ env: { ...rp.env, issuer: 'https://other.example' }, issuer: rp.issuer })).toThrow(
    TypeError,
  );
});

// spec B-08
test('methods are the free functions, bound', () => {
  const rp = makeRelyingParty(OPTIONS);
  const { verifySession: verify } = rp;
  const token = mintSession(rp, { id: 'a' });
  expect(verify(token)).toEqual(verifySession(rp, token));
  expect(rp.resolveOrigin(new Request('https://app.example/x'))).toBe('https://app.example');
});

test('randomness comes from the caller', () => {
  const rp = makeRelyingParty({ ...OPTIONS, random: (bytes) => new Uint8Array(bytes).fill(1) });
  expect(rp.mintSession({ id: 'a' })).toBe(rp.mintSession({ id: 'a' }));
});
