import { errors, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, test } from 'vitest';
import { type Fixture, makeFixture } from '../../testkit/src/oidc/fixture.ts';
import { makeKeySet, UNKNOWN_KEY_COOLDOWN_MS } from './jwks.ts';
import { DOCUMENT_TTL_MS, FAILURE_TTL_MS, STALE_MAX_MS } from './lib/cached-document.ts';

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

test('an issuer that names no keys is asked again when a signature fails, at most once in 30 seconds', async () => {
  const fixture = await makeFixture();
  fixture.issuer.behaviour.namesKey = false;
  const former = await idToken(fixture);
  await fixture.issuer.rotateKeys();
  const rotated = await idToken(fixture);
  expect(fixture.issuer.count('/jwks')).toBe(2);
  for (let attempt = 0; attempt < 5; attempt += 1)
    await expect(fixture.rp.issuer.verifyJwt(former)).rejects.toBeInstanceOf(
      errors.JWSSignatureVerificationFailed,
    );
  expect(fixture.issuer.count('/jwks')).toBe(2);
  fixture.clock.nowMs += UNKNOWN_KEY_COOLDOWN_MS;
  await expect(fixture.rp.issuer.verifyJwt(former)).rejects.toBeInstanceOf(
    errors.JWSSignatureVerificationFailed,
  );
  expect(fixture.issuer.count('/jwks')).toBe(3);
  await expect(fixture.rp.issuer.verifyJwt(rotated)).resolves.toMatchObject({ sub: 'alice-1' });
});

test('tokens with forged signatures do not keep a rotation from being noticed', async () => {
  const fixture = await makeFixture();
  const token = await idToken(fixture);
  const forged = `${token.slice(0, -4)}AAAA`;
  await expect(fixture.rp.issuer.verifyJwt(forged)).rejects.toBeInstanceOf(
    errors.JWSSignatureVerificationFailed,
  );
  expect(fixture.issuer.count('/jwks')).toBe(1);
  fixture.issuer.behaviour.namesKey = false;
  const unnamed = `${(await idToken(fixture)).slice(0, -4)}AAAA`;
  await expect(fixture.rp.issuer.verifyJwt(unnamed)).rejects.toBeInstanceOf(
    errors.JWSSignatureVerificationFailed,
  );
  expect(fixture.issuer.count('/jwks')).toBe(2);
  fixture.issuer.behaviour.namesKey = true;
  await fixture.issuer.rotateKeys();
  const rotated = await idToken(fixture);
  await expect(fixture.rp.issuer.verifyJwt(rotated)).resolves.toMatchObject({ sub: 'alice-1' });
});

test('all who sign in at the moment of a rotation wait for one fetch, and are signed in', async () => {
  const fixture = await makeFixture();
  await idToken(fixture);
  await fixture.issuer.rotateKeys();
  const requests: Request[] = [];
  for (let person = 0; person < 4; person += 1) {
    requests.push(fixture.browser.request(await fixture.approve()));
  }
  const signedIn = await Promise.all(requests.map((request) => fixture.rp.completeLogin(request)));
  expect(signedIn).toHaveLength(4);
  expect(fixture.issuer.count('/jwks')).toBe(2);
});

