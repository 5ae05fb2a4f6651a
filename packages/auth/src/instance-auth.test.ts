/** From the delivered configuration of an instance to its provider: the table of spec 5.2, row by row. */
import type { EnvSpec } from '@freehold/contracts';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import { makeBrowser } from '../test/browser.ts';
import { accessClaims, type FakeIssuer, makeFakeIssuer } from '../test/fake-issuer.ts';
import { ISSUER, OTHER_SCOPE, openPlatform, SCOPE } from '../test/support.ts';
import { type InstanceAuthInput, instanceAuthFor } from './instance-auth.ts';
import type { AuthProvider } from './lib/subject.ts';
import { AuthConfigError } from './select-provider.ts';

const ORIGIN = 'https://app.example';
const choice = { mode: 'oidc', issuer: ISSUER, clientId: 'app' };
const declared: EnvSpec = {
  GREETING: { summary: 'What to say', default: 'hello' },
  AUTH_PROVIDER: { summary: 'How to sign in' },
  OIDC_ISSUER: { summary: 'Whose tokens count' },
};

async function open(delivered: Record<string, string> = {}, more: Partial<InstanceAuthInput> = {}) {
  const platform = await openPlatform();
  const issuer = await makeFakeIssuer(platform.clock);
  await platform.directory.putConfig({ scopeId: SCOPE, config: delivered });
  const runtime = { fetch: issuer.fetch, now: () => platform.clock.nowMs };
  const auth = await instanceAuthFor({
    directory: platform.directory,
    scopeId: SCOPE,
    envSpec: declared,
    env: {},
    runtime,
    ...more,
  });
  return { ...platform, issuer, runtime, auth };
}

/** The error of `provider()`. */
function configError(make: () => unknown): AuthConfigError {
  try {
    make();
  } catch (error) {
    if (error instanceof AuthConfigError) return error;
    throw error;
  }
  throw new Error('it was configured');
}

/** Signs in, and returns the client's proof at the token endpoint: null for a public client. */
async function presentedAtToken(provider: AuthProvider, issuer: FakeIssuer): Promise<string | null> {
  const browser = makeBrowser(ORIGIN, (request) => provider.handle(request));
  const login = await browser.get('/api/auth/login');
  await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
  const exchange = issuer.requests.find((request) => request.url.endsWith('/token'));
  if (!exchange) throw new Error('no code was exchanged');
  return exchange.authorization;
}

