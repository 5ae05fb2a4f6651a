import { readFileSync } from 'node:fs';
import { PlatformError, problemDocument, type TenantId } from '@freehold/contracts';
import { adminOperations } from '@freehold/directory/declarations';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { type HostAdminDouble, hostAdminDouble, TOKEN } from '../../test/support/host-admin-double.ts';
import { aThing, sampleOperations } from '../../test/support/sample-operations.ts';
import { controlPlaneApp } from '../app.ts';
import { makeTenantClientOf } from './client.ts';
import {
  type ClientOptions,
  type ControlPlaneClient,
  ControlPlaneError,
  makeClient,
  makeControlPlaneClient,
  makeTenantClient,
} from './index.ts';
import type { BuilderTable, ClientOf } from './types.ts';

/** A client whose requests go straight into an app over a double, and what went over the wire. */
function setUp(hostAdmin: HostAdminDouble, options: Partial<ClientOptions> = {}) {
  const app = controlPlaneApp({
    hostAdmin,
    operations: sampleOperations,
    onIncident: () => undefined,
    now: () => 0,
    newRequestId: () => 'req_1',
  });
  const wire = recorder((request) => app.fetch(request));
  return { client: makeClient(sampleOperations, { ...wire.options, ...options }), ...wire };
}

/** Client options that record requests and waits, with a clock and chance that stand still. */
function recorder(answer: (request: Request, attempt: number) => Response | Promise<Response>) {
  const sent: Request[] = [];
  const waits: number[] = [];
  const options: ClientOptions = {
    baseUrl: 'https://control.example',
    token: TOKEN,
    fetch: async (request) => {
      sent.push(request.clone());
      return answer(request, sent.length);
    },
    sleep: async (ms) => void waits.push(ms),
    random: () => 0.5,
    now: () => Date.UTC(2026, 10, 21),
    newIdempotencyKey: () => `key-${sent.length}`,
  };
  return { sent, waits, options };
}

const ok = (value: unknown, headers: Record<string, string> = {}): Response =>
  Response.json(value, { headers });

describe('a method of the client (C-33)', () => {
  test('sends what its declaration says and answers the declared value', async () => {
    const admin = hostAdminDouble(() => ({ status: 201, value: aThing }));
    const { client, sent } = setUp(admin);
    const made = await client.things.create({ body: { tenant: 't', name: 'One' } });
    expect(made).toEqual(aThing);
    expectTypeOf(made.labels[0]?.lang).toEqualTypeOf<string | undefined>();
    expect(`${sent[0]?.method} ${sent[0]?.url}`).toBe('POST https://control.example/things');
    expect(admin.performed[0]).toMatchObject({ body: { name: 'One', labels: [] }, idempotencyKey: 'key-0' });
  });

  test('escapes path values, repeats query lists and leaves out what is undefined', async () => {
    const { options, sent } = recorder(() => ok({ items: [], nextCursor: null }));
    const client = makeClient(sampleOperations, { ...options, baseUrl: 'https://host.example/api/' });
    await client.things.list({
      query: { q: 'a b&c', color: ['red', 'green'], open: false, cursor: undefined } as never,
    });
    expect(sent[0]?.url).toBe('https://host.example/api/things?q=a+b%26c&color=red&color=green&open=false');
    await client.things.get({ params: { thing: 'a/b?' } }).catch(() => undefined);
    expect(sent[1]?.url).toBe('https://host.example/api/things/a%2Fb%3F');
  });

  test('refuses a path value that would lead to another operation', async () => {
    const { options, sent } = recorder(() => ok(aThing));
    const client = makeClient(sampleOperations, options);
    for (const thing of ['..', '.', ''])
      await expect(client.things.get({ params: { thing } })).rejects.toBeInstanceOf(TypeError);
    expect(sent).toEqual([]);
  });

  test('answers version, replay mark and log head on request', async () => {
    const admin = hostAdminDouble(() => ({
      value: aThing,
      etag: '7',
      replayed: true,
      head: { sequence: 3, hash: 'abc' },
    }));
    const { client } = setUp(admin);
    const input = { params: { thing: 'thing-1' }, body: { name: 'x' } };
    expect(
      await client.things.rename.response(input, {
        ifMatch: '6',
        idempotencyKey: 'a"key"',
      }),
    ).toEqual({
      value: aThing,
      status: 200,
      requestId: 'req_1',
      etag: '7',
      replayed: true,
      head: { sequence: 3, hash: 'abc' },
    });
    expect(admin.performed[0]).toMatchObject({ ifMatch: '6', idempotencyKey: 'a"key"' });
  });

  test('that answers nothing answers null', async () => {
    const { client } = setUp(hostAdminDouble(() => ({ status: 204 })));
    expect(await client.things.delete({ params: { thing: 'thing-1' } })).toBeNull();
  });

  test('is in camel case and needs no input where nothing is required', async () => {
    const { client } = setUp(hostAdminDouble(() => ({ value: { done: true } })));
    expect(await client.deadThings.setAll()).toEqual({ done: true });
    expectTypeOf(client.things.get).parameter(0).toEqualTypeOf<
      { readonly params: Readonly<{ thing: string }> } & { readonly query?: undefined } & {
        readonly body?: undefined;
      }
    >();
  });

  test('asks for its token before every attempt', async () => {
    const { options, sent } = recorder((_, attempt) =>
      attempt === 1 ? new Response('', { status: 503 }) : ok(aThing),
    );
    let count = 0;
    const client = makeClient(sampleOperations, { ...options, token: async () => `fh_svc_${++count}` });
    await client.things.get({ params: { thing: 'thing-1' } });
    expect(sent.map((request) => request.headers.get('authorization'))).toEqual([
      'Bearer fh_svc_1',
      'Bearer fh_svc_2',
    ]);
  });
});

