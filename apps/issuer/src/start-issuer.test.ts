import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { IssuerClient } from './clients.ts';
import { generateIssuerKeys } from './keys.ts';
import { type Issuer, type IssuerOptions, startIssuer } from './start-issuer.ts';
import {
  authorizationRequest,
  destinationOf,
  formAction,
  makeBrowser,
  redeemCode,
  signIn,
  type TokenResponse,
} from './test-browser.ts';

const client: IssuerClient = {
  clientId: 'acme',
  clientSecret: 'acme-secret',
  redirectUris: ['http://acme.localhost:8787/api/auth/callback'],
  postLogoutRedirectUris: ['http://acme.localhost:8787/'],
  name: 'Acme Field Service',
};
const other: IssuerClient = {
  clientId: 'other',
  clientSecret: 'other-secret',
  redirectUris: ['http://other.localhost:8787/api/auth/callback'],
  postLogoutRedirectUris: ['http://other.localhost:8787/'],
};

const keys = await generateIssuerKeys();
const faults: unknown[] = [];
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  expect(faults.splice(0)).toEqual([]);
});

async function start(options: IssuerOptions = {}): Promise<Issuer> {
  const issuer = await startIssuer({
    port: 0,
    env: {},
    keys,
    clients: [client, other],
    onError: (error) => faults.push(error),
    ...options,
  });
  cleanups.push(() => issuer.close());
  return issuer;
}

function claimsOf(idToken: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
}

function logoutUrl(issuer: Issuer, params: Record<string, string>): string {
  return `${issuer.url}/session/end?${new URLSearchParams(params)}`;
}

describe('starting', () => {
  test('NODE_ENV=production is refused', async () => {
    await expect(start({ env: { NODE_ENV: 'production' } })).rejects.toMatchObject({
      code: 'production_refused',
    });
  });

  test.each(['0.0.0.0', '::', '192.168.1.4', 'example.test', '127.0.0.1.example.test', ''])(
    'listening on %j is refused',
    async (host) => {
      await expect(start({ host })).rejects.toMatchObject({ code: 'host_not_loopback' });
    },
  );

  test('a taken port is named', async () => {
    const taken = createTcpServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => taken.close(() => resolve())));
    const { port } = taken.address() as AddressInfo;
    await expect(start({ port })).rejects.toMatchObject({
      code: 'port_taken',
      message: expect.stringContaining(String(port)),
    });
  });

  test.each([
    'http://localhost:8788/',
    'http://localhost:8788/path',
    'ftp://localhost',
    'localhost',
    'HTTP://A.TEST',
  ])('the issuer %j is refused', async (issuer) => {
    await expect(start({ issuer })).rejects.toMatchObject({ code: 'issuer_url_invalid' });
  });

  test.each([
    ['no redirect URI', { redirectUris: [] }],
    ['a wildcard', { redirectUris: ['http://*.localhost/callback'] }],
    ['a fragment', { redirectUris: ['http://acme.localhost/callback#x'] }],
    ['no secret', { clientSecret: '' }],
  ])('a client with %s is refused', async (_what, change) => {
    await expect(start({ clients: [{ ...client, ...change }] })).rejects.toMatchObject({
      code: 'client_invalid',
    });
  });

  test('a refused start leaves the port free, and so does closing, twice', async () => {
    const issuer = await start();
    const { port } = issuer;
    await issuer.close();
    await issuer.close();
    await expect(start({ port, clients: [{ ...client, redirectUris: [] }] })).rejects.toThrow();
    expect((await start({ port })).port).toBe(port);
  });

  test('a name that is not the issuer’s own is not answered', async () => {
    const { port } = await start();
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        httpRequest({ port, host: '127.0.0.1', path: '/jwks', headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await statusFor('attacker.example')).toBe(421);
    expect(await statusFor(`127.0.0.1:${port}`)).toBe(200);
  });
});

