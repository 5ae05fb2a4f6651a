/** The authorization server against the RFCs that it names, where `oauth.test.ts` goes over its own refusals. */
import { describe, expect, test } from 'vitest';
import { controlPlaneApp } from '../../src/index.ts';
import {
  allow,
  authorization,
  exchange,
  type Fixture,
  ORIGIN,
  openFixture,
  ownPage,
  signedIn,
  tokenOf,
} from './fixture.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

async function withAda() {
  const fixture = await openFixture();
  await signedIn(fixture, 'ada', 'operator');
  return fixture;
}

interface Metadata {
  readonly issuer: string;
  readonly grant_types_supported: readonly string[];
  readonly response_types_supported: readonly string[];
  readonly response_modes_supported: readonly string[];
  readonly code_challenge_methods_supported: readonly string[];
  readonly [member: string]: unknown;
}

const metadataOf = async (fixture: Fixture) =>
  (await (await fixture.ask('/.well-known/oauth-authorization-server')).json()) as Metadata;

const query = (fields: Record<string, string>) => `/oauth/authorize?${new URLSearchParams(fields)}`;
const locationOf = (response: Response) => new URL(response.headers.get('location') ?? '', ORIGIN);
const asAda = { headers: { cookie: 'who=ada' } };
const errorOf = async (response: Response) => ((await response.json()) as { error: string }).error;
const decide = (fixture: Fixture, more: Record<string, string> = {}) =>
  fixture.post('/oauth/authorize', { ...authorization, ...more, decision: 'allow' }, ownPage('ada'));
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe('RFC 8414: what the metadata says is what is served', () => {
  test('every endpoint is there, under the issuer', async () => {
    const fixture = await withAda();
    const metadata = await metadataOf(fixture);
    const endpoints = Object.entries(metadata).filter(([name]) => name.endsWith('_endpoint'));
    expect(endpoints.map(([name]) => name).sort()).toEqual([
      'authorization_endpoint',
      'device_authorization_endpoint',
      'registration_endpoint',
      'revocation_endpoint',
      'token_endpoint',
    ]);
    for (const [name, url] of endpoints) {
      expect(new URL(String(url)).origin).toBe(metadata.issuer);
      const response = await fixture.ask(String(url), { method: 'PROPFIND' });
      expect([name, response.status]).toEqual([name, 405]);
    }
  });

  test('every grant that it names is given, and no other', async () => {
    const fixture = await withAda();
    const { grant_types_supported } = await metadataOf(fixture);
    const errorFor = async (grant_type: string) =>
      errorOf(await fixture.post('/oauth/token', { grant_type, client_id: 'freehold-cli' }));
    // Staff tokens are not refreshed: that grant is of programs with a registration (`programs.test.ts`).
    for (const grant of grant_types_supported.filter((each) => each !== 'refresh_token'))
      expect([grant, await errorFor(grant)]).toEqual([grant, 'invalid_request']);
    for (const grant of ['implicit', 'password', 'client_credentials', 'refresh_token', 'constructor'])
      expect([grant, await errorFor(grant)]).toEqual([grant, 'unsupported_grant_type']);
  });

  test('every form of a request that it names is taken', async () => {
    const fixture = await withAda();
    const metadata = await metadataOf(fixture);
    for (const response_type of metadata.response_types_supported)
      for (const response_mode of metadata.response_modes_supported)
        for (const code_challenge_method of metadata.code_challenge_methods_supported) {
          const fields = { ...authorization, response_type, response_mode, code_challenge_method };
          expect((await fixture.ask(query(fields), asAda)).status).toBe(200);
        }
  });

  test('its issuer is the iss of every answer (RFC 9207, section 2.4)', async () => {
    const fixture = await withAda();
    const { issuer, authorization_response_iss_parameter_supported } = await metadataOf(fixture);
    expect(authorization_response_iss_parameter_supported).toBe(true);
    const answers = [
      await decide(fixture),
      await fixture.post('/oauth/authorize', { ...authorization, decision: 'deny' }, ownPage('ada')),
      await fixture.ask(query({ ...authorization, response_type: 'token' }), asAda),
    ];
    for (const answer of answers) expect(locationOf(answer).searchParams.getAll('iss')).toEqual([issuer]);
  });
});