describe('A-09: the answer', () => {
  test('has what the spec names, and every secret that verifies', async () => {
    const { auth, directory } = await open();
    expect(Object.keys(auth).sort()).toEqual([
      'config',
      'identity',
      'provider',
      'sessionSecret',
      'sessionSecrets',
      'settings',
    ]);
    expect(auth.sessionSecrets).toEqual([await directory.sessionSecret()]);
  });

  test('A-10: identity is the delivered choice', async () => {
    const { auth } = await open({ 'platform:auth': JSON.stringify({ ...choice, extra: 1 }) });
    expect(auth.identity).toEqual(choice);
  });

  test.each<[string, string]>([
    ['no JSON', '{'],
    ['no object', '"oidc"'],
    ['null', 'null'],
    ['another mode', JSON.stringify({ ...choice, mode: 'saml' })],
    ['no issuer', JSON.stringify({ mode: 'oidc', clientId: 'app' })],
    ['an empty issuer', JSON.stringify({ ...choice, issuer: '' })],
    ['no client id', JSON.stringify({ mode: 'oidc', issuer: ISSUER })],
    ['a number for a client id', JSON.stringify({ ...choice, clientId: 7 })],
    ['an empty client id', JSON.stringify({ ...choice, clientId: '' })],
    ['a list', JSON.stringify([choice])],
    ['the mode in capitals', JSON.stringify({ ...choice, mode: 'OIDC' })],
    ['no mode', JSON.stringify({ issuer: ISSUER, clientId: 'app' })],
    ['nothing', ''],
  ])('A-10, A-16: %s is no usable choice: identity is null, and provider() is 503', async (_, text) => {
    const { auth } = await open({ 'platform:auth': text });
    expect(auth.identity).toBeNull();
    expect(configError(auth.provider).status).toBe(503);
  });

  test('A-10: a choice bound to the worker is not a delivered one', async () => {
    const { auth } = await open({}, { env: { 'platform:auth': JSON.stringify(choice) } });
    expect(auth.identity).toBeNull();
  });

  test('A-11: sessionSecret is the tenant’s own, minted in its directory', async () => {
    const { auth, directory, other } = await open(
      {},
      { env: { SESSION_SECRET: 'shared by all the instances' } },
    );
    expect(auth.sessionSecret).toBe(await directory.sessionSecret());
    expect(auth.sessionSecret).not.toBe(await other.sessionSecret());
  });

  test('A-11: the secret is minted once a tenant, whichever instance comes first, and after a rotation the new one signs', async () => {
    const { auth, directory, runtime } = await open();
    const input = { directory, scopeId: OTHER_SCOPE, envSpec: declared, env: {}, runtime };
    expect((await instanceAuthFor(input)).sessionSecret).toBe(auth.sessionSecret);
    await directory.rotateSessionSecret({});
    const rotated = await instanceAuthFor(input);
    expect(rotated.sessionSecret).not.toBe(auth.sessionSecret);
    expect(rotated.sessionSecrets).toEqual([rotated.sessionSecret, auth.sessionSecret]);
    const { items } = await directory.listIdentityEvents({});
    expect(items.filter((each) => each.type === 'session_secret_minted')).toHaveLength(1);
  });

  test('A-12: settings are delivered over binding over default, and only declared ones', async () => {
    const env = { GREETING: 'bound', AUTH_PROVIDER: 'bound', OIDC_ISSUER: 7, UNDECLARED: 'x' };
    const none = await open();
    expect(none.auth.settings).toEqual({ GREETING: 'hello' });
    const bound = await open({}, { env });
    expect(bound.auth.settings).toEqual({ GREETING: 'bound', AUTH_PROVIDER: 'bound' });
    const delivered = await open({ GREETING: 'delivered', UNDECLARED: 'y' }, { env });
    expect(delivered.auth.settings).toEqual({ GREETING: 'delivered', AUTH_PROVIDER: 'bound' });
  });

  test('A-12: instances that share a binding have their own settings, and an empty delivered one is one', async () => {
    const env = { GREETING: 'for all', OIDC_ISSUER: 'https://worker.example' };
    const { directory, other, runtime } = await open({ GREETING: '', OIDC_ISSUER: ISSUER }, { env });
    const shared = { envSpec: declared, env, runtime };
    const settings = async (of: typeof directory, scopeId: string) =>
      (await instanceAuthFor({ ...shared, directory: of, scopeId })).settings;
    expect(await settings(directory, SCOPE)).toEqual({ GREETING: '', OIDC_ISSUER: ISSUER });
    expect(await settings(directory, OTHER_SCOPE)).toEqual(env);
    expect(await settings(other, SCOPE)).toEqual(env);
  });

  test('A-12: names of Object’s own members are no settings', async () => {
    const { auth } = await open({}, { envSpec: { toString: { summary: 'odd' } } as never });
    expect(Object.keys(auth.settings)).toEqual([]);
  });

  test('A-13: config is everything delivered, undeclared keys too, of this instance only', async () => {
    const { auth, directory, runtime } = await open({ GREETING: 'a', ANYTHING: 'b' });
    expect(auth.config).toEqual({ GREETING: 'a', ANYTHING: 'b' });
    const input = { directory, scopeId: OTHER_SCOPE, envSpec: declared, env: {}, runtime };
    expect((await instanceAuthFor(input)).config).toEqual({});
  });
});