describe('discovery', () => {
  test('names the exact issuer and the parts of the code flow, for any loopback name of the request', async () => {
    const issuer = await start();
    expect(issuer.url).toBe(`http://localhost:${issuer.port}`);
    for (const base of [issuer.url, `http://127.0.0.1:${issuer.port}`]) {
      const response = await fetch(`${base}/.well-known/openid-configuration`);
      expect(await response.json()).toMatchObject({
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/auth`,
        token_endpoint: `${issuer.url}/token`,
        userinfo_endpoint: `${issuer.url}/me`,
        end_session_endpoint: `${issuer.url}/session/end`,
        revocation_endpoint: `${issuer.url}/token/revocation`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        id_token_signing_alg_values_supported: ['ES256', 'RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
        device_authorization_endpoint: `${issuer.url}/device/auth`,
        grant_types_supported: expect.arrayContaining(['urn:ietf:params:oauth:grant-type:device_code']),
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        scopes_supported: expect.arrayContaining(['openid', 'profile', 'email']),
      });
    }
  });

  test('a configured issuer is used in every URL', async () => {
    const { port } = await start({ issuer: 'https://login.example.test' });
    const response = await fetch(`http://127.0.0.1:${port}/.well-known/openid-configuration`);
    expect(await response.json()).toMatchObject({
      issuer: 'https://login.example.test',
      token_endpoint: 'https://login.example.test/token',
    });
  });

  test('public keys are published without their private parts, and given keys survive a restart', async () => {
    const published = async () =>
      (await (await fetch(`${(await start()).url}/jwks`)).json()) as { keys: { alg: string }[] };
    const first = await published();
    expect(first.keys.map((key) => key.alg)).toEqual(['ES256', 'RS256']);
    expect(JSON.stringify(first)).not.toContain('"d"');
    expect(await published()).toEqual(first);
  });
});

describe('signing in', () => {
  test('choosing a person leads to a code, tokens and userinfo', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const { url, verifier } = authorizationRequest(issuer, client);

    const page = await browser.get(url);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const body = await page.text();
    expect(body).toContain('Sign in to Acme Field Service');

    const destination = destinationOf(await browser.post(formAction(body), { login: 'ada' }));
    expect(destination.origin + destination.pathname).toBe(client.redirectUris[0]);
    expect(destination.searchParams.get('state')).toBe('state-of-the-flow');
    expect(destination.searchParams.get('iss')).toBe(issuer.url);

    const code = destination.searchParams.get('code') ?? '';
    const tokens = (await (await redeemCode(issuer, client, { code, verifier })).json()) as TokenResponse;
    expect(claimsOf(tokens.id_token)).toMatchObject({
      iss: issuer.url,
      aud: 'acme',
      sub: 'ada',
      nonce: 'nonce-of-the-flow',
    });
    expect(JSON.parse(Buffer.from(tokens.id_token.split('.')[0] ?? '', 'base64url').toString()).alg).toBe(
      'ES256',
    );

    const userinfo = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(await userinfo.json()).toEqual({
      sub: 'ada',
      name: 'Ada Lovelace',
      preferred_username: 'ada',
      email: 'ada@example.test',
      email_verified: true,
    });

    const again = await redeemCode(issuer, client, { code, verifier });
    expect(await again.json()).toMatchObject({ error: 'invalid_grant' });
  });

  test('one person’s address is not verified', async () => {
    const issuer = await start();
    const tokens = await signIn(issuer, client, { browser: makeBrowser(issuer), login: 'edsger' });
    const userinfo = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(await userinfo.json()).toMatchObject({ email: 'edsger@example.test', email_verified: false });
  });

  test('another person signs in by a login name, in any case', async () => {
    const issuer = await start();
    const tokens = await signIn(issuer, client, { browser: makeBrowser(issuer), login: ' Maria-Lopez ' });
    const userinfo = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(await userinfo.json()).toMatchObject({
      sub: 'maria-lopez',
      name: 'Maria Lopez',
      email: 'maria-lopez@example.test',
      email_verified: true,
    });
  });

  test('the page of a client with a thousand host names has a small policy, which names the one of this sign-in', async () => {
    const origins = Array.from({ length: 1_000 }, (_, i) => `http://tenant-${i}.localhost:8787`);
    const many = { ...client, redirectUris: origins.map((origin) => `${origin}/api/auth/callback`) };
    const issuer = await start({ clients: [many] });
    const page = await makeBrowser(issuer).get(authorizationRequest(issuer, many).url);
    expect(page.status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`form-action 'self' ${origins[0]};`);
    expect(policy.length).toBeLessThan(500);
  });

  test('an invalid login name is asked for again, and no session begins', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const { url } = authorizationRequest(issuer, client);
    const action = formAction(await (await browser.get(url)).text());
    const refused = await browser.post(action, { login: 'No Name!' });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain('value="No Name!"');
    expect((await browser.get(url)).status).toBe(200);
  });

  test('cancelling goes back with access_denied', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const page = await browser.get(authorizationRequest(issuer, client).url);
    const destination = destinationOf(await browser.post(formAction(await page.text()), { cancel: 'yes' }));
    expect(destination.searchParams.get('error')).toBe('access_denied');
    expect(destination.searchParams.get('code')).toBeNull();
  });

  test('a second application signs in silently, and prompt=none works', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    await signIn(issuer, client, { browser, login: 'grace' });
    for (const extra of [{}, { prompt: 'none' }]) {
      const { url, verifier } = authorizationRequest(issuer, other, extra);
      const code = destinationOf(await browser.get(url)).searchParams.get('code') ?? '';
      const tokens = (await (await redeemCode(issuer, other, { code, verifier })).json()) as TokenResponse;
      expect(claimsOf(tokens.id_token)).toMatchObject({ sub: 'grace', aud: 'other' });
    }
  });

  test('prompt=none without a session is login_required', async () => {
    const issuer = await start();
    const { url } = authorizationRequest(issuer, client, { prompt: 'none' });
    expect(destinationOf(await makeBrowser(issuer).get(url)).searchParams.get('error')).toBe(
      'login_required',
    );
  });

  test.each(['login', 'select_account', 'login consent'])(
    'prompt=%s shows the page although a person is signed in, and another may be chosen',
    async (prompt) => {
      const issuer = await start();
      const browser = makeBrowser(issuer);
      const earlier = await signIn(issuer, client, { browser, login: 'ada' });
      const { url, verifier } = authorizationRequest(issuer, client, { prompt });
      const body = await (await browser.get(url)).text();
      expect(body).toContain('signed in</span>');
      const code =
        destinationOf(await browser.post(formAction(body), { login: 'linus' })).searchParams.get('code') ??
        '';
      const tokens = (await (await redeemCode(issuer, client, { code, verifier })).json()) as TokenResponse;
      expect(claimsOf(tokens.id_token).sub).toBe('linus');

      const stale = await fetch(`${issuer.url}/me`, {
        headers: { authorization: `Bearer ${earlier.access_token}` },
      });
      expect(stale.status).toBe(401);
    },
  );

  test('choosing the same person again at prompt=login keeps the session', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const earlier = await signIn(issuer, client, { browser, login: 'ada' });
    const { url } = authorizationRequest(issuer, client, { prompt: 'login' });
    const page = await browser.get(url);
    expect(
      destinationOf(await browser.post(formAction(await page.text()), { login: 'ada' })).search,
    ).toContain('code=');
    const userinfo = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${earlier.access_token}` },
    });
    expect(userinfo.status).toBe(200);
  });

  test('a signed-in person who is not in the list is listed all the same', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    await signIn(issuer, client, { browser, login: 'maria-lopez' });
    const page = await browser.get(authorizationRequest(issuer, client, { prompt: 'select_account' }).url);
    expect(await page.text()).toMatch(/<button[^>]* value="maria-lopez">/);
  });

  test('login_hint puts the focus on that person', async () => {
    const issuer = await start();
    const { url } = authorizationRequest(issuer, client, { login_hint: 'grace@example.test' });
    expect(await (await makeBrowser(issuer).get(url)).text()).toMatch(/value="grace" autofocus/);
  });

  test('prompt=consent is answered without a page, and offline_access then gives a refresh token', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    await signIn(issuer, client, { browser, login: 'ada' });
    const { url, verifier } = authorizationRequest(issuer, client, {
      prompt: 'consent',
      scope: 'openid offline_access',
    });
    const code = destinationOf(await browser.get(url)).searchParams.get('code') ?? '';
    const tokens = await (await redeemCode(issuer, client, { code, verifier })).json();
    expect(tokens).toMatchObject({ refresh_token: expect.any(String) });
  });

  test('another browser can neither see nor answer a sign-in', async () => {
    const issuer = await start();
    const page = await makeBrowser(issuer).get(authorizationRequest(issuer, client).url);
    const action = formAction(await page.text());
    const anonymous = makeBrowser(issuer);
    expect((await anonymous.get(action)).status).toBe(400);
    expect((await anonymous.post(action, { login: 'ada' })).status).toBe(400);
  });
});

describe('the requests of a client', () => {
  test.each([
    ['another path', 'http://acme.localhost:8787/api/auth/callback/'],
    ['another host', 'http://beta.localhost:8787/api/auth/callback'],
    ['another client’s URI', other.redirectUris[0] ?? ''],
    ['none at all', ''],
  ])('a redirect URI with %s is refused on a page, without a redirect', async (_what, redirectUri) => {
    const issuer = await start();
    const { url } = authorizationRequest(issuer, client, { redirect_uri: redirectUri });
    const response = await makeBrowser(issuer).get(url);
    expect(response.status).toBe(400);
    expect(response.headers.get('location')).toBeNull();
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await response.text()).toContain('This sign-in cannot go on');
  });

  test.each([
    ['no code challenge', { code_challenge: '', code_challenge_method: '' }],
    ['a plain code challenge', { code_challenge_method: 'plain' }],
  ])('%s is refused', async (_what, extra) => {
    const issuer = await start();
    const { url } = authorizationRequest(issuer, client, extra);
    expect(destinationOf(await makeBrowser(issuer).get(url)).searchParams.get('error')).toBe(
      'invalid_request',
    );
  });

  test('a wrong verifier or a wrong secret gets no token', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    await signIn(issuer, client, { browser, login: 'ada' });
    const { url, verifier } = authorizationRequest(issuer, client);
    const code = destinationOf(await browser.get(url)).searchParams.get('code') ?? '';
    const wrongSecret = await redeemCode(issuer, { ...client, clientSecret: 'guess' }, { code, verifier });
    expect(wrongSecret.status).toBe(401);
    const wrongVerifier = await redeemCode(issuer, client, { code, verifier: 'x'.repeat(43) });
    expect(await wrongVerifier.json()).toMatchObject({ error: 'invalid_grant' });
  });

  test('a redirect URI added at run time is valid at once, and a removed one is refused', async () => {
    const issuer = await start();
    const added = { redirect_uri: 'http://beta.localhost:8787/api/auth/callback' };
    const browser = makeBrowser(issuer);
    expect((await browser.get(authorizationRequest(issuer, client, added).url)).status).toBe(400);

    await issuer.putClient({ ...client, redirectUris: [added.redirect_uri] });
    expect((await browser.get(authorizationRequest(issuer, client, added).url)).status).toBe(200);
    expect((await browser.get(authorizationRequest(issuer, client).url)).status).toBe(400);
  });

  test('a client refused at run time leaves the earlier one in place', async () => {
    const issuer = await start();
    await expect(issuer.putClient({ ...client, redirectUris: [] })).rejects.toMatchObject({
      code: 'client_invalid',
    });
    expect((await makeBrowser(issuer).get(authorizationRequest(issuer, client).url)).status).toBe(200);
  });

  test('an RS256 client gets ID tokens signed with RS256', async () => {
    const issuer = await start({ clients: [{ ...client, idTokenAlg: 'RS256' }] });
    const tokens = await signIn(issuer, client, { browser: makeBrowser(issuer), login: 'ada' });
    expect(Buffer.from(tokens.id_token.split('.')[0] ?? '', 'base64url').toString()).toContain('RS256');
  });
});

describe('signing out', () => {
  const back = { post_logout_redirect_uri: 'http://acme.localhost:8787/', state: 'bye' };

  test('with the session’s ID token there is no question, and the next sign-in shows the page again', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const tokens = await signIn(issuer, client, { browser, login: 'ada' });
    const done = await browser.get(logoutUrl(issuer, { id_token_hint: tokens.id_token, ...back }));
    expect(destinationOf(done).href).toBe('http://acme.localhost:8787/?state=bye');

    const next = await browser.get(authorizationRequest(issuer, client).url);
    expect(next.status).toBe(200);
    expect(await next.text()).toContain('Sign in to');
    const userinfo = await fetch(`${issuer.url}/me`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(userinfo.status).toBe(401);
  });

  test('an unredeemed code ends with the session, a refresh token for offline access does not', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const { id_token: hint } = await signIn(issuer, client, { browser, login: 'ada' });
    const pending = authorizationRequest(issuer, client);
    const code = destinationOf(await browser.get(pending.url)).searchParams.get('code') ?? '';

    const offline = authorizationRequest(issuer, other, {
      prompt: 'consent',
      scope: 'openid offline_access',
    });
    const offlineCode = destinationOf(await browser.get(offline.url)).searchParams.get('code') ?? '';
    const redeemed = await redeemCode(issuer, other, { code: offlineCode, verifier: offline.verifier });
    const { refresh_token } = (await redeemed.json()) as { refresh_token: string };

    destinationOf(await browser.get(logoutUrl(issuer, { id_token_hint: hint, ...back })));
    expect((await redeemCode(issuer, client, { code, verifier: pending.verifier })).status).toBe(400);
    const refreshed = await fetch(`${issuer.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${other.clientId}:${other.clientSecret}`)}` },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token }),
    });
    expect(refreshed.status).toBe(200);
  });

  test('without a hint the page asks first, and the button signs out', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    await signIn(issuer, client, { browser, login: 'ada' });
    const page = await browser.get(logoutUrl(issuer, { client_id: 'acme', ...back }));
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain('http://acme.localhost:8787');
    const body = await page.text();
    expect(body).toContain('Ada Lovelace');
    expect(
      (await browser.get(authorizationRequest(issuer, client, { prompt: 'none' }).url)).headers.get(
        'location',
      ),
    ).toContain('code=');

    const asked = await (await browser.get(logoutUrl(issuer, { client_id: 'acme', ...back }))).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked)?.[1] ?? '';
    const done = await browser.post(formAction(asked), { xsrf, logout: 'yes' });
    expect(destinationOf(done).href).toBe('http://acme.localhost:8787/?state=bye');
    expect((await browser.get(authorizationRequest(issuer, client).url)).status).toBe(200);
  });

  test('a hint for another person’s session, or from a client not in the session, leads to the question', async () => {
    const issuer = await start();
    const ada = makeBrowser(issuer);
    const grace = makeBrowser(issuer);
    await signIn(issuer, client, { browser: ada, login: 'ada' });
    const graceTokens = await signIn(issuer, client, { browser: grace, login: 'grace' });
    const adaElsewhere = await signIn(issuer, other, { browser: makeBrowser(issuer), login: 'ada' });
    for (const hint of [graceTokens.id_token, adaElsewhere.id_token]) {
      const page = await ada.get(logoutUrl(issuer, { id_token_hint: hint }));
      expect(page.status).toBe(200);
      expect(await page.text()).toContain('Sign out?');
    }
  });

  test('an address that is not on the client’s list is refused', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const { id_token: hint } = await signIn(issuer, client, { browser, login: 'ada' });
    const uri = 'http://acme.localhost:8787/elsewhere';
    const response = await browser.get(
      logoutUrl(issuer, { id_token_hint: hint, post_logout_redirect_uri: uri }),
    );
    expect(response.status).toBe(400);
    expect(response.headers.get('location')).toBeNull();
  });

  test('signing out twice needs neither a script nor a click', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    const tokens = await signIn(issuer, client, { browser, login: 'ada' });
    const url = logoutUrl(issuer, { id_token_hint: tokens.id_token, ...back });
    await browser.get(url);
    expect(destinationOf(await browser.get(url)).href).toBe('http://acme.localhost:8787/?state=bye');
    const bare = await browser.get(logoutUrl(issuer, {}));
    expect(await bare.text()).toContain('You are signed out');
  });

  test('the front page names the signed-in person, and leads to signing out', async () => {
    const issuer = await start();
    const browser = makeBrowser(issuer);
    expect(await (await browser.get('/')).text()).toContain('You are not signed in');
    await signIn(issuer, client, { browser, login: 'ada' });
    const body = await (await browser.get('/')).text();
    expect(body).toContain('You are Ada Lovelace');
    expect(body).toContain('href="/session/end"');
  });

  test('an application is told over the back channel when the session ends, or another person signs in', async () => {
    const received: URLSearchParams[] = [];
    const receiver = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      received.push(new URLSearchParams(body));
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => new Promise((resolve) => receiver.close(() => resolve())));
    const backchannelLogoutUri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/backchannel`;
    const issuer = await start({ clients: [{ ...client, backchannelLogoutUri }] });
    const browser = makeBrowser(issuer);

    const first = await signIn(issuer, client, { browser, login: 'ada' });
    const { url } = authorizationRequest(issuer, client, { prompt: 'select_account' });
    await browser.post(formAction(await (await browser.get(url)).text()), { login: 'grace' });
    expect(received).toHaveLength(1);
    expect(claimsOf(received[0]?.get('logout_token') ?? '')).toMatchObject({
      iss: issuer.url,
      aud: 'acme',
      sub: 'ada',
      sid: claimsOf(first.id_token).sid,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });

    await makeBrowser(issuer).get(logoutUrl(issuer, {}));
    expect(received).toHaveLength(1);
    const page = await (await browser.get(logoutUrl(issuer, {}))).text();
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    await browser.post(formAction(page), { xsrf, logout: 'yes' });
    expect(claimsOf(received[1]?.get('logout_token') ?? '')).toMatchObject({ sub: 'grace' });
  });

  describe('of one client that stands for several applications', () => {
    const PATH = '/api/auth/backchannel-logout';

    /** An application that receives sign-outs, and answers them with a status. */
    async function listen(status = 200): Promise<{ origin: string; heard: Record<string, unknown>[] }> {
      const heard: Record<string, unknown>[] = [];
      const server = createServer(async (request, response) => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        heard.push(claimsOf(new URLSearchParams(body).get('logout_token') ?? ''));
        response.writeHead(request.url === PATH ? status : 404).end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      cleanups.push(() => new Promise((resolve) => server.close(() => resolve())));
      return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
    }
    const clientOf = (origins: readonly string[]): IssuerClient => ({
      ...client,
      redirectUris: origins.map((origin) => `${origin}/api/auth/callback`),
      postLogoutRedirectUris: origins.map((origin) => `${origin}/`),
      backchannelLogoutUri: origins.map((origin) => `${origin}${PATH}`),
    });
    /** Goes on to another application, as a signed-in person does. */
    const goOn = async (issuer: Issuer, browser: ReturnType<typeof makeBrowser>, origin: string) => {
      const extra = { redirect_uri: `${origin}/api/auth/callback` };
      const { url } = authorizationRequest(issuer, clientOf([origin]), extra);
      expect(destinationOf(await browser.get(url)).origin).toBe(origin);
    };
    const signOut = async (issuer: Issuer, browser: ReturnType<typeof makeBrowser>) => {
      const page = await (await browser.get(logoutUrl(issuer, {}))).text();
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
      await browser.post(formAction(page), { xsrf, logout: 'yes' });
    };

    test('those receive it that the person signed in to, and no others', async () => {
      const [first, second, third] = [await listen(), await listen(), await listen()];
      const registered = clientOf([first.origin, second.origin, third.origin]);
      const issuer = await start({ clients: [registered] });
      const [browser, elsewhere] = [makeBrowser(issuer), makeBrowser(issuer)];
      const { id_token } = await signIn(issuer, registered, { browser, login: 'ada' });
      await goOn(issuer, browser, third.origin);
      const away = clientOf([second.origin]);
      await signIn(issuer, away, { browser: elsewhere, login: 'grace' });

      await signOut(issuer, browser);
      const { sid } = claimsOf(id_token);
      const told = { iss: issuer.url, aud: 'acme', sub: 'ada', sid };
      expect(first.heard).toMatchObject([told]);
      expect(second.heard).toEqual([]);
      expect(third.heard).toMatchObject([told]);
      await signOut(issuer, elsewhere);
      expect(second.heard).toMatchObject([{ sub: 'grace' }]);
      expect(first.heard).toHaveLength(1);
    });

    test('with the hint of one of them, they receive it as well', async () => {
      const [first, second] = [await listen(), await listen()];
      const registered = clientOf([first.origin, second.origin]);
      const issuer = await start({ clients: [registered] });
      const browser = makeBrowser(issuer);
      const { id_token } = await signIn(issuer, registered, { browser, login: 'ada' });
      await goOn(issuer, browser, second.origin);
      const signedOut = await browser.get(
        logoutUrl(issuer, { id_token_hint: id_token, post_logout_redirect_uri: `${first.origin}/` }),
      );
      expect(destinationOf(signedOut).href).toBe(`${first.origin}/`);
      expect([first.heard.length, second.heard.length]).toEqual([1, 1]);
    });

    test('one that cannot be reached is reported, and stops no other delivery', async () => {
      const [gone, failing, last] = ['http://127.0.0.1:1', await listen(500), await listen()];
      const registered = clientOf([gone, failing.origin, last.origin]);
      const issuer = await start({ clients: [registered] });
      const browser = makeBrowser(issuer);
      await signIn(issuer, registered, { browser, login: 'ada' });
      for (const { origin } of [failing, last]) await goOn(issuer, browser, origin);
      await signOut(issuer, browser);
      expect(last.heard).toMatchObject([{ sub: 'ada' }]);
      const reported = faults.splice(0).map((fault) => (fault as Error).message);
      expect(reported.sort()).toEqual(
        [gone, failing.origin].map((origin) => `${origin}${PATH} could not be told of a sign-out.`).sort(),
      );
    });

    test('one that is added at run time receives the next sign-out, and a removed one does not', async () => {
      const [first, second, third] = [await listen(), await listen(), await listen()];
      const issuer = await start({ clients: [clientOf([first.origin, second.origin])] });
      const browser = makeBrowser(issuer);
      await signIn(issuer, clientOf([first.origin]), { browser, login: 'ada' });
      await goOn(issuer, browser, second.origin);
      await issuer.putClient(clientOf([first.origin, third.origin]));
      await goOn(issuer, browser, third.origin);
      await signOut(issuer, browser);
      expect([first, second, third].map(({ heard }) => heard.length)).toEqual([1, 0, 1]);
    });

    test.each([
      ['at an origin without a redirect URI', 'http://other.localhost:8787/logout'],
      ['that is no address', 'logout'],
      ['with a fragment', 'http://acme.localhost:8787/logout#here'],
    ])('an address %s is refused', async (_, stray) => {
      const issuer = await start();
      const backchannelLogoutUri = [`http://acme.localhost:8787${PATH}`, stray];
      await expect(issuer.putClient({ ...client, backchannelLogoutUri })).rejects.toMatchObject({
        code: 'client_invalid',
        message: expect.stringContaining(stray),
      });
    });
  });
});