test('a token that comes while newer keys are being fetched is judged by those', async () => {
  const fixture = await makeFixture();
  await idToken(fixture);
  await fixture.issuer.rotateKeys();
  const formerKeys = await fixture.issuer.publicKeys();
  const request = fixture.browser.request(await fixture.approve());
  let answer: (response: Response) => void = () => undefined;
  const late = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  fixture.issuer.behaviour.intercept = ({ path }) => (path === '/jwks' ? late : undefined);
  const first = fixture.rp.completeLogin(request);
  while (fixture.issuer.count('/jwks') < 2) await new Promise((resolve) => setImmediate(resolve));
  const others = ['a', 'b', 'c'].map(async (sub) =>
    fixture.rp.issuer.verifyJwt(await fixture.issuer.logoutToken({ sub }), { isExpiryOptional: true }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  answer(Response.json(formerKeys));
  await expect(first).resolves.toMatchObject({ user: { id: 'alice-1' } });
  await expect(Promise.all(others)).resolves.toMatchObject([{ sub: 'a' }, { sub: 'b' }, { sub: 'c' }]);
  expect(fixture.issuer.count('/jwks')).toBe(2);
});

test('a new key is found at whatever moment of its arrival a token names it', async () => {
  const jwk = async (kid: string) => ({
    ...(await exportJWK((await generateKeyPair('ES256')).publicKey)),
    kid,
  });
  const before = { keys: [await jwk('old')] };
  const after = { keys: [...before.keys, await jwk('new')] };
  const token = { payload: '', signature: '' };
  for (let delay = 0; delay < 60; delay += 1) {
    let published = before;
    const use = makeKeySet({
      url: 'https://issuer.example/jwks',
      // Answers within the microtask queue, so that every turn of it is a moment.
      fetch: async () => Object.assign(new Response(), { json: async () => published }),
      now: () => 0,
      deadline: () => new AbortController().signal,
      waitMaxMs: 1000,
    });
    const resolve = (kid: string) => use(async (keys) => keys({ alg: 'ES256', kid }, token));
    await resolve('old');
    published = after;
    const first = resolve('new');
    for (let turn = 0; turn < delay; turn += 1) await Promise.resolve();
    const second = resolve('new');
    await expect(Promise.all([first, second])).resolves.toHaveLength(2);
  }
});

describe('an outage of the key set', () => {
  test('leaves known keys believed, and an unknown one undecided: 503, asked for once in 30 seconds', async () => {
    const fixture = await makeFixture();
    const known = await idToken(fixture);
    await fixture.issuer.rotateKeys();
    const unknown = await fixture.issuer.logoutToken({ sub: 'alice-1' });
    fixture.issuer.behaviour.intercept = (request) => (request.path === '/jwks' ? down() : undefined);
    await expect(fixture.rp.issuer.verifyJwt(unknown)).rejects.toMatchObject({ code: 'issuer_unavailable' });
    await expect(fixture.rp.issuer.verifyJwt(unknown)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
    await expect(fixture.rp.issuer.verifyJwt(known)).resolves.toMatchObject({ sub: 'alice-1' });
    expect(fixture.issuer.count('/jwks')).toBe(2);
  });

  test('is remembered for 30 seconds and then asked again', async () => {
    const fixture = await makeFixture();
    const token = await fixture.issuer.logoutToken({ sub: 'alice-1' });
    fixture.issuer.behaviour.intercept = (request) => (request.path === '/jwks' ? down() : undefined);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(fixture.rp.issuer.verifyJwt(token)).rejects.toMatchObject({ code: 'issuer_unavailable' });
    }
    expect(fixture.issuer.count('/jwks')).toBe(1);
    delete fixture.issuer.behaviour.intercept;
    fixture.clock.nowMs += FAILURE_TTL_MS;
    await expect(fixture.rp.issuer.verifyJwt(token)).resolves.toMatchObject({ sub: 'alice-1' });
  });

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

test.each<[string, () => Response]>([
  ['no list', () => Response.json({})],
  ['members that are no keys', () => Response.json({ keys: [7] })],
  [
    'a key that is off its curve',
    () => Response.json({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'es-shared', x: 'AAAA', y: 'AAAA' }] }),
  ],
  ['a redirect to it', () => Response.redirect('https://evil.example/jwks', 302)],
  ['a page in its place', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
])('a key set with %s is refused', async (_, answer) => {
  const fixture = await makeFixture();
  fixture.issuer.behaviour.intercept = (request) => (request.path === '/jwks' ? answer() : undefined);
  const request = fixture.browser.request(await fixture.approve());
  await expect(fixture.rp.completeLogin(request)).rejects.toMatchObject({ code: 'issuer_misconfigured' });
});