test('a list is walked page by page, as far as it is asked for', async () => {
  const page = (n: number) => [
    { ...aThing, id: `thing-${2 * n}` },
    { ...aThing, id: `thing-${2 * n + 1}` },
  ];
  const admin = hostAdminDouble(({ query }) => {
    const n = Number(query.cursor ?? 0);
    return { value: { items: page(n), nextCursor: n < 2 ? String(n + 1) : null } };
  });
  const { client } = setUp(admin);
  const ids: string[] = [];
  for await (const thing of client.things.list.iterate({ query: { q: 'x', limit: 2 } })) ids.push(thing.id);
  expect(ids).toEqual([0, 1, 2, 3, 4, 5].map((n) => `thing-${n}`));
  expect(admin.performed.map(({ query }) => query)).toEqual([
    { q: 'x', limit: 2 },
    { q: 'x', limit: 2, cursor: '1' },
    { q: 'x', limit: 2, cursor: '2' },
  ]);
  for await (const _first of client.things.list.iterate()) break;
  expect(admin.performed).toHaveLength(4);
  expect(client.things.get).not.toHaveProperty('iterate');
  expectTypeOf(client.things.get).not.toHaveProperty('iterate');
});

describe('a failure', () => {
  test('carries the problem, its code and the request id', async () => {
    const admin = hostAdminDouble(() => {
      throw new PlatformError('invalid_transition', 'It is gone.', { reason: 'thing_gone' });
    });
    const { client } = setUp(admin);
    const error = await client.things
      .rename({ params: { thing: 'thing-1' }, body: {} })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ControlPlaneError);
    expect(error).toMatchObject({
      message: 'It is gone.',
      status: 409,
      code: 'invalid_transition',
      reason: 'thing_gone',
      requestId: 'req_1',
      problem: { type: '/problems/invalid_transition' },
    });
  });

  test.each([
    [
      'a proxy’s page',
      () => new Response('<h1>no</h1>', { status: 404, headers: { 'content-type': 'text/html' } }),
      404,
    ],
    [
      'a problem of another form',
      () => new Response('{}', { status: 400, headers: { 'content-type': 'application/problem+json' } }),
      400,
    ],
    [
      'a redirect',
      () => new Response(null, { status: 302, headers: { location: 'https://evil.example' } }),
      302,
    ],
    ['an answer that is no JSON', () => new Response('<p>hello'), 200],
    ['an answer of another form', () => ok({ id: 'thing-1' }), 200],
  ])('that is %s has no problem document', async (_, response, status) => {
    const { options, sent } = recorder(response);
    const client = makeClient(sampleOperations, options);
    const error = await client.things.get({ params: { thing: 'thing-1' } }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ControlPlaneError);
    expect(error).toMatchObject({ status, problem: null, code: null, reason: null });
    expect(sent).toHaveLength(1);
    expect(sent[0]?.redirect).toBe('manual');
  });
});

