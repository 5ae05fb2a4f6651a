/** The cached authentication of instances: cheap, and never stale. */
import { makeRelyingParty } from '@freehold/oidc-rp';
import { describe, expect, test } from 'vitest';
import { makeBrowser } from '../test/browser.ts';
import { accessClaims, makeFakeIssuer } from '../test/fake-issuer.ts';
import { DAY_MS, ISSUER, OTHER_SCOPE, openPlatform, SCOPE, TENANT_A } from '../test/support.ts';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import { makeInstanceAuthCache } from './instance-auth-cache.ts';
import { AuthConfigError } from './select-provider.ts';

const choice = (issuer: string) => ({
  'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: 'app' }),
});

async function open(instancesMax?: number) {
  const platform = await openPlatform();
  const issuer = await makeFakeIssuer(platform.clock);
  const runtime = { fetch: issuer.fetch, now: () => platform.clock.nowMs };
  const sizes = instancesMax === undefined ? {} : { instancesMax };
  const authOf = makeInstanceAuthCache({ envSpec: {}, env: {}, runtime, ...sizes });
  return { ...platform, issuer, authOf };
}

/** A directory that counts its calls. */
function counting(directory: IdentityDirectory) {
  const calls: string[] = [];
  const counted = new Proxy(directory, {
    get: (target, method) => {
      calls.push(String(method));
      return Reflect.get(target, method);
    },
  });
  return { calls, directory: counted };
}

test('answers the same authentication while nothing changed, for one read a call', async () => {
  const { authOf, directory: real } = await open();
  await real.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
  const { calls, directory } = counting(real);
  const first = await authOf({ directory, scopeId: SCOPE });
  const provider = first.provider();
  calls.length = 0;
  const second = await authOf({ directory, scopeId: SCOPE });
  expect(second).toBe(first);
  expect(second.provider()).toBe(provider);
  expect(calls).toEqual(['readInstanceConfig']);
});

describe('a change takes effect with the next call, without a restart', () => {
  test('A-12: of a setting', async () => {
    const { authOf, directory } = await open();
    const config = async () => (await authOf({ directory, scopeId: SCOPE })).config;
    expect(await config()).toEqual({});
    await directory.putConfig({ scopeId: SCOPE, config: { A: '1' } });
    expect(await config()).toEqual({ A: '1' });
    await directory.putConfig({ scopeId: SCOPE, config: { A: null } });
    expect(await config()).toEqual({});
  });

  test('A-14: of the issuer, which ends the sessions that the old one vouched for', async () => {
    const { authOf, directory, issuer } = await open();
    await directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
    const provider = async () => (await authOf({ directory, scopeId: SCOPE })).provider();
    const browser = makeBrowser('https://app.example', async (request) => (await provider()).handle(request));
    const login = await browser.get('/api/auth/login');
    await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
    expect(await (await provider()).resolve(browser.headersFor('/'))).not.toBeNull();
    await directory.putConfig({ scopeId: SCOPE, config: choice('https://other.example') });
    expect(await (await provider()).resolve(browser.headersFor('/'))).toBeNull();
  });
});

