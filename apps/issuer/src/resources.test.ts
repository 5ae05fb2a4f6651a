/** Access tokens for APIs, public clients and the device flow, over real sockets. */
import { createPublicKey, type JsonWebKeyInput, verify } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { IssuerClient } from './clients.ts';
import { generateIssuerKeys } from './keys.ts';
import { type Issuer, startIssuer } from './start-issuer.ts';
import {
  askForTokens,
  authorizationRequest,
  destinationOf,
  formAction,
  makeBrowser,
  redeemCode,
  signIn,
  type TokenResponse,
} from './test-browser.ts';

const API = 'http://acme.localhost:8787';
const confidential: IssuerClient = {
  clientId: 'acme',
  clientSecret: 'acme-secret',
  redirectUris: ['http://acme.localhost:8787/api/auth/callback'],
  postLogoutRedirectUris: ['http://acme.localhost:8787/'],
};
/** A program on the user's machine. */
const native: IssuerClient = {
  clientId: 'cli',
  redirectUris: ['http://127.0.0.1/callback'],
  postLogoutRedirectUris: [],
  name: 'A command line',
};
/** A page without a server of its own. */
const page: IssuerClient = {
  clientId: 'page',
  redirectUris: ['http://page.localhost:9000/callback'],
  postLogoutRedirectUris: [],
};

const keys = await generateIssuerKeys();
const faults: unknown[] = [];
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(faults.splice(0)).toEqual([]);
});

async function start(clients: readonly IssuerClient[] = [confidential, native, page]): Promise<Issuer> {
  const issuer = await startIssuer({
    port: 0,
    env: {},
    keys,
    clients,
    onError: (error) => faults.push(error),
  });
  cleanups.push(() => issuer.close());
  return issuer;
}

/** The header and the claims of a token whose signature is the issuer's. */
async function verified(issuer: Issuer, token: string) {
  const [head = '', body = '', signature = ''] = token.split('.');
  const header = JSON.parse(Buffer.from(head, 'base64url').toString());
  const { keys: published } = (await (await fetch(`${issuer.url}/jwks`)).json()) as {
    keys: { kid: string; alg: string }[];
  };
  const key = published.find(({ kid }) => kid === header.kid);
  const right = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key: createPublicKey({ key, format: 'jwk' } as JsonWebKeyInput), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  expect(right).toBe(true);
  return { header, claims: JSON.parse(Buffer.from(body, 'base64url').toString()) };
}

// spec A-20: what the JWT-verifying provider is shown.
test.each([
  ['ES256', API],
  ['RS256', API],
  ['ES256', 'https://api.example.test/v1'],
  ['ES256', 'urn:example:ledger'],
] as const)('an access token signed with %s is made for %s alone', async (idTokenAlg, resource) => {
  const issuer = await start([{ ...confidential, idTokenAlg }]);
  const tokens = await signIn(
    issuer,
    { ...confidential, idTokenAlg },
    {
      browser: makeBrowser(issuer),
      login: 'edsger',
      extra: { resource },
    },
  );
  const { header, claims } = await verified(issuer, tokens.access_token);
  expect(header).toMatchObject({ typ: 'at+jwt', alg: idTokenAlg });
  expect(claims).toMatchObject({
    iss: issuer.url,
    aud: resource,
    sub: 'edsger',
    client_id: 'acme',
    name: 'Edsger Dijkstra',
    email: 'edsger@example.test',
    email_verified: false,
    exp: claims.iat + 3600,
    jti: expect.any(String),
  });
  // It is not an ID token, and cannot be taken for one.
  expect(Object.keys(claims)).not.toEqual(expect.arrayContaining(['nonce']));
  expect(claims).not.toHaveProperty('at_hash');
});

test('an access token names the person no further than the client asked', async () => {
  const issuer = await start();
  const tokens = await signIn(issuer, confidential, {
    browser: makeBrowser(issuer),
    login: 'ada',
    extra: { resource: API, scope: 'openid email' },
  });
  const { claims } = await verified(issuer, tokens.access_token);
  expect(claims).toMatchObject({ email: 'ada@example.test', email_verified: true });
  expect(claims).not.toHaveProperty('name');
});