describe('a call is tried again', () => {
  const get = (options: ClientOptions) =>
    makeClient(sampleOperations, options).things.get({ params: { thing: 'thing-1' } });

  test.each([429, 502, 503, 504])('after %i, with growing waits, twice at most', async (status) => {
    const { options, sent, waits } = recorder(() => new Response('', { status }));
    await expect(get(options)).rejects.toMatchObject({ status });
    expect(sent).toHaveLength(3);
    expect(waits).toEqual([125, 250]);
  });

  test.each([400, 401, 403, 404, 409, 412, 500, 501])('but not after %i', async (status) => {
    const { options, sent } = recorder(() => new Response('', { status }));
    await expect(get(options)).rejects.toMatchObject({ status });
    expect(sent).toHaveLength(1);
  });

  test('with one idempotency key for all attempts, a new one for every call', async () => {
    const { options, sent } = recorder((_, attempt) =>
      attempt % 2 === 1 ? new Response('', { status: 502 }) : new Response(null, { status: 204 }),
    );
    const client = makeClient(sampleOperations, options);
    await client.things.delete({ params: { thing: 'thing-1' } });
    await client.things.delete({ params: { thing: 'thing-1' } });
    const keys = sent.map((request) => request.headers.get('idempotency-key'));
    expect(keys).toEqual(['"key-0"', '"key-0"', '"key-2"', '"key-2"']);
  });

  test('after the network failed, and its error goes on when it keeps failing', async () => {
    const down = new TypeError('fetch failed');
    const { options, sent } = recorder((_, attempt) => (attempt < 3 ? Promise.reject(down) : ok(aThing)));
    expect(await get(options)).toEqual(aThing);
    expect(sent).toHaveLength(3);
    const dead = recorder(() => Promise.reject(down));
    await expect(get({ ...dead.options, retriesMax: 1 })).rejects.toBe(down);
    expect(dead.sent).toHaveLength(2);
  });

  test.each([
    ['2', [2000]],
    ['Sat, 21 Nov 2026 00:00:07 GMT', [7000]],
    ['Fri, 20 Nov 2026 00:00:00 GMT', [0]],
    ['nonsense', [125]],
    ['61', []],
  ])('after Retry-After: %s', async (header, expected) => {
    const { options, waits } = recorder((_, attempt) =>
      attempt === 1 ? new Response('', { status: 503, headers: { 'retry-after': header } }) : ok(aThing),
    );
    await get(options).catch(() => undefined);
    expect(waits).toEqual(expected);
  });

  test('never, once the caller gave up', async () => {
    const controller = new AbortController();
    const { options, sent } = recorder(() => {
      controller.abort();
      return Promise.reject(new TypeError('fetch failed'));
    });
    const call = makeClient(sampleOperations, options).things.get(
      { params: { thing: 'thing-1' } },
      { signal: controller.signal },
    );
    await expect(call).rejects.toThrow('fetch failed');
    expect(sent).toHaveLength(1);
  });

  test('and a wait ends when the caller gives up', async () => {
    const { options } = recorder(() => new Response('', { status: 503, headers: { 'retry-after': '59' } }));
    const { sleep: _, ...withTimer } = options;
    const controller = new AbortController();
    const call = makeClient(sampleOperations, withTimer).things.get(
      { params: { thing: 'thing-1' } },
      { signal: controller.signal },
    );
    setImmediate(() => controller.abort(new Error('enough')));
    await expect(call).rejects.toThrow('enough');
  });
});