describe('the sign-in changes with the next request, without a restart', () => {
  test('A-14, A-15, A-16, A-17: from nothing to tokens, to the code flow, and back', async () => {
    const { authOf, directory } = await open();
    const put = (config: Record<string, string | null>) => directory.putConfig({ scopeId: SCOPE, config });
    const now = async () => {
      const auth = await authOf({ directory, scopeId: SCOPE });
      try {
        const answer = await auth.provider().handle(new Request('https://app.example/api/auth/login'));
        return answer.status;
      } catch (error) {
        return error instanceof AuthConfigError ? `error ${error.status}` : error;
      }
    };
    expect(await now()).toBe('error 503');
    await put({ AUTH_PROVIDER: 'oidc' });
    expect(await now()).toBe('error 500');
    await put({ OIDC_ISSUER: ISSUER });
    expect(await now()).toBe(501);
    await put(choice(ISSUER));
    expect(await now()).toBe(302);
    await put({ 'platform:auth': '{}' });
    expect(await now()).toBe(501);
    await put({ AUTH_PROVIDER: null });
    expect(await now()).toBe('error 503');
  });

  test('A-15: the audience of a token', async () => {
    const { authOf, directory, issuer, clock } = await open();
    await directory.putConfig({ scopeId: SCOPE, config: { AUTH_PROVIDER: 'oidc', OIDC_ISSUER: ISSUER } });
    const resolve = async (aud: string, resource: string[] = []) => {
      const provider = (await authOf({ directory, scopeId: SCOPE, resource })).provider();
      const token = await issuer.sign(accessClaims(clock, { aud }));
      return (await provider.resolve(new Headers({ authorization: `Bearer ${token}` }))) !== null;
    };
    const origins = ['https://one.example', 'https://two.example'] as const;
    // An instance with two host names: the name of one opens nothing at the other.
    for (let i = 0; i < 2; i++) {
      expect(await resolve(origins[0], [origins[0]])).toBe(true);
      expect(await resolve(origins[0], [origins[1]])).toBe(false);
      expect(await resolve(SCOPE, [origins[1]])).toBe(true);
      expect(await resolve(origins[0])).toBe(false);
    }
    await directory.putConfig({ scopeId: SCOPE, config: { OIDC_AUDIENCE: 'api' } });
    expect([await resolve('api', [origins[0]]), await resolve(origins[0], [origins[0]])]).toEqual([
      true,
      false,
    ]);
  });

  test('A-11: the session secret: users stay signed in, a running sign-in completes, and sessions forged with the former end with it', async () => {
    const { authOf, directory, issuer, clock } = await open();
    await directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
    const provider = async () => (await authOf({ directory, scopeId: SCOPE })).provider();
    const browserOf = () =>
      makeBrowser('https://app.example', async (request) => (await provider()).handle(request));
    const begin = async (browser: ReturnType<typeof browserOf>) =>
      issuer.authorize((await browser.get('/api/auth/login')).headers.get('location') ?? '');
    const isKnown = async (browser: ReturnType<typeof browserOf>) =>
      (await (await provider()).resolve(browser.headersFor('/'))) !== null;

    const [before, waiting, after] = [browserOf(), browserOf(), browserOf()];
    await before.get(await begin(before));
    const back = await begin(waiting);
    const first = await provider();
    await directory.rotateSessionSecret({});
    expect(await provider()).not.toBe(first);
    expect(await provider()).toBe(await provider());
    expect((await waiting.get(back)).status).toBe(302);
    await after.get(await begin(after));
    expect([await isKnown(before), await isKnown(waiting), await isKnown(after)]).toEqual([true, true, true]);

    // A thief of the former secret can sign any session with it, for as long as it verifies.
    const former = (await authOf({ directory, scopeId: SCOPE })).sessionSecrets[1] ?? '';
    const forge = () =>
      makeRelyingParty({
        env: { issuer: ISSUER, clientId: 'app', sessionSecrets: [former] },
        audience: `${TENANT_A}/${SCOPE}`,
        fetch: issuer.fetch,
        now: () => clock.nowMs,
      }).mintSession({ id: 'mallory' });
    const forged = async () => {
      const headers = new Headers({ cookie: `sb_session=${forge()}` });
      return (await (await provider()).resolve(headers)) !== null;
    };
    clock.nowMs += 8 * DAY_MS - 1;
    expect(await forged()).toBe(true);
    clock.nowMs += 1;
    expect(await forged()).toBe(false);
  });

  test('A-11: a leaked secret ends at once', async () => {
    const { authOf, directory, issuer } = await open();
    await directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
    const provider = async () => (await authOf({ directory, scopeId: SCOPE })).provider();
    const browser = makeBrowser('https://app.example', async (request) => (await provider()).handle(request));
    const login = await browser.get('/api/auth/login');
    await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
    await directory.rotateSessionSecret({ keepFormer: false });
    expect(await (await provider()).resolve(browser.headersFor('/'))).toBeNull();
  });
});

