import type { Problem } from '@freehold/contracts';
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import type { HostRoute } from '@freehold/directory';
import { expect, test } from 'vitest';
import {
  type Application,
  makeRouter,
  type NodeEnv,
  type RouterOptions,
  type ServedRequest,
  servedNode,
} from './router.ts';

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

interface Parts {
  readonly originOf?: (hostname: string) => string;
  readonly fetch?: Application['fetch'];
  readonly gate?: RouterOptions['gate'];
}

function open(routes: () => readonly HostRoute[], parts: Parts = {}) {
  const { originOf = (hostname) => `http://${hostname}:1`, fetch = () => new Response('vertical') } = parts;
  const calls: NodeEnv[] = [];
  const served: ServedRequest[] = [];
  let reads = 0;
  let nowMs = 1_000;
  const application: Application = {
    fetch: (request, env) => {
      calls.push(env);
      return fetch(request, env);
    },
    bindings: { AUTH_PROVIDER: 'directory' },
    publicPaths: ['/public'],
  };
  const router = makeRouter({
    apiHostnames: ['api.localhost'],
    homeHostnames: ['localhost'],
    controlPlane: (_request, { clientAddress }) => new Response(`control plane for ${clientAddress}`),
    home: () => new Response('home'),
    application: (slug) => (slug === 'fieldwork' ? application : null),
    preview: ({ id }) => ({ ...application, fetch: () => new Response(`preview ${id}`) }),
    route: async (hostname) => {
      reads += 1;
      const all = routes();
      const found = all.find((each) => each.hostname === hostname);
      const siblings = all.filter(({ scope }) => scope === found?.scope);
      return found ? { ...found, hostnames: siblings.map((each) => each.hostname) } : null;
    },
    challenge: async ({ url }) => (url.endsWith('/freehold-challenge/proof') ? new Response('proof') : null),
    originOf,
    gate: parts.gate ?? null,
    sharedDomains: ['localhost'],
    now: () => {
      nowMs += 5;
      return nowMs;
    },
    onServed: (each) => void served.push(each),
  });
  const ask = async (url: string, init: RequestInit = {}) =>
    router.fetch(new Request(url, init), { clientAddress: '192.0.2.7' });
  const get = (url: string, headers: Record<string, string> = {}) => ask(url, { headers });
  return { router, calls, served, ask, get, reads: () => reads };
}

test('each host name reaches its application, and the vertical learns the node', async () => {
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
  expect(calls[0]).toMatchObject({ AUTH_PROVIDER: 'directory' });
});

test('the name of a preview reaches the preview, and not the application that serves', async () => {
  const ref = {
    id: 'prv_1',
    vertical: 'fieldwork',
    script: 's',
    tenant: 'tnt_a',
    scope: 'scp_a',
    network: false,
  };
  const { get, calls } = open(() => [{ ...route('next.localhost'), preview: ref } as HostRoute]);
  expect(await (await get('http://next.localhost:1/orders')).text()).toBe('preview prv_1');
  expect((await get('http://next.localhost:1/internal/history')).status).toBe(404);
  expect(calls).toEqual([]);
});

test('the origin is the operator’s where one is set, whatever the request says', async () => {
  const { get, calls } = open(() => [route('acme.apps.test')], {
    originOf: (hostname) => `https://${hostname}`,
  });
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
])('the foreign host %s gets a problem, and a page where a browser navigates', async (url) => {
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
  // The application learns its name as it was bound: cookies and links are made of it.
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

test('what a refusal of the router names as its type is explained on the same host', async () => {
  const { get, calls } = open(() => [route('acme.localhost', { serving: false })]);
  for (const url of ['http://acme.localhost:1/', 'http://nowhere.localhost:1/orders']) {
    const { type, code } = (await (await get(url)).json()) as Problem;
    const page = await get(new URL(type, url).href);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(`(${code})`)]);
  }
  expect((await get('http://localhost:1/problems/not_found')).status).toBe(200);
  expect((await get('http://nowhere.localhost:1/problems/nonsense')).status).toBe(404);
  expect(calls).toEqual([]);
});

test('no browser is to guess what an answer is, on any surface', async () => {
  const { get } = open(() => [route('acme.localhost')]);
  for (const url of [
    'http://api.localhost:1/',
    'http://localhost:1/',
    'http://acme.localhost:1/',
    'http://x.test/',
  ])
    expect((await get(url)).headers.get('x-content-type-options'), url).toBe('nosniff');
});