describe('spec C-33: what goes over the wire', () => {
  const remove = (options: ClientOptions, more = {}) =>
    makeClient(sampleOperations, options).things.delete({ params: { thing: 'thing-1' } }, more);
  const running = () =>
    problemDocument(
      new PlatformError('conflict', 'It is still running.', { reason: 'idempotency_in_progress' }),
    );

  test('a call that is still running is waited for by its own sender only', async () => {
    const own = recorder((_, attempt) =>
      attempt === 1
        ? Promise.reject(new TypeError('fetch failed'))
        : attempt < 4
          ? running()
          : new Response(null, { status: 204 }),
    );
    await remove(own.options);
    expect(own.waits).toEqual([125, 2000, 2000]);
    const other = recorder(running);
    await expect(remove(other.options, { idempotencyKey: 'another-caller' })).rejects.toMatchObject({
      status: 409,
      reason: 'idempotency_in_progress',
    });
    expect(other.sent).toHaveLength(1);
  });

  test('a condition is a tag in quotes, or a bare star', async () => {
    const { options, sent } = recorder(() => new Response(null, { status: 204 }));
    await remove(options, { ifMatch: '7' });
    await remove(options, { ifMatch: '*' });
    expect(sent.map(({ headers }) => headers.get('if-match'))).toEqual(['"7"', '*']);
  });

  test('the base address keeps its path and nothing behind it', async () => {
    const { options, sent } = recorder(() => new Response(null, { status: 204 }));
    await remove({ ...options, baseUrl: 'https://control.example/api/?token=x' });
    expect(sent[0]?.url).toBe('https://control.example/api/things/thing-1');
  });

  test('a version that a proxy made weak is the same version; only `true` marks a replay', async () => {
    const { options } = recorder(() => ok(aThing, { etag: 'W/"7"', 'idempotency-replayed': 'false' }));
    const { get } = makeClient(sampleOperations, options).things;
    expect(await get.response({ params: { thing: 'thing-1' } })).toMatchObject({
      etag: '7',
      replayed: false,
    });
  });

  test('waits grow to eight seconds and no further, and a minute that is asked for is waited', async () => {
    const growing = recorder(() => new Response('', { status: 503 }));
    await remove({ ...growing.options, retriesMax: 8 }).catch(() => undefined);
    expect(growing.waits).toEqual([125, 250, 500, 1000, 2000, 4000, 4000, 4000]);
    const asked = recorder((_, attempt) =>
      attempt === 1
        ? new Response('', { status: 503, headers: { 'retry-after': '60' } })
        : new Response(null, { status: 204 }),
    );
    await remove(asked.options);
    expect(asked.waits).toEqual([60_000]);
  });
});

describe('the tenant’s client (C-33)', () => {
  const narrow = (answer: unknown) => {
    const wire = recorder(() => ok(answer));
    return { ...wire, client: makeTenantClientOf(sampleOperations, wire.options, 'tnt_mine') };
  };

  test('has only what a builder may do', () => {
    const { client } = narrow(null);
    expect(Object.keys(client)).toEqual(['things']);
    expect(Object.keys(client.things).sort()).toEqual(['create', 'get', 'list']);
  });

  test('names its own tenant in every part that takes one, whatever the caller passes', async () => {
    const { client, sent } = narrow(aThing);
    await client.things.create({ body: { name: 'One', tenant: 'tnt_other' } as { name: string } });
    expect(await sent[0]?.json()).toEqual({ name: 'One', tenant: 'tnt_mine' });
    await client.things.list().catch(() => undefined);
    expect(sent[1]?.url).toBe('https://control.example/things?tenant=tnt_mine');
    await client.things.get({ params: { thing: 'thing-1' } });
    expect(sent[2]?.url).toBe('https://control.example/things/thing-1');
  });

  test('fills in the tenant of the real operations, which its types leave out', async () => {
    const tenant = 'tnt_01jd3v9x4ke8m2n6p0q5r7s9tv' as TenantId;
    const { options, sent } = recorder(() => ok({ items: [], nextCursor: null }));
    const client = makeTenantClient(options, tenant);
    await client.scopes.list();
    await client.hostnames.list({ query: { status: 'active' } });
    expect(sent.map(({ url }) => url)).toEqual([
      `https://control.example/tenants/${tenant}/scopes`,
      `https://control.example/hostnames?status=active&tenant=${tenant}`,
    ]);
    const open = Object.values(adminOperations).filter(({ builder }) => builder === 'own-tenant');
    expect(Object.values(client).flatMap((family) => Object.keys(family))).toHaveLength(open.length);
  });
});

