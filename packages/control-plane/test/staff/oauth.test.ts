/** The authorization server, refusal by refusal, and the way of a program to a token and back. */
import { describe, expect, test } from 'vitest';
import {
  allow,
  authorization,
  exchange,
  ORIGIN,
  openFixture,
  ownPage,
  signedIn,
  tokenOf,
} from './fixture.ts';

async function withAda(role: 'admin' | 'operator' | 'auditor' = 'operator') {
  const fixture = await openFixture();
  const ada = await signedIn(fixture, 'ada', role);
  return { fixture, ada };
}

const query = (fields: Record<string, string>) => `/oauth/authorize?${new URLSearchParams(fields)}`;
const cookie = { headers: { cookie: 'who=ada' } };
const locationOf = (response: Response) => new URL(response.headers.get('location') ?? '', ORIGIN);
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('RFC 8414 and 9728: the metadata', () => {
  test('names every endpoint under the own origin, whatever the request was sent to', async () => {
    const { fixture } = await withAda();
    const response = await fixture.send(
      new Request('http://other.test/.well-known/oauth-authorization-server'),
    );
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/oauth/authorize`,
      token_endpoint: `${ORIGIN}/oauth/token`,
      device_authorization_endpoint: `${ORIGIN}/oauth/device_authorization`,
      revocation_endpoint: `${ORIGIN}/oauth/revoke`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: [
        'none',
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
      ],
      registration_endpoint: `${ORIGIN}/oauth/register`,
      client_id_metadata_document_supported: true,
    });
    const resource = await fixture.ask('/.well-known/oauth-protected-resource/mcp');
    expect(await resource.json()).toMatchObject({
      resource: `${ORIGIN}/mcp`,
      authorization_servers: [ORIGIN],
    });
  });

  test('without staff names no authorization server, and there is none', async () => {
    const fixture = await openFixture({ staff: undefined as never });
    const resource = await fixture.ask('/.well-known/oauth-protected-resource');
    expect(await resource.json()).not.toHaveProperty('authorization_servers');
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/oauth/authorize',
      '/oauth/token',
      '/device',
    ])
      expect((await fixture.ask(path)).status).toBe(404);
  });
});

describe('RFC 6749 4.1: the authorization endpoint', () => {
  test('asks the signed-in member, names the program and where it waits, and cannot be framed', async () => {
    const { fixture } = await withAda();
    const response = await fixture.ask(query(authorization), cookie);
    const page = await response.text();
    expect(page).toContain('The Freehold command line asks to act for you');
    expect(page).toContain('127.0.0.1:4711');
    expect(page).toContain('ada, operator');
    expect(page).not.toMatch(/<script|https?:\/\/(?!127)/);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:4711");
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test('sends a person without a session to sign in first, and back', async () => {
    const { fixture } = await withAda();
    const location = locationOf(await fixture.ask(query(authorization)));
    expect(location.pathname).toBe('/api/auth/login');
    expect(location.searchParams.get('returnTo')).toBe(query(authorization));
    const long = await fixture.ask(query({ ...authorization, state: 's'.repeat(500) }));
    expect(locationOf(long).searchParams.get('error')).toBe('invalid_request');
  });

  test('shows what it is told as text', async () => {
    const { fixture } = await withAda();
    const state = '"><script>alert(1)</script>';
    const page = await (await fixture.ask(query({ ...authorization, state }), cookie)).text();
    expect(page).not.toContain('<script>');
  });

  test.each([
    ['no client', { client_id: '' }],
    ['an unknown client', { client_id: 'evil' }],
    ['a client of a prototype', { client_id: 'constructor' }],
    ['no redirect address', { redirect_uri: '' }],
    ['one elsewhere', { redirect_uri: 'https://evil.example/callback' }],
    ['one elsewhere that looks like here', { redirect_uri: 'http://127.0.0.1.evil.example/callback' }],
    ['one with a user name before the at sign', { redirect_uri: 'http://127.0.0.1:80@evil.example/' }],
    ['a loopback one by name', { redirect_uri: 'http://localhost:4711/callback' }],
    ['a loopback one over TLS', { redirect_uri: 'https://127.0.0.1:4711/callback' }],
    ['one with a fragment', { redirect_uri: 'http://127.0.0.1:4711/callback#' }],
    ['one that is written oddly', { redirect_uri: 'http://2130706433:4711/callback' }],
    ['one with a backslash', { redirect_uri: 'http:\\\\127.0.0.1:4711' }],
    ['one with a line feed', { redirect_uri: 'http://127.0.0.1:4711/\nx' }],
  ])('with %s answers a page, and redirects no browser', async (_, more) => {
    const { fixture } = await withAda();
    for (const response of [
      await fixture.ask(query({ ...authorization, ...more }), cookie),
      await fixture.post(
        '/oauth/authorize',
        { ...authorization, ...more, decision: 'allow' },
        ownPage('ada'),
      ),
    ]) {
      expect(response.status).toBe(400);
      expect(response.headers.has('location')).toBe(false);
      expect(response.headers.get('content-type')).toContain('text/html');
      expect(await response.text()).not.toContain('evil');
    }
  });

  test.each([
    ['unsupported_response_type', { response_type: 'token' }],
    ['unsupported_response_type', { response_type: '' }],
    ['invalid_request', { response_mode: 'fragment' }],
    ['invalid_request', { code_challenge: '' }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge_method: '' }],
    ['invalid_request', { code_challenge: 'short' }],
    ['invalid_target', { resource: 'https://other.example/mcp' }],
  ])('tells the program %s for %j, with its state and who says so', async (error, more) => {
    const { fixture } = await withAda();
    const location = locationOf(await fixture.ask(query({ ...authorization, ...more }), cookie));
    expect(location.origin + location.pathname).toBe(authorization.redirect_uri);
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      error,
      state: authorization.state,
      iss: ORIGIN,
    });
  });

  test('refuses a parameter that is there twice', async () => {
    const { fixture } = await withAda();
    const twice = `${query(authorization)}&code_challenge=${'A'.repeat(43)}`;
    expect(locationOf(await fixture.ask(twice, cookie)).searchParams.get('error')).toBe('invalid_request');
    const clients = `${query(authorization)}&client_id=freehold-mcp`;
    expect((await fixture.ask(clients, cookie)).status).toBe(400);
  });

  test.each(['http://127.0.0.1/', 'http://127.0.0.1:1?x=y', 'http://[::1]:65535/a/b'])(
    'sends a code to %s',
    async (redirect_uri) => {
      const { fixture } = await withAda();
      const form = { ...authorization, redirect_uri, decision: 'allow' };
      const response = await fixture.post('/oauth/authorize', form, ownPage('ada'));
      expect(response.status).toBe(303);
      expect(locationOf(response).href.startsWith(new URL(redirect_uri).href)).toBe(true);
      expect(locationOf(response).searchParams.get('code')).toMatch(/^[0-9a-f]{64}$/);
      expect(locationOf(response).searchParams.get('iss')).toBe(ORIGIN);
    },
  );

  test('a no is told to the program', async () => {
    const { fixture } = await withAda();
    for (const decision of ['deny', '']) {
      const response = await fixture.post('/oauth/authorize', { ...authorization, decision }, ownPage('ada'));
      expect(locationOf(response).searchParams.get('error')).toBe('access_denied');
      expect(locationOf(response).searchParams.has('code')).toBe(false);
    }
  });

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling host', { 'sec-fetch-site': 'same-site' }],
    ['an unknown place', {}],
    ['another origin, in an older browser', { origin: 'http://acme.localhost:8787' }],
  ])('a yes that comes from %s is none', async (_, headers) => {
    const { fixture } = await withAda();
    const form = { ...authorization, decision: 'allow' };
    const response = await fixture.post('/oauth/authorize', form, { cookie: 'who=ada', ...headers });
    expect(response.status).toBe(403);
    expect(response.headers.has('location')).toBe(false);
  });

  test('a consent after the end of the session asks again', async () => {
    const { fixture, ada } = await withAda();
    await fixture.ask(`/staff/${ada.id}`, { method: 'DELETE', ...bearer(fixture.secret) });
    const response = await fixture.post(
      '/oauth/authorize',
      { ...authorization, decision: 'allow' },
      ownPage('ada'),
    );
    expect(locationOf(response).pathname).toBe('/api/auth/login');
  });
});

describe('RFC 6749 4.1.3 and 5: the token endpoint', () => {
  test('gives a token that acts for its member, and is never stored on the way', async () => {
    const { fixture, ada } = await withAda();
    const response = await fixture.post('/oauth/token', exchange(await allow(fixture, 'ada')));
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const body = (await response.json()) as { access_token: string };
    expect(body).toEqual({
      access_token: expect.stringMatching(/^fh_staff_/),
      token_type: 'Bearer',
      expires_in: 30 * 24 * 60 * 60,
      scope: 'staff',
    });
    const me = await fixture.ask('/auth/me', bearer(body.access_token));
    expect(await me.json()).toEqual({
      kind: 'staff',
      id: ada.id,
      name: 'ada',
      role: 'operator',
      tenant: null,
    });
  });

  test.each([
    ['invalid_client', 401, { client_id: '' }],
    ['invalid_client', 401, { client_id: 'evil' }],
    ['invalid_client', 401, { client_secret: 'guessed' }],
    ['invalid_request', 400, { grant_type: '' }],
    ['unsupported_grant_type', 400, { grant_type: 'refresh_token' }],
    ['unsupported_grant_type', 400, { grant_type: 'client_credentials' }],
    ['unsupported_grant_type', 400, { grant_type: 'password' }],
    ['invalid_request', 400, { code: '' }],
    ['invalid_request', 400, { redirect_uri: '' }],
    ['invalid_request', 400, { code_verifier: '' }],
    ['invalid_target', 400, { resource: 'https://other.example' }],
    ['invalid_grant', 400, { code: 'x' }],
    ['invalid_grant', 400, { client_id: 'freehold-mcp' }],
    ['invalid_grant', 400, { redirect_uri: 'http://127.0.0.1:4712/callback' }],
    ['invalid_grant', 400, { code_verifier: 'b'.repeat(43) }],
  ])('answers %s (%i) to %j', async (error, status, more) => {
    const { fixture } = await withAda();
    const response = await fixture.post('/oauth/token', {
      ...exchange(await allow(fixture, 'ada')),
      ...more,
    });
    expect(response.status).toBe(status);
    expect(response.headers.get('cache-control')).toBe('no-store');
    if (status === 401) expect(response.headers.get('www-authenticate')).toContain('Basic');
    expect(await response.json()).toEqual({ error, error_description: expect.any(String) });
    expect(fixture.incidents).toEqual([]);
  });

  test('refuses what is no small form, and credentials of any kind', async () => {
    const { fixture } = await withAda();
    const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const errorOf = async (response: Promise<Response>) =>
      ((await (await response).json()) as { error: string }).error;
    expect(await errorOf(fixture.ask('/oauth/token', json))).toBe('invalid_request');
    expect(await errorOf(fixture.post('/oauth/token', { code: 'x'.repeat(17_000) }))).toBe('invalid_request');
    const form = exchange(await allow(fixture, 'ada'));
    const twice = new URLSearchParams([...Object.entries(form), ['code', 'y']]);
    expect(await errorOf(fixture.post('/oauth/token', twice))).toBe('invalid_request');
    const basic = { authorization: `Basic ${btoa('freehold-cli:')}` };
    expect(await errorOf(fixture.post('/oauth/token', form, basic))).toBe('invalid_client');
    const get = await fixture.ask('/oauth/token');
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
  });

  test('a code is taken once, and a second time takes the token back', async () => {
    const { fixture } = await withAda();
    const form = exchange(await allow(fixture, 'ada'));
    const { access_token } = (await (await fixture.post('/oauth/token', form)).json()) as {
      access_token: string;
    };
    expect((await fixture.ask('/auth/me', bearer(access_token))).status).toBe(200);
    expect(await (await fixture.post('/oauth/token', form)).json()).toMatchObject({ error: 'invalid_grant' });
    expect((await fixture.ask('/auth/me', bearer(access_token))).status).toBe(401);
  });

  test('a code is over after a minute', async () => {
    const { fixture } = await withAda();
    const code = await allow(fixture, 'ada');
    fixture.clock.ms += 60_000;
    expect(await (await fixture.post('/oauth/token', exchange(code))).json()).toMatchObject({
      error: 'invalid_grant',
    });
  });
});

describe('spec 5.5: a token never exceeds its owner', () => {
  test('the role is looked up with each request, and the roster too', async () => {
    const { fixture, ada } = await withAda('operator');
    const token = await tokenOf(fixture, 'ada');
    const create = (slug: string) =>
      fixture.ask('/tenants', {
        method: 'POST',
        headers: { ...bearer(token).headers, 'content-type': 'application/json' },
        body: JSON.stringify({ slug, name: slug }),
      });
    expect((await create('one')).status).toBe(201);
    await fixture.invite('ada', 'auditor');
    const refused = await create('two');
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ reason: 'role_insufficient' });
    expect((await fixture.ask('/tenants', bearer(token))).status).toBe(200);
    await fixture.ask(`/staff/${ada.id}`, { method: 'DELETE', ...bearer(fixture.secret) });
    expect((await fixture.ask('/tenants', bearer(token))).status).toBe(401);
    expect((await fixture.ask('/tenants', cookie)).status).toBe(401);
  });
});

describe('RFC 7009: revocation', () => {
  test('ends a token for any holder, says 200 to any other secret, and wants a token', async () => {
    const { fixture } = await withAda();
    const token = await tokenOf(fixture, 'ada');
    const revoke = (form: Record<string, string>) =>
      fixture.post('/oauth/revoke', { client_id: 'freehold-cli', ...form });
    expect((await revoke({ token: 'fh_staff_unknown' })).status).toBe(200);
    expect((await revoke({ token: fixture.secret })).status).toBe(200);
    expect((await fixture.ask('/auth/me', bearer(fixture.secret))).status).toBe(200);
    expect((await revoke({ token, token_type_hint: 'access_token' })).status).toBe(200);
    expect((await fixture.ask('/auth/me', bearer(token))).status).toBe(401);
    expect((await revoke({ token })).status).toBe(200);
    expect((await revoke({})).status).toBe(400);
    expect((await fixture.adminLog()).at(-1)).toMatchObject({ action: 'staff-tokens.revoke' });
  });
});

describe('RFC 8628: a program without a browser', () => {
  const begin = async (fixture: Awaited<ReturnType<typeof openFixture>>) =>
    (await (
      await fixture.post('/oauth/device_authorization', { client_id: 'freehold-cli' })
    ).json()) as Record<
      'device_code' | 'user_code' | 'verification_uri' | 'verification_uri_complete',
      string
    > & { expires_in: number; interval: number };
  const poll = async (fixture: Awaited<ReturnType<typeof openFixture>>, device_code: string) =>
    (await (
      await fixture.post('/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'freehold-cli',
        device_code,
      })
    ).json()) as Record<string, string>;

  test('is connected by a member who types its code and sees what asks', async () => {
    const { fixture } = await withAda();
    const device = await begin(fixture);
    expect(device).toMatchObject({ verification_uri: `${ORIGIN}/device`, expires_in: 600, interval: 5 });
    expect(device.verification_uri_complete).toBe(`${ORIGIN}/device?user_code=${device.user_code}`);
    expect(await poll(fixture, device.device_code)).toMatchObject({ error: 'authorization_pending' });
    expect(await poll(fixture, device.device_code)).toMatchObject({ error: 'slow_down' });
    const typing = await fixture.ask(`/device?user_code=${device.user_code}`, cookie);
    expect(await typing.text()).toContain(`value="${device.user_code}"`);
    const answer = (decision: string) =>
      fixture.post('/device', { user_code: device.user_code.toLowerCase(), decision }, ownPage('ada'));
    const asked = await (await answer('look')).text();
    expect(asked).toContain('The Freehold command line asks to act for you');
    expect(asked).toContain(device.user_code);
    expect(await (await answer('approve')).text()).toContain('The program is connected');
    fixture.clock.ms += 10_000;
    const { access_token = '' } = await poll(fixture, device.device_code);
    expect((await fixture.ask('/auth/me', bearer(access_token))).status).toBe(200);
    expect(await poll(fixture, device.device_code)).toMatchObject({ error: 'invalid_grant' });
  });

  test('is refused', async () => {
    const { fixture } = await withAda();
    const { device_code, user_code } = await begin(fixture);
    await fixture.post('/device', { user_code, decision: 'deny' }, ownPage('ada'));
    expect(await poll(fixture, device_code)).toMatchObject({ error: 'access_denied' });
  });

  test('waits in vain for ten minutes', async () => {
    const { fixture } = await withAda();
    const { device_code, user_code } = await begin(fixture);
    fixture.clock.ms += 600_000;
    const late = await fixture.post('/device', { user_code, decision: 'approve' }, ownPage('ada'));
    expect(late.status).toBe(400);
    expect(await poll(fixture, device_code)).toMatchObject({ error: 'expired_token' });
  });

  test('is unknown, or there are too many', async () => {
    const { fixture } = await withAda();
    const unknown = await fixture.post('/oauth/device_authorization', { client_id: 'evil' });
    expect([unknown.status, await unknown.json()]).toMatchObject([401, { error: 'invalid_client' }]);
    const missing = await fixture.post('/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'freehold-cli',
    });
    expect(await missing.json()).toMatchObject({ error: 'invalid_request' });
  });

  test('its code cannot be guessed, nor approved from another site or by a stranger', async () => {
    const { fixture } = await withAda();
    const { device_code, user_code } = await begin(fixture);
    const outsider = await fixture.post(
      '/device',
      { user_code, decision: 'approve' },
      { 'sec-fetch-site': 'same-origin' },
    );
    expect(locationOf(outsider).pathname).toBe('/api/auth/login');
    const foreign = { cookie: 'who=ada', 'sec-fetch-site': 'cross-site' };
    expect((await fixture.post('/device', { user_code, decision: 'approve' }, foreign)).status).toBe(403);
    const type = (code: string) =>
      fixture.post('/device', { user_code: code, decision: 'approve' }, ownPage('ada'));
    for (let i = 0; i < 10; i++) expect((await type('BBBB-BBBB')).status).toBe(400);
    expect((await type(user_code)).status).toBe(429);
    expect(await poll(fixture, device_code)).toMatchObject({ error: 'authorization_pending' });
  });
});