test('A-22: tenants and scopes are never confused', async () => {
  const { authOf, directory, other } = await open();
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { WHERE: 'other scope' } });
  for (let i = 0; i < 2; i++) {
    expect((await authOf({ directory, scopeId: SCOPE })).config).toEqual({});
    expect((await authOf({ directory: other, scopeId: SCOPE })).config).toEqual({ SECRET_OF_B: 'b' });
    expect((await authOf({ directory, scopeId: OTHER_SCOPE })).config).toEqual({ WHERE: 'other scope' });
    expect((await authOf({ directory: other, scopeId: OTHER_SCOPE })).config).toEqual({});
  }
});

test('A-40: an instance has the cookie domain of its own surfaces, and its neighbour none', async () => {
  const { authOf, directory, issuer } = await open();
  const domains = async (scopeId: string, cookieDomain?: string) => {
    const provider = (await authOf({ directory, scopeId, cookieDomain })).provider();
    const browser = makeBrowser('https://app.acme.com', (request) => provider.handle(request));
    const login = await browser.get('/api/auth/login');
    const answer = await browser.get(issuer.authorize(login.headers.get('location') ?? ''));
    const set = answer.headers.getSetCookie().filter((each) => /^sb_session=[^;]/.test(each));
    return set.map((each) => /; Domain=([^;]*)/.exec(each)?.[1]);
  };
  for (const scopeId of [SCOPE, OTHER_SCOPE]) await directory.putConfig({ scopeId, config: choice(ISSUER) });
  expect(await domains(SCOPE, 'acme.com')).toEqual(['acme.com']);
  expect(await domains(OTHER_SCOPE)).toEqual([undefined]);
  expect(await domains(SCOPE)).toEqual([undefined]);
});

test('instances of one issuer share its metadata', async () => {
  const { authOf, directory, issuer } = await open();
  for (const scopeId of [SCOPE, OTHER_SCOPE]) {
    await directory.putConfig({ scopeId, config: choice(ISSUER) });
    const provider = (await authOf({ directory, scopeId })).provider();
    await provider.handle(new Request('https://app.example/api/auth/login'));
  }
  expect(issuer.requests).toHaveLength(1);
});

test('holds no more instances than it may', async () => {
  const { authOf, directory } = await open(1);
  const first = await authOf({ directory, scopeId: SCOPE });
  await authOf({ directory, scopeId: OTHER_SCOPE });
  expect(await authOf({ directory, scopeId: SCOPE })).not.toBe(first);
});

test('a directory that fails is an error, with any copy in the cache', async () => {
  const { authOf, directory } = await open();
  await authOf({ directory, scopeId: SCOPE });
  const broken = { readInstanceConfig: () => Promise.reject(new Error('no disk')) } as never;
  await expect(authOf({ directory: broken, scopeId: SCOPE })).rejects.toThrow('no disk');
});

test('C-04: the copies of a deleted scope are dropped at all its host names, and of no other', async () => {
  const { authOf, directory } = await open();
  const at = (scopeId: string, resource: string) => authOf({ directory, scopeId, resource });
  const names = ['https://one.example', 'https://two.example'] as const;
  const held = await Promise.all(names.map((name) => at(SCOPE, name)));
  const neighbour = await at(OTHER_SCOPE, names[0]);
  expect(await Promise.all(names.map((name) => at(SCOPE, name)))).toEqual(held);

  authOf.forget({ scopeId: SCOPE });
  for (const [index, name] of names.entries()) expect(await at(SCOPE, name)).not.toBe(held[index]);
  expect(await at(OTHER_SCOPE, names[0])).toBe(neighbour);
});

test("C-04: a process that missed the deletion does not go on with a forgotten scope's settings", async () => {
  const { authOf, directory } = await open();
  await directory.putConfig({ scopeId: SCOPE, config: choice(ISSUER) });
  expect((await authOf({ directory, scopeId: SCOPE })).identity).not.toBeNull();
  await directory.forgetScope({ scopeId: SCOPE });
  expect((await authOf({ directory, scopeId: SCOPE })).identity).toBeNull();
});
