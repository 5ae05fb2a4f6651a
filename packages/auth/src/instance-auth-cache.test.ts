/** The kept authentication of instances: cheap, and never stale. */
import { describe, expect, test } from 'vitest';
import { makeBrowser } from '../test/browser.ts';
import { makeFakeIssuer } from '../test/fake-issuer.ts';
import { ISSUER, OTHER_SCOPE, openPlatform, SCOPE } from '../test/support.ts';
import type { IdentityDirectory } from './identity-directory/unit.ts';
import { makeInstanceAuthCache } from './instance-auth-cache.ts';

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

/** A directory that counts what it is asked. */
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

test('A-22: tenants and scopes are never taken for each other', async () => {
  const { authOf, directory, other } = await open();
  await directory.putConfig({ scopeId: OTHER_SCOPE, config: { WHERE: 'other scope' } });
  for (let i = 0; i < 2; i++) {
    expect((await authOf({ directory, scopeId: SCOPE })).config).toEqual({});
    expect((await authOf({ directory: other, scopeId: SCOPE })).config).toEqual({ SECRET_OF_B: 'b' });
    expect((await authOf({ directory, scopeId: OTHER_SCOPE })).config).toEqual({ WHERE: 'other scope' });
    expect((await authOf({ directory: other, scopeId: OTHER_SCOPE })).config).toEqual({});
  }
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

test('keeps no more instances than it was told to', async () => {
  const { authOf, directory } = await open(1);
  const first = await authOf({ directory, scopeId: SCOPE });
  await authOf({ directory, scopeId: OTHER_SCOPE });
  expect(await authOf({ directory, scopeId: SCOPE })).not.toBe(first);
});

test('a directory that fails is an error, whatever was kept', async () => {
  const { authOf, directory } = await open();
  await authOf({ directory, scopeId: SCOPE });
  const broken = { readInstanceConfig: () => Promise.reject(new Error('no disk')) } as never;
  await expect(authOf({ directory: broken, scopeId: SCOPE })).rejects.toThrow('no disk');
});