test('without a resource an access token is for userinfo, and is no JWT', async () => {
  const issuer = await start();
  const tokens = await signIn(issuer, confidential, { browser: makeBrowser(issuer), login: 'ada' });
  expect(tokens.access_token.split('.')).toHaveLength(1);
});

test.each(['not a url', '/relative', 'http://api.test/#part', 'ftp://api.test', 'javascript:alert(1)'])(
  'the resource %j is refused',
  async (resource) => {
    const issuer = await start();
    const { url } = authorizationRequest(issuer, confidential, { resource });
    expect(destinationOf(await makeBrowser(issuer).get(url)).searchParams.get('error')).toBe(
      'invalid_target',
    );
  },
);

test('a token for another resource than the one granted is refused', async () => {
  const issuer = await start();
  const browser = makeBrowser(issuer);
  await signIn(issuer, confidential, { browser, login: 'ada' });
  const { url, verifier } = authorizationRequest(issuer, confidential, { resource: API });
  const code = destinationOf(await browser.get(url)).searchParams.get('code') ?? '';
  const answer = await askForTokens(issuer, confidential, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: confidential.redirectUris[0] ?? '',
    code_verifier: verifier,
    resource: 'http://other.localhost:8787',
  });
  expect(await answer.json()).toMatchObject({ error: 'invalid_target' });
});

test('a refreshed token is for the same resource, and still says who it is', async () => {
  const issuer = await start();
  const tokens = await signIn(issuer, confidential, {
    browser: makeBrowser(issuer),
    login: 'ada',
    extra: { resource: API, prompt: 'login consent', scope: 'openid profile email offline_access' },
  });
  const answer = await askForTokens(issuer, confidential, {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token ?? '',
  });
  const { claims } = await verified(issuer, ((await answer.json()) as TokenResponse).access_token);
  expect(claims).toMatchObject({ aud: API, sub: 'ada', name: 'Ada Lovelace' });
});

test('a public client on this machine signs in by PKCE alone, on any port', async () => {
  const issuer = await start();
  const asked: IssuerClient = { ...native, redirectUris: ['http://127.0.0.1:41234/callback'] };
  const tokens = await signIn(issuer, asked, {
    browser: makeBrowser(issuer),
    login: 'grace',
    extra: { resource: API },
  });
  const { claims } = await verified(issuer, tokens.access_token);
  expect(claims).toMatchObject({ aud: API, sub: 'grace', client_id: 'cli' });
});

test.each([
  ['another path', 'http://127.0.0.1:41234/other'],
  ['another name of this machine', 'http://localhost:41234/callback'],
  ['another machine', 'http://192.0.2.1/callback'],
])('a public client is not sent to %s', async (_what, redirect_uri) => {
  const issuer = await start();
  const { url } = authorizationRequest(issuer, native, { redirect_uri });
  expect((await makeBrowser(issuer).get(url)).status).toBe(400);
});

test('a public client without the verifier gets nothing, and neither does a confidential one without its secret', async () => {
  const issuer = await start();
  const browser = makeBrowser(issuer);
  await signIn(issuer, native, { browser, login: 'ada' });
  const own = authorizationRequest(issuer, native);
  const code = destinationOf(await browser.get(own.url)).searchParams.get('code') ?? '';
  const guessed = await redeemCode(issuer, native, { code, verifier: 'x'.repeat(43) });
  expect(await guessed.json()).toMatchObject({ error: 'invalid_grant' });

  const other = authorizationRequest(issuer, confidential);
  const stolen = destinationOf(await browser.get(other.url)).searchParams.get('code') ?? '';
  const { clientSecret: _secret, ...nameless } = confidential;
  const answer = await redeemCode(issuer, nameless, { code: stolen, verifier: other.verifier });
  expect(answer.status).toBe(401);
});