describe('provider()', () => {
  test('A-14: a delivered choice selects the code flow, with the tenant’s secret and this instance’s audience', async () => {
    const { auth, issuer, directory, runtime } = await open({ 'platform:auth': JSON.stringify(choice) });
    const provider = auth.provider();
    const browser = makeBrowser(ORIGIN, (request) => provider.handle(request));
    const login = await browser.get('/api/auth/login');
    expect(new URL(login.headers.get('location') ?? '').searchParams.get('client_id')).toBe('app');
    await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
    expect(await provider.resolve(browser.headersFor('/'))).toMatchObject({ sub: 'ada', issuer: ISSUER });

    await directory.putConfig({ scopeId: OTHER_SCOPE, config: { 'platform:auth': JSON.stringify(choice) } });
    const input = { directory, scopeId: OTHER_SCOPE, envSpec: declared, env: {}, runtime };
    const neighbour = (await instanceAuthFor(input)).provider();
    expect(await neighbour.resolve(browser.headersFor('/'))).toBeNull();
  });

  test('A-14: a delivered choice wins over the worker’s own issuer', async () => {
    const env = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://worker.example' };
    const { auth } = await open({ 'platform:auth': JSON.stringify(choice) }, { env });
    const response = await auth.provider().handle(new Request(`${ORIGIN}/api/auth/login`));
    expect(response.headers.get('location')).toMatch(/^https:\/\/issuer\.example\/authorize\?/);
  });

  test('A-14: a delivered client secret and base address are used', async () => {
    const config = {
      'platform:auth': JSON.stringify(choice),
      OIDC_CLIENT_SECRET: 'hush',
      BASE_URL: 'https://public.example',
    };
    const { auth, issuer } = await open(config);
    const browser = makeBrowser('https://inside.example', (request) => auth.provider().handle(request));
    const login = await browser.get('/api/auth/login');
    const back = new URL(issuer.authorize(login.headers.get('location') ?? ''));
    expect(back.origin).toBe('https://public.example');
    await browser.get(`${back.pathname}${back.search}`);
    const exchange = issuer.requests.find((request) => request.url.endsWith('/token'));
    expect(exchange?.authorization).toBe(`Basic ${btoa('app:hush')}`);
  });

  test.each<[string, InstanceAuthInput['env'], Partial<EnvSpec>, string | null]>([
    [
      'of its own issuer and client is used',
      { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: 'bound' },
      {},
      'bound',
    ],
    [
      'of another issuer stays here',
      { OIDC_ISSUER: 'https://worker.example', OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: 'bound' },
      {},
      null,
    ],
    [
      'of another client stays here',
      { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'worker', OIDC_CLIENT_SECRET: 'bound' },
      {},
      null,
    ],
    ['that says not whose it is stays here', { OIDC_CLIENT_SECRET: 'bound' }, {}, null],
    [
      'is not opened by what a manifest says of itself',
      { OIDC_CLIENT_SECRET: 'bound' },
      {
        OIDC_ISSUER: { summary: 'Issuer', default: ISSUER },
        OIDC_CLIENT_ID: { summary: 'Client', default: 'app' },
      },
      null,
    ],
  ])('A-14: with a delivered choice a bound client secret %s', async (_, env, envSpec, secret) => {
    // The delivered values say nothing about the owner of the bound secret: a tenant could deliver anything.
    const delivered = {
      'platform:auth': JSON.stringify(choice),
      OIDC_ISSUER: ISSUER,
      OIDC_CLIENT_ID: 'app',
    };
    const { auth, issuer } = await open(delivered, { env, envSpec: { ...declared, ...envSpec } as EnvSpec });
    expect(await presentedAtToken(auth.provider(), issuer)).toBe(secret && `Basic ${btoa(`app:${secret}`)}`);
  });

  test('A-14: a client secret that is a manifest default is used with the default issuer and client only', async () => {
    const defaults = (url: string): EnvSpec => ({
      OIDC_ISSUER: { summary: 'Issuer', default: url },
      OIDC_CLIENT_ID: { summary: 'Client', default: 'app' },
      OIDC_CLIENT_SECRET: { summary: 'Secret', default: 'preset' },
    });
    for (const [url, presented] of [
      [ISSUER, `Basic ${btoa('app:preset')}`],
      ['https://worker.example', null],
    ] as const) {
      const { auth, issuer } = await open(
        { 'platform:auth': JSON.stringify(choice) },
        { envSpec: defaults(url) },
      );
      expect(await presentedAtToken(auth.provider(), issuer)).toBe(presented);
    }
  });

  test('A-14: a delivered client secret counts more than a bound one, until its removal is delivered', async () => {
    const env = { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: 'bound' };
    const delivered = { 'platform:auth': JSON.stringify(choice), OIDC_CLIENT_SECRET: 'old' };
    const { auth, issuer, directory, runtime } = await open(delivered, { env });
    expect(await presentedAtToken(auth.provider(), issuer)).toBe(`Basic ${btoa('app:old')}`);
    await directory.putConfig({ scopeId: SCOPE, config: { OIDC_CLIENT_SECRET: null } });
    const now = await instanceAuthFor({ directory, scopeId: SCOPE, envSpec: declared, env, runtime });
    issuer.requests.length = 0;
    expect(await presentedAtToken(now.provider(), issuer)).toBe(`Basic ${btoa('app:bound')}`);
  });

  test('A-14: an empty delivered client secret makes a public client, whatever is bound', async () => {
    const env = { OIDC_ISSUER: ISSUER, OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: 'bound' };
    const delivered = { 'platform:auth': JSON.stringify(choice), OIDC_CLIENT_SECRET: '' };
    const { auth, issuer } = await open(delivered, { env });
    expect(await presentedAtToken(auth.provider(), issuer)).toBeNull();
  });

  test('a builder who delivers an issuer of their own is never sent the secret delivered before', async () => {
    const opened = await open({
      'platform:auth': JSON.stringify({ ...choice, issuer: 'https://operator.example' }),
      OIDC_CLIENT_SECRET: 'hush',
    });
    const { directory, runtime, issuer } = opened;
    await directory.putConfig({ scopeId: SCOPE, config: { 'platform:auth': JSON.stringify(choice) } });
    const input = { directory, scopeId: SCOPE, envSpec: declared, env: {}, runtime };
    expect(await presentedAtToken((await instanceAuthFor(input)).provider(), issuer)).toBeNull();
    expect(JSON.stringify(issuer.requests.map((request) => [...request.body]))).not.toContain('hush');
  });

  test('A-15: without a usable choice AUTH_PROVIDER=oidc and OIDC_ISSUER select the token provider', async () => {
    const env = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER };
    for (const delivered of [{}, { 'platform:auth': '{"mode":"oidc"}' }]) {
      const { auth, issuer, clock } = await open(delivered, { env });
      const resolve = async (aud: string) =>
        auth
          .provider()
          .resolve(
            new Headers({ authorization: `Bearer ${await issuer.sign(accessClaims(clock, { aud }))}` }),
          );
      expect(await resolve(SCOPE)).toMatchObject({ sub: 'ada' });
      // Without a setting the audience is this instance itself: its neighbour's tokens do not count here.
      expect(await resolve(OTHER_SCOPE)).toBeNull();
    }
  });

  test('A-15: OIDC_AUDIENCE names another audience', async () => {
    const { auth, issuer, clock } = await open({
      AUTH_PROVIDER: 'oidc',
      OIDC_ISSUER: ISSUER,
      OIDC_AUDIENCE: 'api',
    });
    const resolve = async (aud: string) =>
      auth
        .provider()
        .resolve(new Headers({ authorization: `Bearer ${await issuer.sign(accessClaims(clock, { aud }))}` }));
    expect([(await resolve('api')) !== null, await resolve(SCOPE)]).toEqual([true, null]);
  });

  describe('A-15: the audience', () => {
    const bound = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER };
    /** Those of the names for which a token is taken. */
    async function takenOf(names: string[], delivered: Record<string, string>, resource?: string | string[]) {
      const more = resource === undefined ? {} : { resource };
      const { auth, issuer, clock } = await open(delivered, { env: bound, ...more });
      const taken: string[] = [];
      for (const aud of names) {
        const token = await issuer.sign(accessClaims(clock, { aud }));
        const headers = new Headers({ authorization: `Bearer ${token}` });
        if ((await auth.provider().resolve(headers)) !== null) taken.push(aud);
      }
      return taken;
    }
    const names = [SCOPE, OTHER_SCOPE, ORIGIN, `${ORIGIN}/`, `${ORIGIN}/mcp`, 'api', 'app', ISSUER, ''];

    test("is the scope’s id, and the application's own resource", async () => {
      expect(await takenOf(names, {})).toEqual([SCOPE]);
      expect(await takenOf(names, {}, ORIGIN)).toEqual([SCOPE, ORIGIN]);
      expect(await takenOf(names, {}, [ORIGIN, `${ORIGIN}/mcp`])).toEqual([SCOPE, ORIGIN, `${ORIGIN}/mcp`]);
    });

    test('is OIDC_AUDIENCE, and then nothing else; several are separated by spaces', async () => {
      expect(await takenOf(names, { OIDC_AUDIENCE: 'api' }, ORIGIN)).toEqual(['api']);
      expect(await takenOf(names, { OIDC_AUDIENCE: ` api  ${ORIGIN}/ ` }, ORIGIN)).toEqual([
        `${ORIGIN}/`,
        'api',
      ]);
    });

    test('is never everything: an empty OIDC_AUDIENCE is none', async () => {
      for (const OIDC_AUDIENCE of ['', '  '])
        expect(await takenOf(names, { OIDC_AUDIENCE }, ORIGIN)).toEqual([SCOPE, ORIGIN]);
    });

    test.each(['app.example', `${ORIGIN}/#x`, `${ORIGIN}/?a=b`, 'urn:x', ''])(
      'A-17: a resource of %j is a configuration error, and not a name',
      async (resource) => {
        const { auth } = await open({}, { env: bound, resource });
        expect(configError(auth.provider).status).toBe(500);
      },
    );

    test('does not matter to a provider without tokens, which names no authorization server', async () => {
      const { auth } = await open({ 'platform:auth': JSON.stringify(choice) }, { resource: 'nonsense' });
      expect(auth.provider().authorizationServers).toBeUndefined();
      const { auth: taking } = await open({}, { env: bound });
      expect(taking.provider().authorizationServers).toEqual([ISSUER]);
    });
  });

  test('A-12, A-15: a delivered setting wins over the shared binding here too', async () => {
    const env = { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: 'https://worker.example' };
    const { auth, issuer, clock } = await open({ OIDC_ISSUER: ISSUER }, { env });
    const token = await issuer.sign(accessClaims(clock, { aud: SCOPE }));
    expect(await auth.provider().resolve(new Headers({ authorization: `Bearer ${token}` }))).not.toBeNull();
    const off = await open({ AUTH_PROVIDER: 'none' }, { env });
    expect(configError(off.auth.provider).status).toBe(503);
  });

  test('A-16, A-18: nothing configured is 503, and never a provider that was not chosen', async () => {
    for (const env of [
      {},
      { OIDC_ISSUER: ISSUER },
      { AUTH_PROVIDER: 'do' },
      { AUTH_PROVIDER: 'OIDC', OIDC_ISSUER: ISSUER },
    ]) {
      const { auth } = await open({}, { env });
      expect(configError(auth.provider).status).toBe(503);
    }
  });

  test('A-17: AUTH_PROVIDER=oidc without an issuer is 500, also with an unusable choice', async () => {
    for (const [delivered, env] of [
      [{}, { AUTH_PROVIDER: 'oidc' }],
      [{}, { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: '' }],
      [{ OIDC_ISSUER: '' }, { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER }],
      [{ 'platform:auth': '{}' }, { AUTH_PROVIDER: 'oidc' }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const { auth } = await open(delivered, { env });
      expect(configError(auth.provider).status).toBe(500);
    }
  });

  test('A-16, A-17: an issuer that is no https address is a configuration error that repeats no value', async () => {
    const bad = 'http://intranet.example/secret';
    const delivered = await open({ 'platform:auth': JSON.stringify({ ...choice, issuer: bad }) });
    const bound = await open({}, { env: { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: bad } });
    for (const [{ auth }, status] of [
      [delivered, 503],
      [bound, 500],
    ] as const) {
      const error = configError(auth.provider);
      expect([error.status, error.message.includes('secret')]).toEqual([status, false]);
    }
  });

  test('is the same provider on every call', async () => {
    const { auth } = await open({ 'platform:auth': JSON.stringify(choice) });
    expect(auth.provider()).toBe(auth.provider());
  });

  test.each([
    [{ AUTH_PROVIDER: 'oidc' }, 500, 'AUTH_PROVIDER is oidc, and OIDC_ISSUER is not set.'],
    [{}, 503, 'Sign-in is not set up for this instance yet.'],
  ])(
    'A-19: with %j a worker raises it as its framework’s exception with %i and the message',
    async (env, status, message) => {
      const { auth } = await open({}, { env });
      const app = new Hono().get('/api/auth/login', (c) => {
        try {
          return auth.provider().handle(c.req.raw);
        } catch (error) {
          if (error instanceof AuthConfigError)
            throw new HTTPException(error.status, { message: error.message });
          throw error;
        }
      });
      const response = await app.request('/api/auth/login');
      expect([response.status, await response.text()]).toEqual([status, message]);
    },
  );
});

test('a directory that fails is an error, and never an instance without a configuration', async () => {
  const directory = { readInstanceConfig: () => Promise.reject(new Error('no disk')) } as never;
  await expect(instanceAuthFor({ directory, scopeId: SCOPE, envSpec: {}, env: {} })).rejects.toThrow(
    'no disk',
  );
});