test('the types of the tenant’s client leave out what is for staff alone', () => {
  const table = {
    'things.get': { ...sampleOperations['things.get'], builder: 'own-tenant' as const },
    'staff-things.get': { ...sampleOperations['things.get'], builder: 'none' as const },
  };
  expectTypeOf<ClientOf<BuilderTable<typeof table>>>().toHaveProperty('things');
  expectTypeOf<ClientOf<BuilderTable<typeof table>>>().not.toHaveProperty('staffThings');
  expect(Object.keys(makeTenantClientOf(table, recorder(() => ok(null)).options, 'tnt_mine'))).toEqual([
    'things',
  ]);
});

test('the client has a method for every admin operation (C-33)', () => {
  const client: ControlPlaneClient = makeControlPlaneClient(recorder(() => ok(null)).options);
  expect(Object.values(client).flatMap((family) => Object.keys(family))).toHaveLength(
    Object.keys(adminOperations).length,
  );
  expectTypeOf(client.tenants.update).returns.resolves.toHaveProperty('slug');
  expectTypeOf(client.adminLog.list).toHaveProperty('iterate');
  expect(
    Object.isFrozen(client) && Object.isFrozen(client.tenants) && Object.isFrozen(client.tenants.create),
  ).toBe(true);
});

test('spec C-09: the types say when a plan is answered instead of the thing', () => {
  const { tenants, hostnames } = makeControlPlaneClient(recorder(() => ok(null)).options);
  const params = { tenant: 'tnt_01jd0000000000000000000001' as TenantId };
  const body = { status: 'suspended' } as const;
  const calls = () => ({
    done: tenants.setStatus({ params, body }),
    planned: tenants.setStatus({ params, body, query: { dryRun: true } }),
    either: tenants.setStatus({ params, body, query: { dryRun: params.tenant.length > 3 } }),
    gone: hostnames.delete({ params: { hostname: 'a.example' } }),
  });
  type Calls = ReturnType<typeof calls>;
  expectTypeOf<Calls['done']>().resolves.toHaveProperty('etag');
  expectTypeOf<Calls['planned']>().resolves.toHaveProperty('effect');
  expectTypeOf<Calls['planned']>().resolves.not.toHaveProperty('etag');
  expectTypeOf<Awaited<Calls['done']> | Awaited<Calls['planned']>>().toEqualTypeOf<
    Awaited<Calls['either']>
  >();
  expectTypeOf<Calls['gone']>().resolves.toBeNull();
});

test('the client brings nothing along but the contracts and the declarations', () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const visit = (url: URL): void => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    for (const [, typeOnly, name] of readFileSync(url, 'utf8').matchAll(
      /(?:import|export)( type)? [^;]*?from '([^']+)'/g,
    )) {
      if (name?.startsWith('.')) visit(new URL(name, url));
      else if (name && !typeOnly) outside.add(name);
    }
  };
  visit(new URL('./index.ts', import.meta.url));
  expect([...outside].sort()).toEqual([
    '@freehold/contracts',
    '@freehold/directory/declarations',
    '@freehold/operations',
    '@freehold/operations/client',
    'zod',
  ]);
  expect([...seen].some((file) => file.endsWith('app.ts'))).toBe(false);
});
