/** Clients that prove themselves by a key of their document: as a plain library does it, and as an attacker would. */
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { describe, expect, test } from 'vitest';
import {
  answer,
  callerWith,
  consent,
  ORIGIN,
  openServer,
  post,
  query,
  serverOver,
  VERIFIER,
  WEB,
} from '../../../test/programs.ts';
import { OTHER_SCOPE } from '../../../test/support.ts';

const ID = 'https://agent.example/oauth/client.json';
const KEYS = 'https://agent.example/oauth/keys.json';
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const ALG = 'ES256';

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair(ALG, { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: ALG } };
}

/** A server, and a client whose document names its keys. */
async function open(document: object = { jwks_uri: KEYS }) {
  const own = await makeKey('one');
  const published = { keys: [own.jwk] };
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    const client = {
      ...{ client_id: ID, client_name: 'Agent', redirect_uris: [WEB] },
      ...{ token_endpoint_auth_method: 'private_key_jwt', ...document },
    };
    return Response.json(url === KEYS ? published : client);
  };
  const platform = await openServer({ fetch });
  const { server, clock } = platform;
  const sign = (
    claims: Readonly<Record<string, unknown>> = {},
    key: CryptoKey = own.privateKey,
    kid = own.kid,
  ) => {
    const nowS = Math.floor(clock.nowMs / 1_000);
    const all = { iss: ID, sub: ID, aud: ORIGIN, jti: crypto.randomUUID(), exp: nowS + 60, ...claims };
    return new SignJWT(all).setProtectedHeader({ alg: ALG, kid }).sign(key);
  };
  const code = () => consent(platform, ID, { more: { redirect_uri: WEB } });
  const redeem = (fields: Record<string, string>, at = server) =>
    answer(
      at,
      post('/oauth/token', { grant_type: 'authorization_code', code_verifier: VERIFIER, ...fields }),
    );
  const proof = async (assertion: string | Promise<string>) => ({
    client_assertion_type: TYPE,
    client_assertion: await assertion,
  });
  return { ...platform, fetch, own, published, asked, sign, code, redeem, proof };
}

test('a plain library signs in, refreshes and revokes with a key that the document names', async () => {
  const { server, ada, directory, own, clock } = await open();
  const options = {
    [oauth.customFetch]: async (url: string, init: object) =>
      (await server.handle(new Request(url, init as RequestInit))) ?? Response.error(),
  };
  const issuer = new URL(ORIGIN);
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
  );
  expect(as.token_endpoint_auth_methods_supported).toContain('private_key_jwt');
  expect(as.token_endpoint_auth_signing_alg_values_supported).toContain(ALG);
  const client = { client_id: ID, [oauth.clockSkew]: Math.round((clock.nowMs - Date.now()) / 1_000) };
  const proof = oauth.PrivateKeyJwt({ key: own.privateKey, kid: own.kid });
  const verifier = oauth.generateRandomCodeVerifier();
  const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
  const request = await server.readRequest(query(ID, { redirect_uri: WEB, code_challenge }));
  const back = new URL(await server.letIn(request, ada, { access: 'all' }));
  const callback = oauth.validateAuthResponse(as, client, back, 'a state');
  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, proof, callback, WEB, verifier, options),
  );
  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, proof, tokens.refresh_token ?? '', options),
  );
  expect(await callerWith(directory, refreshed.access_token)).toMatchObject({ sub: 'ada' });
  const revoked = await oauth.revocationRequest(as, client, proof, refreshed.refresh_token ?? '', options);
  await oauth.processRevocationResponse(revoked);
  expect(await callerWith(directory, refreshed.access_token)).toBeNull();
});

