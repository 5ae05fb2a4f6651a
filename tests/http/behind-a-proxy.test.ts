/**
 * The platform behind a proxy that ends TLS: its addresses are the public ones, and only the trusted proxy's headers
 * count.
 */
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
const caller = new Caller();

beforeAll(async () => {
  place = await newPlace();
  // The folder is a mounted volume's: every user of the machine may read it.
  mkdirSync(place.dataDirectory, { mode: 0o755 });
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

test('pages come over TLS alone, and browsers are told to stay there', async () => {
  const clear = { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'acme.apps.example' };
  const ask = (path: string, init: { method?: string; headers?: Record<string, string> } = {}) =>
    caller.ask(`${place.url('ignored.localhost')}${path}`, {
      ...init,
      headers: { ...clear, ...init.headers },
    });
  const moved = await ask('/a?b=c');
  expect([moved.status, moved.headers.get('location')]).toEqual([308, 'https://acme.apps.example/a?b=c']);
  expect(moved.headers.get('strict-transport-security')).toBeNull();
  const refused = await ask('/api/customers', { method: 'POST' });
  expect([refused.status, refused.json()]).toEqual([
    403,
    expect.objectContaining({ code: 'forbidden', reason: 'https_required' }),
  ]);
  expect((await ask('/readyz', { headers: { 'x-forwarded-host': 'apps.example' } })).status).toBe(200);
  const page = await through('/');
  expect([page.status, page.headers.get('strict-transport-security')]).toEqual([200, 'max-age=31536000']);
});

test('every file of the data directory is for its owner alone', () => {
  const open = readdirSync(place.dataDirectory, { recursive: true, encoding: 'utf8' })
    .concat('.')
    .filter((path) => statSync(join(place.dataDirectory, path)).mode & 0o077);
  expect(open).toEqual([]);
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
  // Its proxy writes headers that mean nothing here: no browser is redirected in a circle, and the proxy is named.
  const served = await caller.ask(`${other.url('acme.apps.example')}/`, {
    headers: { 'x-forwarded-proto': 'https' },
  });
  expect(served.status).toBe(200);
  await expect
    .poll(() => careless.output())
    .toContain('The proxy at 127.0.0.1 is not in FREEHOLD_TRUSTED_PROXIES');
  await careless.stop();
  other.remove();
}, 60_000);