test('a page redeems its code from its own origin, and other pages are not let in', async () => {
  const issuer = await start();
  const browser = makeBrowser(issuer);
  await signIn(issuer, page, { browser, login: 'ada' });
  const allowed = async (origin: string) => {
    const { url, verifier } = authorizationRequest(issuer, page);
    const code = destinationOf(await browser.get(url)).searchParams.get('code') ?? '';
    const answer = await fetch(`${issuer.url}/token`, {
      method: 'POST',
      headers: { origin },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: page.clientId,
        redirect_uri: page.redirectUris[0] ?? '',
        code_verifier: verifier,
      }),
    });
    return answer.headers.get('access-control-allow-origin');
  };
  expect(await allowed('http://page.localhost:9000')).toBe('http://page.localhost:9000');
  expect(await allowed('http://evil.test')).toBeNull();
});

/** A program without a browser asks for a code to show. */
async function startDevice(issuer: Issuer) {
  const answer = await fetch(`${issuer.url}/device/auth`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'cli', scope: 'openid profile email', resource: API }),
  });
  const device = (await answer.json()) as {
    device_code: string;
    user_code: string;
    verification_uri: string;
  };
  const poll = async () => {
    const response = await askForTokens(issuer, native, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device.device_code,
    });
    return (await response.json()) as TokenResponse & { error?: string };
  };
  return { ...device, poll };
}

const xsrfOf = (body: string) => /name="xsrf" value="([^"]+)"/.exec(body)?.[1] ?? '';

test('a program without a browser is connected by the code that it shows', async () => {
  const issuer = await start();
  const device = await startDevice(issuer);
  expect(device.verification_uri).toBe(`${issuer.url}/device`);
  expect(await device.poll()).toMatchObject({ error: 'authorization_pending' });

  const browser = makeBrowser(issuer);
  const asks = await (await browser.get(device.verification_uri)).text();
  expect(asks).toMatch(/<label for="code">/);
  const wrong = await browser.post('/device', { xsrf: xsrfOf(asks), user_code: 'NOPE-NOPE' });
  const again = await wrong.text();
  expect(again).toContain('This code does not work.');

  const confirms = await browser.post('/device', { xsrf: xsrfOf(again), user_code: device.user_code });
  const confirm = await confirms.text();
  expect(confirm).toContain('Connect A command line?');
  expect(confirm).toContain(device.user_code);
  const people = await browser.post('/device', {
    xsrf: xsrfOf(confirm),
    user_code: device.user_code,
    confirm: 'yes',
  });
  const done = await browser.post(formAction(await people.text()), { login: 'ada' });
  expect(await done.text()).toContain('A command line is connected');
  const { claims } = await verified(issuer, (await device.poll()).access_token);
  expect(claims).toMatchObject({ aud: API, sub: 'ada', email: 'ada@example.test' });
  expect(await device.poll()).toMatchObject({ error: 'invalid_grant' });
});

test('a program that its user refuses gets that answer', async () => {
  const issuer = await start();
  const device = await startDevice(issuer);
  const browser = makeBrowser(issuer);
  const asks = await (await browser.get('/device')).text();
  const confirm = await (
    await browser.post('/device', { xsrf: xsrfOf(asks), user_code: device.user_code })
  ).text();
  await browser.post('/device', {
    xsrf: xsrfOf(confirm),
    user_code: device.user_code,
    confirm: 'yes',
    abort: 'yes',
  });
  expect(await device.poll()).toMatchObject({ error: 'access_denied' });
});

test('an application at a name under localhost is told of a sign-out, with any resolver', async () => {
  const received: { path: string | undefined; host: string | undefined; body: URLSearchParams }[] = [];
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ path: request.url, host: request.headers.host, body: new URLSearchParams(body) });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise((resolve) => receiver.close(() => resolve())));
  const host = `acme.localhost:${(receiver.address() as AddressInfo).port}`;
  const told = { ...confidential, backchannelLogoutUri: `http://${host}/api/auth/backchannel-logout` };
  const issuer = await start([told]);
  const browser = makeBrowser(issuer);
  const { id_token } = await signIn(issuer, told, { browser, login: 'ada' });
  await browser.get(`/session/end?${new URLSearchParams({ id_token_hint: id_token })}`);
  expect(received).toMatchObject([{ path: '/api/auth/backchannel-logout', host }]);
  expect(received[0]?.body.get('logout_token')).toMatch(/^ey/);
});