describe('RFC 6749 4.1.2 and RFC 8252: where an answer goes', () => {
  test.each(['of the program', 'a&b=c d+e%20f', '"><script>', 'ünï', ''])(
    'the state %j comes back as it was',
    async (state) => {
      const fixture = await withAda();
      const location = locationOf(await decide(fixture, { state }));
      expect(location.searchParams.getAll('state')).toEqual([state]);
    },
  );

  test('without a state none comes back, and of two neither', async () => {
    const fixture = await withAda();
    const { state: _, ...stateless } = authorization;
    const form = { ...stateless, decision: 'allow' };
    const none = locationOf(await fixture.post('/oauth/authorize', form, ownPage('ada')));
    expect([none.searchParams.has('code'), none.searchParams.has('state')]).toEqual([true, false]);
    const two = locationOf(await fixture.ask(`${query(authorization)}&state=other`, asAda));
    expect(two.searchParams.get('error')).toBe('invalid_request');
    expect(two.searchParams.has('state')).toBe(false);
  });

  test('at any port and path of this machine, with the program’s own query byte by byte', async () => {
    const fixture = await withAda();
    for (const redirect_uri of [
      'http://127.0.0.1:1/a?b=c%20d&e=%2Bf&g',
      'http://[::1]:65535/',
      'http://127.0.0.1/callback',
    ]) {
      const location = (await decide(fixture, { redirect_uri })).headers.get('location') ?? '';
      expect(location.startsWith(`${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}code=`)).toBe(true);
    }
  });

  test.each(['code=stolen', 'state=x', 'iss=https://evil.example', 'error=x', '%63ode=stolen'])(
    'nowhere for an address that answers itself already: %s',
    async (search) => {
      const fixture = await withAda();
      const response = await decide(fixture, { redirect_uri: `http://127.0.0.1:4711/callback?${search}` });
      expect([response.status, response.headers.has('location')]).toEqual([400, false]);
    },
  );

  test.each([
    ['a longer path', '/callback/'],
    ['another path', '/Callback'],
    ['a query', '/callback?'],
    ['another spelling', '/%63allback'],
  ])('a code is for the exact address that it was sent to, not for %s', async (_, path) => {
    const fixture = await withAda();
    const form = { ...exchange(await allow(fixture, 'ada')), redirect_uri: `http://127.0.0.1:4711${path}` };
    expect(await errorOf(await fixture.post('/oauth/token', form))).toBe('invalid_grant');
  });

  test('by a redirect that sends no form on, and that names no page (RFC 9700, sections 4.2.4 and 4.12)', async () => {
    const fixture = await withAda();
    const response = await decide(fixture);
    expect(response.status).toBe(303);
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

describe('RFC 6749 4.1.2 and RFC 9700 2.1.1: a code', () => {
  test('that is used again by a program without the verifier revokes the token all the same', async () => {
    const fixture = await withAda();
    const form = exchange(await allow(fixture, 'ada'));
    const { access_token } = (await (await fixture.post('/oauth/token', form)).json()) as Record<
      string,
      string
    >;
    const again = { ...form, code_verifier: 'b'.repeat(43), client_id: 'freehold-mcp' };
    expect(await errorOf(await fixture.post('/oauth/token', again))).toBe('invalid_grant');
    expect((await fixture.ask('/auth/me', bearer(access_token ?? ''))).status).toBe(401);
  });

  test('gives nothing without its verifier, and cannot be asked for without a challenge', async () => {
    const fixture = await withAda();
    const { code_verifier: _, ...without } = exchange(await allow(fixture, 'ada'));
    expect(await errorOf(await fixture.post('/oauth/token', without))).toBe('invalid_request');
    const { code_challenge: __, code_challenge_method: ___, ...plain } = authorization;
    const asked = locationOf(await fixture.ask(query(plain), asAda));
    expect(asked.searchParams.get('error')).toBe('invalid_request');
  });

  test('and a token are never taken from an address', async () => {
    const fixture = await withAda();
    const form = exchange(await allow(fixture, 'ada'));
    const inQuery = await fixture.ask(`/oauth/token?${new URLSearchParams(form)}`, { method: 'POST' });
    expect(inQuery.status).toBe(400);
    const token = await tokenOf(fixture, 'ada');
    expect((await fixture.ask(`/auth/me?access_token=${token}`)).status).toBe(401);
    const posted = await fixture.post('/auth/me', { access_token: token });
    expect(posted.status).toBe(405);
  });
});

describe('RFC 6749 5: the token endpoint', () => {
  test('keeps no answer in any cache, and gives no refresh token', async () => {
    const fixture = await withAda();
    const given = await fixture.post('/oauth/token', exchange(await allow(fixture, 'ada')));
    const refused = await fixture.post('/oauth/token', { grant_type: 'x', client_id: 'freehold-cli' });
    const device = await fixture.post('/oauth/device_authorization', { client_id: 'freehold-cli' });
    for (const { headers } of [given, refused, device]) {
      expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    }
    expect(Object.keys((await given.json()) as object).sort()).toEqual([
      'access_token',
      'expires_in',
      'scope',
      'token_type',
    ]);
  });

  test('takes parameters that it does not know for nothing, and empty ones for none (section 3.2)', async () => {
    const fixture = await withAda();
    const form = { ...exchange(await allow(fixture, 'ada')), audience: 'x', resource: '', client_secret: '' };
    expect((await fixture.post('/oauth/token', form)).status).toBe(200);
  });

  test('ends a token for whichever program holds it: their names are no proof', async () => {
    const fixture = await withAda();
    const token = await tokenOf(fixture, 'ada');
    expect((await fixture.post('/oauth/revoke', { client_id: 'freehold-mcp', token })).status).toBe(200);
    expect((await fixture.ask('/auth/me', bearer(token))).status).toBe(401);
  });

  test.each(['/oauth/token', '/oauth/revoke', '/oauth/device_authorization', '/oauth/authorize', '/device'])(
    '%s answers no page of another origin',
    async (path) => {
      const fixture = await withAda();
      const origin = { origin: 'https://evil.example' };
      const preflight = { ...origin, 'access-control-request-method': 'POST' };
      for (const response of [
        await fixture.ask(path, { method: 'OPTIONS', headers: preflight }),
        await fixture.post(path, { client_id: 'freehold-cli' }, origin),
        await fixture.ask(path, { headers: { ...origin, ...asAda.headers } }),
      ])
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    },
  );
});

describe('RFC 8628: the device endpoints', () => {
  const begin = async (fixture: Fixture) =>
    (await (
      await fixture.post('/oauth/device_authorization', { client_id: 'freehold-cli' })
    ).json()) as Record<'device_code' | 'user_code', string> & { readonly interval: number };
  const poll = async (fixture: Fixture, device_code: string) =>
    errorOf(
      await fixture.post('/oauth/token', {
        grant_type: DEVICE_GRANT,
        client_id: 'freehold-cli',
        device_code,
      }),
    );

  test('a program that keeps to the interval is never slowed down; one that does not waits five seconds more, for good', async () => {
    const fixture = await withAda();
    const { device_code, interval } = await begin(fixture);
    for (let i = 0; i < 5; i++) {
      expect(await poll(fixture, device_code)).toBe('authorization_pending');
      fixture.clock.ms += interval * 1000;
    }
    await poll(fixture, device_code);
    expect(await poll(fixture, device_code)).toBe('slow_down');
    for (const [waitS, answer] of [
      [interval, 'slow_down'],
      [interval + 10, 'authorization_pending'],
      [interval + 10, 'authorization_pending'],
      [interval + 5, 'slow_down'],
    ] as const) {
      fixture.clock.ms += waitS * 1000;
      expect([waitS, await poll(fixture, device_code)]).toEqual([waitS, answer]);
    }
  });

  test('a source that begins often has its own oldest code give way, and no other’s', async () => {
    const fixture = await withAda();
    const app = controlPlaneApp({
      hostAdmin: fixture.hostAdmin,
      onIncident: (error) => {
        throw error;
      },
      now: () => fixture.clock.ms,
      newRequestId: () => 'req_1',
      origin: () => ORIGIN,
      staff: { signIns: fixture.hostAdmin.staff, relyingParty: () => null },
    });
    const beginFrom = async (clientAddress: string) => {
      const body = new URLSearchParams({ client_id: 'freehold-cli' });
      const request = new Request(`${ORIGIN}/oauth/device_authorization`, { method: 'POST', body });
      const response = await app.fetch(request, { clientAddress });
      expect(response.status).toBe(200);
      return ((await response.json()) as { device_code: string }).device_code;
    };
    const honest = await beginFrom('192.0.2.1');
    const first = await beginFrom('2001:db8::1');
    fixture.clock.ms += 1;
    for (let each = 0; each < 50; each++) await beginFrom(`2001:db8::${each}`);
    expect(await poll(fixture, honest)).toBe('authorization_pending');
    expect(await poll(fixture, first)).toBe('invalid_grant');
  });

  test('a member who types unknown codes is told when to come again', async () => {
    const fixture = await withAda();
    const type = () => fixture.post('/device', { user_code: 'BBBB-BBBB', decision: 'look' }, ownPage('ada'));
    for (let i = 0; i < 10; i++) {
      expect((await type()).status).toBe(400);
      fixture.clock.ms += 10_000;
    }
    const refused = await type();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '500']);
    expect(await refused.text()).toContain('Wait 9 minutes');
    fixture.clock.ms += 500_000;
    expect((await type()).status).toBe(400);
    expect((await type()).headers.get('retry-after')).toBe('10');
  });

  test('a member is limited whatever session they type in, because a new one costs nothing', async () => {
    const fixture = await withAda();
    const { user_code } = await begin(fixture);
    for (let i = 0; i < 10; i++) await fixture.post('/device', { user_code: 'BBBB-BBBB' }, ownPage('ada'));
    await fixture.hostAdmin.staff.signOut({ sid: 'sid-ada' });
    await signedIn(fixture, 'ada', 'operator');
    expect((await fixture.post('/device', { user_code }, ownPage('ada'))).status).toBe(429);
  });
});
