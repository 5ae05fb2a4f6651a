/**
 * The platform behind a proxy that ends TLS: its addresses are the public ones, and only the trusted proxy's headers
 * count.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
const caller = new Caller();

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place, {
    FREEHOLD_PUBLIC_URL: 'https://apps.example',
    FREEHOLD_TRUSTED_PROXIES: '127.0.0.0/8',
  });
}, 60_000);
afterAll(async () => {
  caller[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
});

/** Headers of a request that a proxy forwards. */
const through = (path: string, host = 'acme.apps.example') =>
  caller.ask(`${place.url('ignored.localhost')}${path}`, {
    headers: { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': host },
  });

test('people are sent back to the public address, with cookies for TLS alone', async () => {
  const login = await through('/api/auth/login');
  expect(login.status).toBe(302);
  const asked = new URL(login.headers.get('location') ?? '').searchParams;
  expect(asked.get('redirect_uri')).toBe('https://acme.apps.example/api/auth/callback');
  expect(login.headers.get('set-cookie')).toMatch(/^sb_oidc_flow=.+; Secure/);
});

test('every name under the public address belongs to the platform, and its answers use it', async () => {
  expect((await through('/readyz', 'apps.example')).json()).toEqual({ status: 'ready' });
  expect((await through('/', 'apps.example')).text).toContain('href="https://acme.apps.example"');
  expect((await through('/openapi.json', 'api.apps.example')).status).toBe(200);
  expect((await through('/', 'other.apps.example')).status).toBe(404);
  expect(platform.output()).toContain('ready at https://acme.apps.example');
});

test("anonymous callers of the control plane are distinguished by the address in the proxy's header", async () => {
  const policyOf = async (headers: Record<string, string>) => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.apps.example', ...headers };
    const response = await caller.ask(`${place.url('ignored.localhost')}/auth/me`, { headers: forwarded });
    expect(response.status).toBe(401);
    return response.headers.get('ratelimit-policy');
  };
  expect(await policyOf({ 'x-forwarded-for': '198.51.100.7' })).toBe('"calls";q=300;w=60');
  // Callers without a known address share one allowance.
  expect(await policyOf({})).toBe('"calls";q=6000;w=60');
});

test('links that the platform makes lead to the public address', async () => {
  const authorization = { authorization: `Bearer ${platform.serviceToken()}` };
  const api = place.url('api.localhost');
  const scopes = await caller.ask(`${api}/scopes`, { headers: authorization });
  const [scope] = scopes.json<{ items: { id: string; tenant: string }[] }>().items;
  const claim = await caller.ask(`${api}/tenants/${scope?.tenant}/scopes/${scope?.id}/owner-claim`, {
    method: 'POST',
    headers: authorization,
  });
  expect(claim.json<{ url: string }>().url).toMatch(/^https:\/\/acme\.apps\.example\/\?claim=/);
});

test('the outbox is closed where a proxy on this machine is trusted, and the start says so', async () => {
  expect((await through('/outbox', 'apps.example')).status).toBe(403);
  // A request through a proxy without the header looks just like one from this machine.
  expect((await caller.ask(`${place.url('localhost')}/outbox`)).status).toBe(403);
  expect(platform.output()).toMatch(/Warning +FREEHOLD_TRUSTED_PROXIES names this machine/);
  expect(platform.output()).not.toContain('/outbox');
});

test('a public address without a trusted proxy is reported to the operator', async () => {
  const other = await newPlace();
  const careless = await startPlatform(other, { FREEHOLD_PUBLIC_URL: 'https://apps.example' });
  expect(careless.output()).toMatch(
    /Warning +FREEHOLD_PUBLIC_URL is set and FREEHOLD_TRUSTED_PROXIES is not/,
  );
  expect(platform.output()).not.toContain('FREEHOLD_PUBLIC_URL is set');
  await careless.stop();
  other.remove();
}, 60_000);
