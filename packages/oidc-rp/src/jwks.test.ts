import { errors } from 'jose';
import { describe, expect, test } from 'vitest';
import { UNKNOWN_KEY_COOLDOWN_MS } from './jwks.ts';
import { DOCUMENT_TTL_MS, STALE_MAX_MS } from './lib/cached-document.ts';
import { type Fixture, makeFixture } from './testing/fixture.ts';

const down = (): never => {
  throw new TypeError('fetch failed');
};

async function idToken({ approve, browser, rp }: Fixture): Promise<string> {
  return (await rp.completeLogin(browser.request(await approve()))).idToken;
}

test('B-03: keys come from the discovered jwks_uri, fetched once for many tokens', async () => {
  const fixture = await makeFixture();
  const token = await idToken(fixture);
  await Promise.all(Array.from({ length: 10 }, () => fixture.rp.issuer.verifyJwt(token)));
  expect(fixture.issuer.requests.filter(({ url }) => url === 'https://issuer.example/jwks')).toHaveLength(1);
});

test('signing-key-rotation: a new key is fetched when a token names it', async () => {
  const fixture = await makeFixture();
  await fixture.signIn();
  await fixture.issuer.rotateKeys();
  const response = await fixture.signIn();
  expect(response.headers.get('location')).toBe('/');
  expect(fixture.issuer.count('/jwks')).toBe(2);
});

test('signing-key-rotation-just-before-signing: between redirect and callback', async () => {
  const fixture = await makeFixture();
  await fixture.signIn();
  const callback = await fixture.approve();
  await fixture.issuer.rotateKeys();
  expect((await fixture.visit(callback)).headers.get('location')).toBe('/');
});

test('invented key names cause at most one fetch in 30 seconds', async () => {
  const fixture = await makeFixture();
  const token = await idToken(fixture);
  await fixture.issuer.rotateKeys();
  const rotated = await idToken(fixture);
  // The key of the first token is gone: from now on it names an unknown key.
  expect(fixture.issuer.count('/jwks')).toBe(2);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await expect(fixture.rp.issuer.verifyJwt(token)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
  }
  expect(fixture.issuer.count('/jwks')).toBe(2);
  fixture.clock.nowMs += UNKNOWN_KEY_COOLDOWN_MS;
  await expect(fixture.rp.issuer.verifyJwt(token)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
  expect(fixture.issuer.count('/jwks')).toBe(3);
  await expect(fixture.rp.issuer.verifyJwt(rotated)).resolves.toMatchObject({ sub: 'alice-1' });
});

describe('an outage of the key set', () => {
  test('is survived with the last good keys', async () => {
    const fixture = await makeFixture();
    await fixture.signIn();
    fixture.clock.nowMs += DOCUMENT_TTL_MS;
    fixture.issuer.behaviour.intercept = (request) => (request.path === '/jwks' ? down() : undefined);
    expect((await fixture.signIn()).headers.get('location')).toBe('/');
    fixture.clock.nowMs += STALE_MAX_MS;
    expect((await fixture.signIn()).status).toBe(503);
  });

  test('is 503 and not 401 when there never were any', async () => {
    const fixture = await makeFixture();
    fixture.issuer.behaviour.intercept = (request) => (request.path === '/jwks' ? down() : undefined);
    expect((await fixture.signIn()).status).toBe(503);
  });
});

test.each([
  ['no list', {}],
  ['members that are no keys', { keys: [7] }],
])('a key set with %s is refused', async (_, body) => {
  const fixture = await makeFixture();
  fixture.issuer.behaviour.intercept = (request) =>
    request.path === '/jwks' ? Response.json(body) : undefined;
  const request = fixture.browser.request(await fixture.approve());
  await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'issuer_misconfigured' });
});
