import type { ScopeId, TenantId } from '@freehold/contracts';
import type { HostRoute } from '@freehold/directory';
import { expect, test } from 'vitest';
import { makeRouter, type NodeEnv } from './router.ts';

const route = (hostname: string, more: Partial<HostRoute> = {}): HostRoute => ({
  hostname,
  surface: 'app',
  tenant: 'tnt_a' as TenantId,
  scope: 'scp_a' as ScopeId,
  vertical: 'fieldwork',
  version: '1.0.0',
  serving: true,
  ...more,
});

function open(routes: () => readonly HostRoute[], originOf?: (hostname: string) => string) {
  const calls: NodeEnv[] = [];
  let reads = 0;
  const router = makeRouter({
    apiHostnames: ['api.localhost'],
    homeHostnames: ['localhost'],
    controlPlane: (_request, { clientAddress }) => new Response(`control plane for ${clientAddress}`),
    home: () => new Response('home'),
    vertical: (slug) =>
      slug === 'fieldwork'
        ? (_request, env) => {
            calls.push(env);
            return new Response('vertical');
          }
        : null,
    route: async (hostname) => {
      reads += 1;
      return routes().find((each) => each.hostname === hostname) ?? null;
    },
    ...(originOf === undefined ? {} : { originOf }),
  });
  const get = async (url: string, headers: Record<string, string> = {}) =>
    router.fetch(new Request(url, { headers }), { clientAddress: '192.0.2.7' });
  return { router, calls, get, reads: () => reads };
}

test('each host name reaches its application, and the vertical is told whose it is', async () => {
  const { get, calls } = open(() => [route('acme.localhost')]);
  expect(await (await get('http://api.localhost:1/tenants')).text()).toBe('control plane for 192.0.2.7');
  expect(await (await get('http://localhost:1/')).text()).toBe('home');
  expect(await (await get('http://acme.localhost:1/orders')).text()).toBe('vertical');
  expect(calls[0]?.node).toEqual({
    tenant: 'tnt_a',
    scope: 'scp_a',
    vertical: 'fieldwork',
    version: '1.0.0',
    surface: 'app',
    origin: 'http://acme.localhost:1',
  });
  expect(calls[0]?.clientAddress).toBe('192.0.2.7');
});

test('the origin is the operator’s word where there is one, whatever the request says', async () => {
  const { get, calls } = open(
    () => [route('acme.apps.test')],
    (hostname) => `https://${hostname}`,
  );
  await get('http://acme.apps.test:8787/orders', {
    'x-forwarded-proto': 'ftp',
    'x-forwarded-host': 'evil.test',
  });
  expect(calls[0]?.node?.origin).toBe('https://acme.apps.test');
});

test.each([
  'http://other.localhost:1/',
  'http://acme.localhost.evil.test:1/',
  'http://evil.test:1/',
  'http://xacme.localhost:1/',
])('the foreign host %s gets a problem, and a page where somebody navigates', async (url) => {
  const { get, calls } = open(() => [route('acme.localhost')]);
  const problem = await get(url);
  expect(problem.status).toBe(404);
  expect(problem.headers.get('content-type')).toBe('application/problem+json');
  const page = await get(url, { accept: 'text/html,*/*' });
  expect(page.status).toBe(404);
  expect(await page.text()).toContain('No application answers at this address.');
  expect(calls).toEqual([]);
});

test('a name with the dot of the root is the same name, for every surface', async () => {
  const { get, calls } = open(() => [route('acme.localhost')]);
  expect(await (await get('http://api.localhost.:1/tenants')).text()).toBe('control plane for 192.0.2.7');
  expect(await (await get('http://localhost.:1/')).text()).toBe('home');
  expect(await (await get('http://acme.localhost.:1/orders')).text()).toBe('vertical');
  // What the application is told is its name as it was bound: cookies and links are made of it.
  expect(calls[0]?.node?.scope).toBe('scp_a');
  expect((await get('http://acme.localhost.:1/internal/history')).status).toBe(404);
  expect((await get('http://acme.localhost..:1/')).status).toBe(404);
});

// spec D-04, and design: the router refuses the management contract on public names as well.
test.each([
  '/internal/history',
  '/internal',
  '/INTERNAL/history',
  '/%69nternal/history',
  '/internal%2Fhistory',
  '/./internal/x',
  '/%69nternal/denials%zz',
  '/%69%6e%ffternal/../internal/x',
  '/%49%4eternal%2fx%ff',
])('the management contract does not exist for the public: %s', async (path) => {
  const { get, calls } = open(() => [route('acme.localhost')]);
  expect((await get(`http://acme.localhost:1${path}`)).status).toBe(404);
  expect(calls).toEqual([]);
});

test('a suspended application answers 503 and is not called', async () => {
  const { get, calls } = open(() => [route('acme.localhost', { serving: false })]);
  const response = await get('http://acme.localhost:1/');
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: 'unavailable', reason: 'suspended' });
  expect(calls).toEqual([]);
});

test('no browser is to guess what an answer is, whoever gave it', async () => {
  const { get } = open(() => [route('acme.localhost')]);
  for (const url of [
    'http://api.localhost:1/',
    'http://localhost:1/',
    'http://acme.localhost:1/',
    'http://x.test/',
  ])
    expect((await get(url)).headers.get('x-content-type-options'), url).toBe('nosniff');
});

test('a host name is looked up once, and again after something changed', async () => {
  let routes: HostRoute[] = [];
  const { router, get, reads } = open(() => routes);
  expect((await get('http://acme.localhost:1/')).status).toBe(404);
  expect((await get('http://acme.localhost:1/')).status).toBe(404);
  expect(reads()).toBe(1);
  routes = [route('acme.localhost')];
  router.invalidate();
  expect((await get('http://acme.localhost:1/')).status).toBe(200);
  expect(reads()).toBe(2);
});

test('names that nobody bound do not fill the memory, and cost others nothing but a look', async () => {
  const { get, reads } = open(() => [route('acme.localhost')]);
  for (let nth = 0; nth < 10_001; nth++) await get(`http://x${nth}.localhost:1/`);
  expect((await get('http://acme.localhost:1/')).status).toBe(200);
  expect((await get('http://x1.localhost:1/')).status).toBe(404);
  expect(reads()).toBe(10_003);
});

test('a failed read of the host names lets nobody in and is tried again', async () => {
  let broken = true;
  const { get } = open(() => {
    if (broken) throw new Error('the directory is away');
    return [route('acme.localhost')];
  });
  await expect(get('http://acme.localhost:1/')).rejects.toThrow('the directory is away');
  broken = false;
  expect((await get('http://acme.localhost:1/')).status).toBe(200);
});

test('spec C-17: the document that proves a host name is answered before anything leads there, and only it', async () => {
  const router = makeRouter({
    apiHostnames: ['api.localhost'],
    homeHostnames: ['localhost'],
    controlPlane: () => new Response('control plane'),
    home: () => new Response('home'),
    vertical: () => () => new Response('vertical'),
    route: async (hostname) => (hostname === 'acme.localhost' ? route(hostname) : null),
    challenge: async (request) => (request.url.endsWith('/.well-known/proof') ? new Response('proof') : null),
  });
  const get = async (url: string) => (await router.fetch(new Request(url), { clientAddress: null })).text();
  expect(await get('http://shop.example/.well-known/proof')).toBe('proof');
  expect(await get('http://acme.localhost/.well-known/proof')).toBe('proof');
  expect(await get('http://acme.localhost/')).toBe('vertical');
  expect(await get('http://shop.example/')).not.toContain('proof');
  expect(await get('http://api.localhost/.well-known/proof')).toBe('control plane');
});
