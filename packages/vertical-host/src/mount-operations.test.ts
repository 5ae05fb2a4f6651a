import { PlatformError, problemSchema } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declare, type FakeScope, fakeScope, type Handler, sampleOperations } from '../test/fixtures.ts';
import { type MountOperationsOptions, mountOperations } from './mount-operations.ts';

interface Sample {
  readonly app: Hono;
  readonly scope: FakeScope;
  readonly incidents: unknown[];
}

function sample(
  handler?: Handler,
  options: MountOperationsOptions = {},
  operations: OperationTable = sampleOperations,
): Sample {
  const app = new Hono();
  const scope = fakeScope(operations, handler);
  const incidents: unknown[] = [];
  mountOperations(app, operations, () => scope, {
    onIncident: (error) => void incidents.push(error),
    newRequestId: () => 'req-generated',
    ...options,
  });
  return { app, scope, incidents };
}

function json(method: string, body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  return problemSchema.parse(await response.json());
}

/** A name, a declaration and why it cannot be served. */
type Unservable = [string, Parameters<typeof declare<z.ZodType, z.ZodType>>[0], RegExp];

function mount(operations: OperationTable): () => void {
  return () => mountOperations(new Hono(), operations, () => fakeScope(operations));
}

describe('routes', () => {
  test('D-09 an operation is reached at its binding, or at POST /api/op/<name>', async () => {
    const { app, scope } = sample();
    expect((await app.request('/api/op/order/create', json('POST', { customer: 'ada' }))).status).toBe(200);
    expect((await app.request('/api/orders/17?verbose=true')).status).toBe(200);
    expect((await app.request('/api/orders/17', json('PATCH', { note: null }))).status).toBe(200);
    expect((await app.request('/api/orders/17/lines/3', { method: 'DELETE' })).status).toBe(200);
    expect(scope.calls).toEqual([
      { operation: 'order/create', input: { customer: 'ada' } },
      { operation: 'order/read', input: { id: '17', verbose: true } },
      { operation: 'order/update', input: { id: '17', note: null } },
      { operation: 'line/remove', input: { order: '17', number: 3 } },
    ]);
  });

  test('D-09 two declarations that dispatch identically fail at mount, naming both', () => {
    const byId = z.strictObject({ id: z.string() });
    const byCode = z.strictObject({ code: z.string() });
    const shared = mount({
      'order/read': declare({ input: byId, output: z.null(), http: { method: 'GET', path: '/orders/:id' } }),
      'order/find': declare({
        input: byCode,
        output: z.null(),
        http: { method: 'GET', path: '/orders/:code' },
      }),
    });
    expect(shared).toThrow(/order\/read and order\/find .*identically/);
    const taken = mount({
      'docs/read': declare({
        input: z.strictObject({}),
        output: z.null(),
        http: { method: 'GET', path: '/api/openapi.json' },
      }),
    });
    expect(taken).toThrow(/docs\/read and the OpenAPI document .*identically/);
  });

  test('D-09 another method, and a literal beside a parameter, are not the same dispatch', async () => {
    const id = z.strictObject({ id: z.string() });
    const operations: OperationTable = {
      // Declared in the order that would hide the literal one.
      'order/read': declare({ input: id, output: z.null(), http: { method: 'GET', path: '/orders/:id' } }),
      'order/drop': declare({ input: id, output: z.null(), http: { method: 'DELETE', path: '/orders/:id' } }),
      'order/stats': declare({
        input: z.strictObject({}),
        output: z.null(),
        http: { method: 'GET', path: '/orders/stats' },
      }),
    };
    const { app, scope } = sample(undefined, {}, operations);
    await app.request('/orders/stats');
    await app.request('/orders/7');
    await app.request('/orders/stats', { method: 'DELETE' });
    expect(scope.calls.map((call) => call.operation)).toEqual(['order/stats', 'order/read', 'order/drop']);
  });

  test.each([
    [
      'an input that drops unknown fields',
      { input: z.object({}), output: z.null() },
      /refuse unknown fields/,
    ],
    [
      'an input that takes any field',
      { input: z.looseObject({}), output: z.null() },
      /refuse unknown fields/,
    ],
    ['an input that is no object', { input: z.string(), output: z.null() }, /must be an object/],
    [
      'a union with one lax member',
      { input: z.union([z.strictObject({ a: z.string() }), z.object({ b: z.string() })]), output: z.null() },
      /refuse unknown fields/,
    ],
    [
      'an input that JSON cannot say',
      { input: z.strictObject({ at: z.date() }), output: z.null() },
      /cannot be/,
    ],
    [
      'a path parameter that is no field',
      { input: z.strictObject({}), output: z.null(), http: { method: 'GET', path: '/orders/:id' } },
      /no field id/,
    ],
    [
      'a parameter that is named twice',
      {
        input: z.strictObject({ id: z.string() }),
        output: z.null(),
        http: { method: 'GET', path: '/orders/:id/:id' },
      },
      /twice/,
    ],
    [
      'an object in the query',
      {
        input: z.strictObject({ filter: z.strictObject({}) }),
        output: z.null(),
        http: { method: 'GET', path: '/orders' },
      },
      /cannot carry/,
    ],
    [
      'a wildcard',
      { input: z.strictObject({}), output: z.null(), http: { method: 'GET', path: '/orders/*' } },
      /plain words/,
    ],
    [
      'an optional parameter',
      {
        input: z.strictObject({ id: z.string() }),
        output: z.null(),
        http: { method: 'GET', path: '/o/:id?' },
      },
      /plain words/,
    ],
    [
      'an empty segment',
      { input: z.strictObject({}), output: z.null(), http: { method: 'GET', path: '/orders/' } },
      /plain words/,
    ],
    [
      'the platform’s own prefix',
      { input: z.strictObject({}), output: z.null(), http: { method: 'POST', path: '/internal/x' } },
      /belongs to the platform/,
    ],
    [
      'a GET that changes something',
      { input: z.strictObject({}), output: z.null(), readOnly: false, http: { method: 'GET', path: '/x' } },
      /not read-only/,
    ],
  ] as Unservable[])('a declaration with %s fails at mount, by name', (_, declaration, reason) => {
    const operations: OperationTable = { 'bad/one': declare(declaration) };
    expect(mount(operations)).toThrow(/bad\/one cannot be mounted/);
    expect(mount(operations)).toThrow(reason);
  });

  test('a known path with another method is 405 and says which it takes, over all routes that fit', async () => {
    const { app } = sample();
    const response = await app.request('/api/orders/17', { method: 'PUT' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS, PATCH');
    expect((await problemOf(response)).code).toBe('method_not_allowed');
    const literal = await app.request('/api/orders/export', { method: 'DELETE' });
    expect(literal.headers.get('allow')).toBe('GET, HEAD, OPTIONS, PATCH, POST');
    const post = await app.request('/api/op/order/create');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
  });

  test('OPTIONS is answered with what the path takes', async () => {
    const response = await sample().app.request('/api/orders', { method: 'OPTIONS' });
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([
      204,
      'GET, HEAD, OPTIONS',
      '',
    ]);
  });

  test('HEAD is GET without the body', async () => {
    const { app, scope } = sample(() => ({ version: 'evt_1' }));
    const response = await app.request('/api/orders/17', { method: 'HEAD' });
    expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([
      200,
      '"evt_1"',
      '',
    ]);
    expect(scope.calls).toHaveLength(1);
    expect((await app.request('/api/op/order/create', { method: 'HEAD' })).status).toBe(405);
  });

  test('an app that is mounted under a prefix of another reads its parameters alike', async () => {
    const { app, scope } = sample();
    const outer = new Hono().route('/tenant/acme', app);
    expect((await outer.request('/tenant/acme/api/orders/17')).status).toBe(200);
    expect(scope.calls[0]?.input).toEqual({ id: '17' });
    expect((await outer.request('/tenant/acme/api/orders/17', { method: 'PUT' })).headers.get('allow')).toBe(
      'GET, HEAD, OPTIONS, PATCH',
    );
  });
});

describe('input', () => {
  test('query text becomes what the schema takes', async () => {
    const { app, scope } = sample();
    const response = await app.request(
      '/api/orders?limit=5&ratio=-1.5e2&tags=new&tags=paid&before=null&open=false&status=12&q=null',
    );
    expect(response.status).toBe(200);
    expect(scope.calls[0]?.input).toEqual({
      limit: 5,
      ratio: -150,
      tags: ['new', 'paid'],
      before: null,
      open: false,
      status: 12,
      // A field that takes any string takes this one too.
      q: 'null',
    });
    await app.request('/api/orders?tags=new&status=any');
    expect(scope.calls[1]?.input).toEqual({ limit: 10, tags: ['new'], status: 'any' });
  });

  test.each([
    ['/api/orders?limit=ten', 'limit'],
    ['/api/orders?limit=1.5', 'limit'],
    ['/api/orders?limit=0x10', 'limit'],
    ['/api/orders?limit=%201', 'limit'],
    ['/api/orders?limit=', 'limit'],
    ['/api/orders?limit=9007199254740993', 'limit'],
    ['/api/orders?ratio=1e999', 'ratio'],
    ['/api/orders?limit=1&limit=2', 'limit'],
    ['/api/orders?limit=51', 'limit'],
    ['/api/orders?open=yes', 'open'],
    ['/api/orders?tags=new&tags=old', 'tags.1'],
    ['/api/orders?status=some', 'status'],
    ['/api/orders/%ff', 'id'],
    ['/api/orders/17?id=18', 'id'],
  ])('%s is 400 and names %s', async (path, field) => {
    const { app, scope } = sample();
    const response = await app.request(path);
    expect(response.status).toBe(400);
    const problem = await problemOf(response);
    expect(problem.code).toBe('validation_failed');
    expect(problem.errors?.map((each) => each.path)).toContain(field);
    expect(scope.calls).toEqual([]);
  });

  test('a parameter is decoded once', async () => {
    const { app, scope } = sample();
    await app.request('/api/orders/a%2Fb%2541%C3%BC');
    expect(scope.calls[0]?.input).toEqual({ id: 'a/b%41ü' });
  });

  test('unknown fields are refused, in the query and in the body, prototype names included', async () => {
    const { app, scope } = sample();
    const answers = await Promise.all([
      app.request('/api/orders?limt=5'),
      app.request('/api/orders?__proto__=5'),
      app.request('/api/op/order/create', json('POST', { customer: 'ada', admin: true })),
      app.request('/api/op/order/create', {
        ...json('POST', {}),
        body: '{"customer":"ada","__proto__":{"admin":true}}',
      }),
      app.request('/api/op/order/create?customer=ada', { method: 'POST' }),
    ]);
    expect(answers.map((each) => each.status)).toEqual([400, 400, 400, 400, 400]);
    expect(scope.calls).toEqual([]);
  });

  test('a body field may repeat the path but not contradict it', async () => {
    const { app, scope } = sample();
    const path = '/api/orders/17/lines/3';
    expect((await app.request(path, json('DELETE', { order: '17', number: 3 }))).status).toBe(200);
    for (const body of [{ order: '18' }, { number: 4 }, { number: '3' }, { order: null }]) {
      const response = await app.request(path, json('DELETE', body));
      expect(response.status).toBe(400);
      expect((await problemOf(response)).errors?.[0]).toEqual({
        path: Object.keys(body)[0],
        message: 'contradicts the path',
      });
    }
    expect(scope.calls).toHaveLength(1);
  });

  test('an empty body is an empty object', async () => {
    const { app, scope } = sample();
    expect((await app.request('/api/orders/17/lines/3', { method: 'DELETE' })).status).toBe(200);
    const missing = await app.request('/api/op/order/create', { method: 'POST' });
    expect((await problemOf(missing)).errors?.[0]?.path).toBe('customer');
    expect(scope.calls).toHaveLength(1);
  });

  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=latin1', 415],
    ['application/jsonp', 415],
    ['', 415],
    ['application/json', 200],
    ['Application/JSON; Charset="UTF-8"', 200],
    ['application/vnd.acme.order+json', 415],
  ])('a body of type %j is %i', async (type, status) => {
    const { app } = sample();
    const response = await app.request('/api/op/order/create', {
      method: 'POST',
      body: '{"customer":"ada"}',
      headers: { 'content-type': type },
    });
    expect(response.status).toBe(status);
    if (status === 415) expect((await problemOf(response)).code).toBe('unsupported_media_type');
  });

  test('a body without a type, and a compressed one, are 415', async () => {
    const { app } = sample();
    const untyped = new Request('http://localhost/api/op/order/create', {
      method: 'POST',
      body: new TextEncoder().encode('{"customer":"ada"}'),
    });
    expect(untyped.headers.get('content-type')).toBeNull();
    expect((await app.request(untyped)).status).toBe(415);
    const zipped = await app.request(
      '/api/op/order/create',
      json('POST', {}, { 'content-encoding': 'gzip' }),
    );
    expect(zipped.status).toBe(415);
  });

  test.each([
    ['an array', '[]'],
    ['a string', '"a"'],
    ['null', 'null'],
    ['no JSON', '{customer: 1}'],
    ['two values', '{}{}'],
    ['not UTF-8', Uint8Array.from('{"customer":"\xff"}', (char) => char.charCodeAt(0))],
    ['nested too deep', `{"customer":"a","lines":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ])('a body that is %s is 400', async (_, body) => {
    const { app } = sample();
    const response = await app.request('/api/op/order/create', { ...json('POST', {}), body });
    expect([response.status, (await problemOf(response)).code]).toEqual([400, 'validation_failed']);
  });

  test('a body over the limit is 413, whether it says so or only turns out so', async () => {
    const body = JSON.stringify({ customer: 'x'.repeat(100) });
    const { app, scope } = sample(undefined, { bodyLimitBytes: 64 });
    let pulled = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new TextEncoder().encode(' '.repeat(10)));
      },
    });
    const declared = await app.request('/api/op/order/create', json('POST', {}, { 'content-length': '65' }));
    const sent = await app.request('/api/op/order/create', { ...json('POST', {}), body });
    const streamed = await app.request(
      new Request('http://localhost/api/op/order/create', {
        ...json('POST', {}),
        body: endless,
        duplex: 'half',
      }),
    );
    for (const response of [declared, sent, streamed]) {
      expect([response.status, (await problemOf(response)).code]).toEqual([413, 'payload_too_large']);
    }
    expect(pulled).toBeLessThan(20);
    expect(scope.calls).toEqual([]);
    const fits = JSON.stringify({ customer: 'x'.repeat(49) });
    expect(fits).toHaveLength(64);
    expect((await app.request('/api/op/order/create', { ...json('POST', {}), body: fits })).status).toBe(200);
  });

  test('the limit is 1 MiB unless told otherwise', async () => {
    const { app } = sample();
    const send = (bytes: number) =>
      app.request('/api/op/order/create', {
        ...json('POST', {}),
        body: `${'{"customer":"a"}'.padEnd(bytes)}`,
      });
    expect((await send(1024 * 1024)).status).toBe(200);
    expect((await send(1024 * 1024 + 1)).status).toBe(413);
  });

  test('a body that breaks off is the caller’s failure', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    const response = await sample().app.request(
      new Request('http://localhost/api/op/order/create', {
        ...json('POST', {}),
        body: broken,
        duplex: 'half',
      }),
    );
    expect(response.status).toBe(400);
  });

  test('a body that a middleware has read is read again', async () => {
    const app = new Hono();
    const scope = fakeScope(sampleOperations);
    app.use(async (c, next) => {
      await c.req.text();
      await next();
    });
    mountOperations(app, sampleOperations, () => scope);
    expect((await app.request('/api/op/order/create', json('POST', { customer: 'ada' }))).status).toBe(200);
    expect(scope.calls[0]?.input).toEqual({ customer: 'ada' });
  });
});

describe('D-10 repetition and preconditions', () => {
  test('every unsafe method hands Idempotency-Key and If-Match to the scope', async () => {
    const { app, scope } = sample();
    const headers = { 'idempotency-key': '"key-1"', 'if-match': '"evt_1"' };
    await app.request('/api/op/order/create', json('POST', { customer: 'ada' }, headers));
    await app.request('/api/orders/17', json('PATCH', { note: 'x' }, headers));
    await app.request('/api/orders/17/lines/3', { method: 'DELETE', headers });
    for (const call of scope.calls) expect(call).toMatchObject({ idempotencyKey: 'key-1', ifMatch: 'evt_1' });
    expect(scope.calls).toHaveLength(3);
  });

  test.each([
    ['W/"evt_1"', 412],
    ['W/"a", W/"b"', 412],
    ['""', 412],
    ['"*"', 412],
    ['"a", "b"', 400],
    ['evt_1', 200],
    ['"open', 400],
    ['"evt_1",,"evt_1"', 200],
    ['W/"evt_0", "evt_1"', 200],
    ['*', 200],
  ])('If-Match: %s is %i', async (tags, status) => {
    const { app, scope } = sample();
    const response = await app.request('/api/orders/17', json('PATCH', { note: null }, { 'if-match': tags }));
    expect(response.status).toBe(status);
    if (status === 412) expect((await problemOf(response)).code).toBe('precondition_failed');
    expect(scope.calls.map(({ ifMatch }) => ifMatch)).toEqual(
      status === 200 ? [tags === '*' ? '*' : 'evt_1'] : [],
    );
  });

  test('a GET carries neither', async () => {
    const { app, scope } = sample();
    await app.request('/api/orders/17', { headers: { 'idempotency-key': 'k', 'if-match': '"v"' } });
    expect(Object.keys(scope.calls[0] ?? {}).sort()).toEqual(['input', 'operation']);
  });

  test('a stale version is 412 precondition_failed, a conflicting reuse 409 conflict', async () => {
    const { app } = sample(({ ifMatch, idempotencyKey }) => {
      if (ifMatch === 'old') throw new PlatformError('precondition_failed', 'Stale.');
      if (idempotencyKey === 'used')
        throw new PlatformError('conflict', 'Used.', { reason: 'idempotency_key' });
      return {};
    });
    const stale = await app.request('/api/orders/17', json('PATCH', { note: null }, { 'if-match': '"old"' }));
    expect([stale.status, (await problemOf(stale)).code]).toEqual([412, 'precondition_failed']);
    const reused = await app.request(
      '/api/orders/17',
      json('PATCH', { note: null }, { 'idempotency-key': 'used' }),
    );
    const problem = await problemOf(reused);
    expect([reused.status, problem.code, problem.reason]).toEqual([409, 'conflict', 'idempotency_key']);
  });

  test('a replay is the stored answer and says so', async () => {
    const { app } = sample(() => ({
      output: { id: '17' },
      invocation: 'inv_1',
      version: 'evt_9',
      replayed: true,
    }));
    const response = await app.request('/api/op/order/create', json('POST', { customer: 'ada' }));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ id: '17' });
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(response.headers.get('x-invocation-id')).toBe('inv_1');
    expect(response.headers.get('etag')).toBe('"evt_9"');
  });

  test('a first answer does not claim to be a replay, and a read names no invocation', async () => {
    const response = await sample().app.request('/api/orders');
    for (const header of ['idempotency-replayed', 'x-invocation-id', 'etag']) {
      expect(response.headers.has(header)).toBe(false);
    }
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
  });

  test('a malformed key never reaches the scope', async () => {
    const { app, scope } = sample();
    for (const key of ['', 'two words', '"open', 'k'.repeat(256), '"a"; b']) {
      const response = await app.request(
        '/api/op/order/create',
        json('POST', { customer: 'ada' }, { 'idempotency-key': key }),
      );
      expect((await problemOf(response)).errors?.[0]?.path).toBe('Idempotency-Key');
    }
    expect(scope.calls).toEqual([]);
  });

  test('If-None-Match with the present version is 304, without a body', async () => {
    const { app } = sample(() => ({ version: 'evt_2' }));
    const ask = (tag: string) => app.request('/api/orders/17', { headers: { 'if-none-match': tag } });
    for (const tag of ['"evt_2"', 'W/"evt_2"', '"evt_1", "evt_2"', '*']) {
      const response = await ask(tag);
      expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([
        304,
        '"evt_2"',
        '',
      ]);
    }
    for (const tag of ['"evt_1"', '"evt_2', '']) expect((await ask(tag)).status).toBe(200);
  });

  test('If-None-Match does nothing to a write, nor where there is no version', async () => {
    const { app } = sample();
    expect((await app.request('/api/orders/17', { headers: { 'if-none-match': '*' } })).status).toBe(200);
    const write = await sample(() => ({ version: 'evt_2' })).app.request(
      '/api/orders/17',
      json('PATCH', { note: null }, { 'if-none-match': '*' }),
    );
    expect(write.status).toBe(200);
  });
});

describe('a record that is made', () => {
  const byId = z.strictObject({ id: z.string() });
  const table: OperationTable = {
    'tool/create': declare({
      input: z.strictObject({ name: z.string() }),
      output: z.object({ id: z.string() }),
      created: ({ id }) => ({ type: 'tool', id }),
      http: { method: 'POST', path: '/api/tools' },
    }),
    'tool/get': declare({
      input: byId,
      output: z.object({}),
      http: { method: 'GET', path: '/api/tools/:id' },
    }),
    'note/create': declare({
      input: z.strictObject({}),
      output: z.object({ id: z.string() }),
      created: ({ id }) => ({ type: 'note', id }),
    }),
  };
  const made = () => ({ output: { id: 'a/b' }, version: 'evt_1' });

  test('is answered with 201, its address and its version', async () => {
    const { app } = sample(made, {}, table);
    const answer = await app.request('/api/tools', json('POST', { name: 'saw' }));
    expect([answer.status, answer.headers.get('location'), answer.headers.get('etag')]).toEqual([
      201,
      '/api/tools/a%2Fb',
      '"evt_1"',
    ]);
    const above = new Hono().route('/shop', app);
    const below = await above.request('/shop/api/tools', json('POST', { name: 'saw' }));
    expect(below.headers.get('location')).toBe('/shop/api/tools/a%2Fb');
    const document = (await (await app.request('/api/openapi.json')).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, { headers: object }> }>>;
    };
    const { responses = {} } = document.paths['/api/tools']?.post ?? {};
    expect(Object.keys(responses)).not.toContain('200');
    expect(Object.keys(responses[201]?.headers ?? {})).toEqual(expect.arrayContaining(['ETag', 'Location']));
  });

  test('without an address of its own has no Location', async () => {
    const { app } = sample(made, {}, table);
    const answer = await app.request('/api/op/note/create', json('POST', {}));
    expect([answer.status, answer.headers.get('location')]).toEqual([201, null]);
  });

  test('is not made by an operation that only reads', () => {
    const { 'tool/get': read } = table;
    expect(mount({ 'tool/get': { ...read, created: () => ({ type: 'tool', id: '1' }) } as never })).toThrow(
      /tool\/get .*makes a record but is read-only/,
    );
  });
});

describe('the gate', () => {
  test('a caller who is kept out learns nothing about the input', async () => {
    const app = new Hono();
    const keepOut = () => {
      throw new PlatformError('unauthenticated', 'Sign in first.');
    };
    mountOperations(app, sampleOperations, keepOut);
    const answers = await Promise.all([
      app.request('/api/op/order/create', json('POST', { nonsense: 1 })),
      app.request('/api/orders?limit=ten'),
      app.request('/api/openapi.json'),
      app.request('/api/docs'),
    ]);
    for (const response of answers) {
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect((await problemOf(response)).errors).toBeUndefined();
    }
  });

  test.each([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://localhost' }, 403],
    [{ 'sec-fetch-site': '' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'http://localhost:8080' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: 'http://localhost' }, 200],
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://localhost' }, 200],
    [{}, 200],
  ])('an unsafe request with %j is %i', async (headers: Record<string, string>, status) => {
    const asked: string[] = [];
    const app = new Hono();
    const scope = fakeScope(sampleOperations);
    mountOperations(app, sampleOperations, (c) => {
      asked.push(c.req.path);
      return scope;
    });
    const response = await app.request('/api/op/order/create', json('POST', { customer: 'ada' }, headers));
    expect(response.status).toBe(status);
    if (status !== 403) return;
    expect(await problemOf(response)).toMatchObject({ code: 'forbidden', reason: 'cross_site' });
    // The session cookie was not even looked at.
    expect(asked).toEqual([]);
  });

  test('a safe request is not asked where it comes from', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    expect((await sample().app.request('/api/orders', { headers })).status).toBe(200);
  });

  test('an app behind a proxy names its own origin', async () => {
    const { app } = sample(undefined, { ownOrigin: () => 'https://app.example' });
    const send = (origin: string) =>
      app.request('/api/op/order/create', json('POST', { customer: 'ada' }, { origin }));
    expect((await send('https://app.example')).status).toBe(200);
    expect((await send('http://localhost')).status).toBe(403);
  });
});

describe('failures', () => {
  // spec 7.2, row by row
  test.each([
    ['permission_denied', 403],
    ['not_found', 404],
    ['invalid_transition', 409],
    ['immutable', 409],
    ['conflict', 409],
    ['precondition_failed', 412],
    ['runtime_fault', 502],
    ['validation_failed', 400],
    ['rate_limited', 429],
    ['unavailable', 503],
  ] as const)('D-07 a %s of the scope is %i', async (code, status) => {
    const { app, incidents } = sample(() => {
      throw new PlatformError(code, 'As the scope says.', { reason: 'why', headers: { 'retry-after': '7' } });
    });
    const response = await app.request('/api/orders', { headers: { 'x-request-id': 'req-1' } });
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await problemOf(response)).toMatchObject({
      type: `/problems/${code}`,
      status,
      code,
      reason: 'why',
      detail: 'As the scope says.',
      error: 'As the scope says.',
      requestId: 'req-generated',
    });
    expect(incidents).toEqual([]);
  });

  test('D-07 another exception reaches the app’s own handler unchanged, set before or after the mount', async () => {
    const failure = new TypeError('secret detail');
    const { app, incidents } = sample(() => {
      throw failure;
    });
    const seen: unknown[] = [];
    app.onError((err, c) => {
      seen.push(err);
      return c.text('mine', 418);
    });
    const response = await app.request('/api/orders');
    expect([response.status, await response.text(), incidents]).toEqual([418, 'mine', []]);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toBe(failure);
  });

  test('an app without a handler answers 500 without a word about the cause, and records it', async () => {
    const failure = new TypeError('secret detail');
    const { app, incidents } = sample(() => {
      throw failure;
    });
    const response = await app.request('/api/orders');
    const problem = await problemOf(response);
    expect([response.status, problem.code, problem.requestId]).toEqual([500, 'internal', 'req-generated']);
    expect(JSON.stringify(problem)).not.toContain('secret');
    expect(response.headers.get('x-request-id')).toBe('req-generated');
    expect(incidents).toEqual([failure]);
  });

  test('what hono cannot pass on is answered here even when the app has a handler', async () => {
    const { app, incidents } = sample(() => {
      throw 'a string';
    });
    app.onError((_, c) => c.text('mine', 418));
    expect((await app.request('/api/orders')).status).toBe(500);
    expect(incidents).toEqual(['a string']);
  });

  test('an error that carries its own response is that response', async () => {
    const app = new Hono();
    const redirect = new Response(null, { status: 302, headers: { location: '/login' } });
    mountOperations(app, sampleOperations, () => {
      throw new HTTPException(302, { res: redirect });
    });
    const response = await app.request('/api/orders');
    expect([response.status, response.headers.get('location')]).toEqual([302, '/login']);
  });

  test('an output that is no JSON is our bug', async () => {
    const { app, incidents } = sample(() => ({ output: { amount: 1n } }));
    expect((await app.request('/api/orders')).status).toBe(500);
    expect(incidents).toHaveLength(1);
  });
});

describe('the OpenAPI document', () => {
  interface Document {
    readonly openapi: string;
    readonly info: unknown;
    readonly paths: Record<string, Record<string, OperationObject>>;
    readonly components: {
      readonly schemas: Record<string, unknown>;
      readonly responses: Record<string, unknown>;
    };
  }
  interface OperationObject {
    readonly operationId: string;
    readonly parameters: { readonly name: string; readonly in: string; readonly required: boolean }[];
    readonly requestBody?: {
      readonly required: boolean;
      readonly content: Record<string, { schema: unknown }>;
    };
    readonly responses: Record<string, unknown>;
  }
  const fetchDocument = async (app: Hono, path = '/api/openapi.json'): Promise<Document> => {
    const response = await app.request(path);
    expect(response.status).toBe(200);
    return (await response.json()) as Document;
  };

  test('lists every operation with its parameters, its body and every status it can answer', async () => {
    const document = await fetchDocument(
      sample(undefined, { openapi: { title: 'Orders', version: '1.2.3' } }).app,
    );
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toMatchObject({ title: 'Orders', version: '1.2.3' });
    expect(Object.keys(document.paths).sort()).toEqual([
      '/api/docs',
      '/api/mcp',
      '/api/op/order/create',
      '/api/openapi.json',
      '/api/orders',
      '/api/orders/export',
      '/api/orders/{id}',
      '/api/orders/{order}/lines/{number}',
    ]);
    const update = document.paths['/api/orders/{id}']?.patch;
    expect(update?.operationId).toBe('order.update');
    expect(update?.parameters).toMatchObject([
      { name: 'id', in: 'path', required: true },
      { $ref: '#/components/parameters/IdempotencyKey' },
      { $ref: '#/components/parameters/IfMatch' },
    ]);
    expect(update?.requestBody).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { note: { type: ['string', 'null'] } },
            required: ['note'],
            additionalProperties: false,
          },
        },
      },
    });
    expect(Object.keys(update?.responses ?? {}).map(Number)).toEqual([
      200, 400, 401, 403, 404, 409, 412, 413, 415, 429, 500, 502, 503,
    ]);
    const list = document.paths['/api/orders']?.get;
    expect(list?.parameters.map((each) => each.name)).toContain('tags');
    expect(list?.requestBody).toBeUndefined();
    expect(Object.keys(document.paths['/api/orders/{id}']?.get?.responses ?? {})).toContain('304');
  });

  test('every reference leads somewhere, also from shared and self-containing schemas', async () => {
    const tree: z.ZodType = z.strictObject({
      default: z.string().optional(),
      get children() {
        return z.array(tree);
      },
    });
    const money = z
      .strictObject({ amount: z.int(), currency: z.string().default('EUR') })
      .meta({ id: 'Money' });
    const operations: OperationTable = {
      'tree/put': declare({ input: z.strictObject({ tree, price: money }), output: tree }),
      'tree/root': declare({ input: tree as z.ZodType, output: z.object({ price: money }) }),
      'tree/move': declare({
        input: z.discriminatedUnion('to', [
          z.strictObject({ to: z.literal('end') }),
          z.strictObject({ to: z.literal('place'), place: z.int() }),
        ]),
        output: z.object({ at: z.number().transform(String) }),
      }),
    };
    const document = await fetchDocument(sample(undefined, {}, operations).app);
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(refs.length).toBeGreaterThan(5);
    for (const ref of refs) {
      const found = ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
      expect(found, ref).toBeTypeOf('object');
    }
    // Optional fields differ between the two directions.
    expect(document.components.schemas.MoneyInput).toMatchObject({ required: ['amount'] });
    expect(document.components.schemas.Money).toMatchObject({ required: ['amount', 'currency'] });
  });

  test('is where basePath says, or nowhere', async () => {
    await fetchDocument(sample(undefined, { basePath: '/v1' }).app, '/v1/openapi.json');
    expect((await sample(undefined, { openapi: false }).app.request('/api/openapi.json')).status).toBe(404);
    const wrong = await sample().app.request('/api/openapi.json', { method: 'POST' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('is shown to people by a page', async () => {
    const { app } = sample(undefined, { basePath: '/v1' });
    const page = await app.request('/v1/docs');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await page.text();
    expect(html).toContain('href="/v1/openapi.json"');
    expect(html).toContain('<article id="order.update">');
    const wrong = await app.request('/v1/docs', { method: 'DELETE' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect((await sample(undefined, { docs: false }).app.request('/api/docs')).status).toBe(404);
    expect((await sample(undefined, { openapi: false }).app.request('/api/docs')).status).toBe(404);
  });
});