describe('an assertion is refused', () => {
  const far = 100_000_000_000;
  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['for another server', { aud: 'https://other.example' }],
    ['of another client', { iss: 'https://other.example/client.json' }],
    ['about another client', { sub: 'https://other.example/client.json' }],
    ['that is over', { exp: 1_000 }],
    ['that never ends', { exp: undefined }],
    ['that is good for years', { exp: far }],
    ['that cannot be told from a second one', { jti: undefined }],
    ['that is not good yet', { nbf: far }],
  ])('%s', async (_, claims) => {
    const { sign, code, redeem, proof } = await open();
    const form = { client_id: ID, code: await code() };
    expect(await redeem({ ...form, ...(await proof(sign(claims))) })).toMatchObject({
      status: 401,
      body: { error: 'invalid_client' },
    });
    // The code was not in question, so that the client itself redeems it.
    expect((await redeem({ ...form, ...(await proof(sign())) })).status).toBe(200);
  });

  test('that another key signed, that a secret signed, and without a signature', async () => {
    const { own, sign, code, redeem, proof } = await open();
    const form = { client_id: ID, code: await code() };
    const thief = await makeKey('one');
    const [head, body] = (await sign()).split('.');
    const none = `${btoa(JSON.stringify({ alg: 'none' })).replaceAll('=', '')}.${body}.`;
    const secret = await new SignJWT({ iss: ID, sub: ID, aud: ORIGIN, jti: 'x', exp: 4_000_000_000 })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(new TextEncoder().encode(JSON.stringify(own.jwk)));
    for (const forged of [await sign({}, thief.privateKey), none, secret, `${head}.${body}.AAAA`, 'x'])
      expect(await redeem({ ...form, ...(await proof(forged)) })).toMatchObject({
        body: { error: 'invalid_client' },
      });
  });

  test('a second time, also by another process, and beside a secret', async () => {
    const platform = await open();
    const { sign, code, redeem, proof, clock, fetch } = platform;
    const once = await sign();
    const form = async () => ({ client_id: ID, code: await code() });
    expect((await redeem({ ...(await form()), ...(await proof(once)) })).status).toBe(200);
    const elsewhere = serverOver(platform, { fetch });
    clock.nowMs += 60_000;
    for (const at of [undefined, elsewhere])
      expect((await redeem({ ...(await form()), ...(await proof(once)) }, at)).status).toBe(401);
    // It is over, and forgotten: the time alone refuses it.
    clock.nowMs += 31_000;
    expect((await redeem({ ...(await form()), ...(await proof(once)) })).status).toBe(401);
    const both = { ...(await proof(sign())), client_secret: 'x' };
    expect(await redeem({ ...(await form()), ...both })).toMatchObject({
      body: { error: 'invalid_request' },
    });
  });

  test('of a client without keys; and a client with keys brings one', async () => {
    const open1 = await open({ token_endpoint_auth_method: 'none' });
    const form = { client_id: ID, code: await open1.code() };
    expect((await open1.redeem({ ...form, ...(await open1.proof(open1.sign())) })).status).toBe(401);
    expect((await open1.redeem(form)).status).toBe(200);
    const open2 = await open();
    expect((await open2.redeem({ client_id: ID, code: await open2.code() })).status).toBe(401);
  });
});

test('a client that was never let in is asked nothing: no anonymous sender chooses what is fetched', async () => {
  const platform = await open();
  const { sign, redeem, proof, asked } = platform;
  expect((await redeem({ code: 'x', ...(await proof(sign())) })).status).toBe(401);
  expect((await redeem({ client_id: ID, code: 'x', ...(await proof(sign())) })).status).toBe(401);
  const elsewhere = serverOver(platform, { scopeId: OTHER_SCOPE });
  await platform.code();
  asked.length = 0;
  expect((await redeem({ code: 'x', ...(await proof(sign())) }, elsewhere)).status).toBe(401);
  expect(asked).toEqual([]);
});

test('keys that changed are found at once, and looked for at most every half minute', async () => {
  const { published, sign, code, redeem, proof, asked, clock } = await open();
  const next = await makeKey('two');
  const form = async () => ({ client_id: ID, code: await code() });
  expect((await redeem({ ...(await form()), ...(await proof(sign())) })).status).toBe(200);
  published.keys = [next.jwk];
  const signed = () => sign({}, next.privateKey, next.kid);
  // The keys are of this moment, as far as is known.
  expect((await redeem({ ...(await form()), ...(await proof(signed())) })).status).toBe(401);
  clock.nowMs += 30_000;
  asked.length = 0;
  expect((await redeem({ ...(await form()), ...(await proof(signed())) })).status).toBe(200);
  expect(asked.filter((url) => url === KEYS)).toHaveLength(1);
  expect((await redeem({ ...(await form()), ...(await proof(sign())) })).status).toBe(401);
});

test.each<[string, object]>([
  ['neither', {}],
  ['both', { jwks_uri: KEYS, jwks: { keys: [{ kty: 'EC' }] } }],
  ['an address without TLS', { jwks_uri: 'http://agent.example/keys.json' }],
  ['a private key', { jwks: { keys: [{ kty: 'EC', d: 'x' }] } }],
  ['a shared secret', { jwks: { keys: [{ kty: 'oct', k: 'x' }] } }],
  ['no key', { jwks: { keys: [] } }],
])('a document with %s is refused', async (_, document) => {
  const { server } = await open(document);
  await expect(server.readRequest(query(ID, { redirect_uri: WEB }))).rejects.toMatchObject({
    code: 'invalid_client_metadata',
  });
});