test('a host name is looked up once, and again after a change', async () => {
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

test('made-up names do not fill the memory, and cost other names one look-up', async () => {
  const { get, reads } = open(() => [route('acme.localhost')]);
  for (let nth = 0; nth < 10_001; nth++) await get(`http://x${nth}.localhost:1/`);
  expect((await get('http://acme.localhost:1/')).status).toBe(200);
  expect((await get('http://x1.localhost:1/')).status).toBe(404);
  expect(reads()).toBe(10_003);
});

test('a failed read of the host names lets no request in and is tried again', async () => {
  let broken = true;
  const { get } = open(() => {
    if (broken) throw new Error('the directory is away');
    return [route('acme.localhost')];
  });
  await expect(get('http://acme.localhost:1/')).rejects.toThrow('the directory is away');
  broken = false;
  expect((await get('http://acme.localhost:1/')).status).toBe(200);
});

test('spec C-17: the document that proves a host name is answered before the name leads to an application, and only it', async () => {
  const { get } = open(() => [route('acme.localhost')]);
  const text = async (url: string) => (await get(url)).text();
  const path = '/.well-known/freehold-challenge/proof';
  expect(await text(`http://shop.example${path}`)).toBe('proof');
  expect(await text(`http://acme.localhost${path}`)).toBe('proof');
  expect(await text('http://acme.localhost/')).toBe('vertical');
  expect(await text('http://shop.example/')).not.toContain('proof');
  expect(await text(`http://api.localhost${path}`)).toContain('control plane');
});

test('a request to an application is reported once, with its node and outcome, and the code inside knows the node', async () => {
  let inside: unknown;
  let passed = '';
  const { ask, served } = open(() => [route('acme.localhost')], {
    fetch: async ({ headers }) => {
      passed = headers.get('traceparent') ?? '';
      await Promise.resolve();
      inside = servedNode();
      return new Response('made', { status: 201 });
    },
  });
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  const asked = await ask('http://acme.localhost/orders/Ord_1?token=hush', { method: 'POST', headers });
  expect(asked.status).toBe(201);
  const { tenant, scope, vertical, version, surface } = route('acme.localhost');
  const node = { tenant, scope, vertical, version, surface };
  const said = {
    method: 'POST',
    place: 'POST/orders/id',
    status: 201,
    durationMs: 5,
    atMs: expect.any(Number),
    traceId: trace,
    parentSpanId: '00f067aa0ba902b7',
    spanId: passed.split('-')[2],
  };
  expect(served).toEqual([{ ...node, ...said }]);
  expect(inside).toEqual(node);
  expect(servedNode()).toBeNull();
  await ask('http://api.localhost/tenants');
  expect(served).toHaveLength(1);
});

test('an error that an application throws counts as a 500, and goes on', async () => {
  const { get, served } = open(() => [route('acme.localhost')], {
    fetch: () => {
      throw new Error('our bug');
    },
  });
  await expect(get('http://acme.localhost/')).rejects.toThrow('our bug');
  expect(served).toMatchObject([{ status: 500 }]);
});

test('spec 4.6: no limit counts or refuses a request of the public surface, and every other one is counted', async () => {
  const admitted: string[] = [];
  const full = (): never => {
    throw new PlatformError('rate_limited', 'Too many.', { headers: { 'retry-after': '9' } });
  };
  const { ask, calls, served } = open(() => [route('acme.localhost')], {
    gate: {
      admit: (_, { method }) => {
        admitted.push(method);
        full();
      },
      hold: full,
    },
  });
  for (const path of ['/public', '/public/appointments', '/public/']) {
    const answer = await ask(`http://acme.localhost:1${path}`, { method: 'POST' });
    expect([path, answer.status]).toEqual([path, 200]);
  }
  expect(admitted).toEqual([]);
  const count = calls.length;
  for (const path of ['/', '/publicity', '/x/public', '/public/../orders', '/public%2f../orders']) {
    const answer = await ask(`http://acme.localhost:1${path}`);
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 429, '9']);
  }
  // A refused request reaches no application, and is not metered.
  expect([calls.length, served.length]).toEqual([count, count]);
});
