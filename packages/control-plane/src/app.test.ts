import { PlatformError, PROBLEMS, problemSchema } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import {
  type HostAdminDouble,
  hostAdminDouble,
  SERVICE,
  STAFF,
  TOKEN,
} from '../test/support/host-admin-double.ts';
import { aThing, sampleOperations } from '../test/support/sample-operations.ts';
import { type ControlPlaneOptions, controlPlaneApp } from './app.ts';
import type { IncidentPlace, RequestLine } from './http/env.ts';

const bearer = { authorization: `Bearer ${TOKEN}` };
const jsonHeaders = { ...bearer, 'content-type': 'application/json' };

function setUp(hostAdmin: HostAdminDouble, options: Partial<ControlPlaneOptions> = {}) {
  const incidents: { error: unknown; where: IncidentPlace }[] = [];
  const lines: RequestLine[] = [];
  let clock = 0;
  const app = controlPlaneApp({
    hostAdmin,
    operations: sampleOperations,
    onIncident: (error, where) => incidents.push({ error, where }),
    onRequest: (line) => lines.push(line),
    now: () => (clock += 5),
    newRequestId: () => 'req_new',
    ...options,
  });
  const send = async (path: string, init?: RequestInit): Promise<Response> =>
    app.fetch(new Request(`https://control.example${path}`, init));
  return { send, incidents, lines };
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.strict().parse(await response.json());
  expect(problem.status).toBe(response.status);
  expect(problem.error).toBe(problem.detail);
  return problem;
}

describe('calls are counted', () => {
  const rateLimit = { calls: 2, windowSeconds: 60 };

  test('for each actor, and every answer to a known one says what is left', async () => {
    const admin = hostAdminDouble(() => ({ value: aThing }));
    const { send, lines } = setUp(admin, { rateLimit });
    const { headers } = await send('/things/thing-1', { headers: bearer });
    expect(headers.get('ratelimit-policy')).toBe('"calls";q=2;w=60');
    expect(headers.get('ratelimit')).toBe('"calls";r=1;t=30');
    const wrong = await send('/things/none', { headers: bearer });
    expect(wrong.status).toBe(400);
    expect(wrong.headers.get('ratelimit')).toMatch(/^"calls";r=0;t=\d+$/);

    const refused = await send('/things/thing-1', { headers: bearer });
    expect(refused.headers.get('retry-after')).toBe('30');
    expect(refused.headers.get('ratelimit')).toMatch(/^"calls";r=0;/);
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(admin.performed).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({ status: 429, actor: SERVICE });
    expect(lines.at(-1)).not.toHaveProperty('allowance');

    const anotherPerson = { ...bearer, cookie: 'staff' };
    const staff = setUp(
      hostAdminDouble(() => ({ value: aThing })),
      {
        rateLimit,
        staffSession: async () => STAFF,
      },
    );
    for (const status of [200, 200, 429]) expect((await staff.send('/things/thing-1')).status).toBe(status);
    expect((await staff.send('/things/thing-1', { headers: anotherPerson })).status).toBe(200);
  });

  test('apart from strangers, who have a limit of their own and take nothing from anybody', async () => {
    const { send } = setUp(
      hostAdminDouble(() => ({ value: aThing })),
      { rateLimit },
    );
    for (let i = 0; i < 5; i++) {
      const response = await send('/things/thing-1', { headers: { authorization: 'Bearer fh_svc_bad' } });
      expect(response.status).toBe(401);
      expect(response.headers.get('ratelimit-policy')).toBe('"calls";q=6000;w=60');
    }
    expect((await send('/things/thing-1', { headers: bearer })).status).toBe(200);
  });

  test('unless the wiring counts no caller', async () => {
    const { send } = setUp(
      hostAdminDouble(() => ({ value: aThing })),
      { rateLimit: null },
    );
    const { headers } = await send('/things/thing-1', { headers: bearer });
    expect(headers.has('ratelimit')).toBe(false);
  });
});

describe('a call that has its declared form', () => {
  test('reaches the host administration with its actor, its input and its request id (C-01, C-02)', async () => {
    const admin = hostAdminDouble(() => ({ status: 201, value: aThing, etag: '7' }));
    const { send } = setUp(admin);
    const response = await send('/things', {
      method: 'POST',
      headers: { ...jsonHeaders, 'x-request-id': 'mine-1', 'idempotency-key': '"a\\"key"' },
      body: JSON.stringify({ tenant: 't', name: 'One' }),
    });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual(aThing);
    expect(admin.tokens).toEqual([TOKEN]);
    expect(admin.performed).toEqual([
      {
        operation: 'things.create',
        params: {},
        query: {},
        body: { tenant: 't', name: 'One', labels: [] },
        actor: SERVICE,
        requestId: 'req_new',
        idempotencyKey: 'a"key',
      },
    ]);
  });

  test('is answered with version, place, log head and replay mark, and is never cached', async () => {
    const admin = hostAdminDouble(() => ({
      status: 201,
      value: aThing,
      etag: '7',
      head: { sequence: 12, hash: 'abc' },
      replayed: true,
    }));
    const { send } = setUp(admin);
    const { headers } = await send('/things', {
      method: 'POST',
      headers: jsonHeaders,
      body: '{"tenant":"t","name":"One"}',
    });
    expect(headers.get('etag')).toBe('"7"');
    expect(headers.get('location')).toBe('/things/thing-1');
    expect(headers.get('x-admin-log-head')).toBe('12:abc');
    expect(headers.get('idempotency-replayed')).toBe('true');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-request-id')).toBe('req_new');
    expect(headers.has('access-control-allow-origin')).toBe(false);
  });

  test('that created nothing new names no place and is not marked as a replay', async () => {
    const { send } = setUp(hostAdminDouble(() => ({ status: 200, value: aThing })));
    const { headers } = await send('/things', {
      method: 'POST',
      headers: jsonHeaders,
      body: '{"tenant":"t","name":"One"}',
    });
    for (const name of ['location', 'idempotency-replayed', 'x-admin-log-head', 'etag'])
      expect(headers.has(name)).toBe(false);
  });

  test('never answers an undeclared field', async () => {
    const secretive = { ...aThing, secretHash: 'hush', labels: [{ text: 'one', lang: 'en', inner: 'hush' }] };
    const { send } = setUp(hostAdminDouble(() => ({ value: secretive })));
    expect(await (await send('/things/thing-1', { headers: bearer })).text()).not.toContain('hush');
  });

  test('that answers another form than the declared one is an incident without detail', async () => {
    const { send, incidents } = setUp(
      hostAdminDouble(() => ({ value: { id: 'thing-1', name: 'private words' } })),
    );
    const problem = await problemOf(await send('/things/thing-1', { headers: bearer }));
    expect(problem.code).toBe('internal');
    expect(incidents).toHaveLength(1);
    expect(String(incidents[0]?.error)).toContain('labels');
    expect(String(incidents[0]?.error)).not.toContain('private words');
  });

  test('with 204 has no body, whatever the host administration says', async () => {
    const { send } = setUp(hostAdminDouble(() => ({ status: 204, value: { a: 1 } })));
    const response = await send('/things/thing-1', { method: 'DELETE', headers: bearer });
    expect(response.status).toBe(204);
    expect(response.body).toBeNull();
    expect(response.headers.has('content-type')).toBe(false);
  });

  test('reads the query by the types of its schema', async () => {
    const admin = hostAdminDouble(() => ({ value: { items: [], nextCursor: null } }));
    const { send } = setUp(admin);
    const query = 'limit=5&q=42&open=false&sinceMs=-1.5e3&color=red&color=green&level=2';
    expect((await send(`/things?${query}`, { headers: bearer })).status).toBe(200);
    expect(admin.performed[0]?.query).toEqual({
      limit: 5,
      q: '42',
      open: false,
      sinceMs: -1500,
      color: ['red', 'green'],
      level: 2,
    });
  });

  test('takes an empty body for an empty object where the schema does', async () => {
    const admin = hostAdminDouble(({ operation }) => ({
      value: operation === 'things.rename' ? aThing : { done: true },
    }));
    const { send } = setUp(admin);
    expect((await send('/things/thing-1', { method: 'PATCH', headers: bearer })).status).toBe(200);
    expect((await send('/things/dead', { method: 'PUT', headers: bearer })).status).toBe(200);
    const refused = await problemOf(await send('/things', { method: 'POST', headers: bearer }));
    expect(refused.errors?.map(({ path }) => path)).toEqual(['tenant', 'name']);
    expect(admin.performed).toHaveLength(2);
  });

  test('HEAD answers what GET answers, without its body', async () => {
    const admin = hostAdminDouble(() => ({ value: aThing, etag: '7' }));
    const { send } = setUp(admin);
    const response = await send('/things/thing-1', { method: 'HEAD', headers: bearer });
    expect(response.status).toBe(200);
    expect(response.headers.get('etag')).toBe('"7"');
    expect(response.headers.get('x-request-id')).toBe('req_new');
    expect(await response.text()).toBe('');
    expect(admin.performed).toHaveLength(1);
  });

  test('is 304 without a body when the caller has this version', async () => {
    const { send } = setUp(hostAdminDouble(() => ({ value: aThing, etag: '7' })));
    const read = (tags: string) => send('/things/thing-1', { headers: { ...bearer, 'if-none-match': tags } });
    for (const tags of ['"7"', 'W/"7"', '"6", "7"', '"5","7"', '*']) {
      const response = await read(tags);
      expect([tags, response.status, response.headers.get('etag')]).toEqual([tags, 304, '"7"']);
      expect(response.body).toBeNull();
    }
    for (const tags of ['"8"', '7', '"77"']) expect((await read(tags)).status).toBe(200);
  });

  test('leaves one line for the log, with nothing of what was sent', async () => {
    const { send, lines } = setUp(
      hostAdminDouble(() => ({ value: aThing })),
      { rateLimit: null },
    );
    await send('/things/thing-1?', { headers: bearer });
    await send('/nowhere');
    expect(lines).toEqual([
      {
        requestId: 'req_new',
        clientRequestId: null,
        operation: 'things.get',
        actor: SERVICE,
        method: 'GET',
        status: 200,
        durationMs: 5,
      },
      {
        requestId: 'req_new',
        clientRequestId: null,
        operation: null,
        actor: null,
        method: 'GET',
        status: 404,
        durationMs: 5,
      },
    ]);
  });
});

describe('who calls is settled before anything else (C-01)', () => {
  const anonymous: [string, Record<string, string>, string][] = [
    ['no token', {}, 'token_missing'],
    ['an unknown token', { authorization: 'Bearer fh_svc_unknown' }, 'token_invalid'],
    ['a token that is not one', { authorization: 'Bearer a b' }, 'token_invalid'],
    ['an empty token', { authorization: 'Bearer' }, 'token_invalid'],
    ['another scheme', { authorization: `Basic ${TOKEN}` }, 'token_invalid'],
    ['two tokens', { authorization: `Bearer ${TOKEN}, Bearer ${TOKEN}` }, 'token_invalid'],
    ['an overlong token', { authorization: `Bearer ${'a'.repeat(600)}` }, 'token_invalid'],
  ];
  test.each(anonymous)('%s is 401 and says how to authenticate', async (_, headers, reason) => {
    const admin = hostAdminDouble();
    const { send } = setUp(admin);
    const response = await send('/things', { method: 'POST', headers, body: 'not even json' });
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="control plane"/);
    expect(await problemOf(response)).toMatchObject({ status: 401, code: 'unauthenticated', reason });
    expect(admin.performed).toEqual([]);
  });

  test('a stranger gets the same answer to every request at an address, good or bad', async () => {
    const { send } = setUp(hostAdminDouble());
    const bodies = await Promise.all(
      ['/things/thing-1', '/things/other', '/things/thing-1?nonsense=1'].map(async (path) =>
        (await send(path)).text(),
      ),
    );
    expect(new Set(bodies).size).toBe(1);
  });

  test('the scheme may be written in any case', async () => {
    const { send } = setUp(hostAdminDouble(() => ({ value: aThing })));
    expect((await send('/things/thing-1', { headers: { authorization: `bEARER  ${TOKEN}` } })).status).toBe(
      200,
    );
  });
});

describe('a staff session', () => {
  const staffSession = async (request: Request) => (request.headers.get('cookie') === 's=1' ? STAFF : null);
  const session = { cookie: 's=1' };

  test('reads without further ado', async () => {
    const admin = hostAdminDouble(() => ({ value: aThing }));
    const { send } = setUp(admin, { staffSession });
    expect((await send('/things/thing-1', { headers: session })).status).toBe(200);
    expect(admin.performed[0]?.actor).toEqual(STAFF);
  });

  test.each<[string, Record<string, string>, number]>([
    ['from our own page', { 'sec-fetch-site': 'same-origin' }, 204],
    ['from our own page in an older browser', { origin: 'https://control.example' }, 204],
    ['from another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['from a sister host', { 'sec-fetch-site': 'same-site', origin: 'https://control.example' }, 403],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }, 403],
    ['from another origin', { origin: 'https://evil.example' }, 403],
    ['from a sandboxed page', { origin: 'null' }, 403],
    ['from nowhere', {}, 403],
  ])('that changes something %s is %s → %i', async (_, headers, status) => {
    const admin = hostAdminDouble(() => ({ status: 204 }));
    const { send } = setUp(admin, { staffSession });
    const response = await send('/things/thing-1', { method: 'DELETE', headers: { ...session, ...headers } });
    expect(response.status).toBe(status);
    expect(admin.performed).toHaveLength(status === 204 ? 1 : 0);
    if (status === 403)
      expect(await problemOf(response)).toMatchObject({ code: 'forbidden', reason: 'cross_site' });
  });

  test('does not stand in for a token that was refused', async () => {
    const { send } = setUp(hostAdminDouble(), { staffSession });
    const response = await send('/things/thing-1', {
      headers: { ...session, authorization: 'Bearer revoked' },
    });
    expect((await problemOf(response)).reason).toBe('token_invalid');
  });

  test('is unknown where the wiring brings none', async () => {
    const { send } = setUp(hostAdminDouble());
    expect((await send('/things/thing-1', { headers: session })).status).toBe(401);
  });
});

describe('what does not have its declared form is refused, and nothing is performed', () => {
  const big = JSON.stringify({ tenant: 't', name: 'x'.repeat(1024 * 1024) });
  const create = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = jsonHeaders) =>
    ['/things', { method: 'POST', headers, body }] as const;
  const deep = `{"tenant":"t","name":"n","note":${'['.repeat(70)}${']'.repeat(70)}}`;
  const good = '{"tenant":"t","name":"n"}';

  test.each<[string, readonly [string, RequestInit], number, object]>([
    ['an unknown body field', create('{"tenant":"t","name":"n","x":1}'), 400, { errors: [{ path: '' }] }],
    ['a body field named __proto__', create('{"tenant":"t","name":"n","__proto__":{}}'), 400, {}],
    ['a wrong type', create('{"tenant":"t","name":1}'), 400, { errors: [{ path: 'name' }] }],
    ['no JSON', create('{'), 400, { reason: 'body_not_json' }],
    ['a JSON array', create('[]'), 400, { reason: 'body_not_object' }],
    ['JSON null', create('null'), 400, { reason: 'body_not_object' }],
    ['bad UTF-8', create(Uint8Array.of(0x7b, 0xff, 0x7d)), 400, { reason: 'body_not_utf8' }],
    ['half a surrogate pair', create('{"tenant":"t","name":"\\ud800"}'), 400, { reason: 'body_not_unicode' }],
    ['a tower of arrays', create(deep), 400, { reason: 'body_too_deep' }],
    ['a form', create('a=1', { ...bearer, 'content-type': 'application/x-www-form-urlencoded' }), 415, {}],
    ['no media type', create(new TextEncoder().encode(good), bearer), 415, {}],
    [
      'another charset',
      create(good, { ...bearer, 'content-type': 'application/json; charset=latin1' }),
      415,
      {},
    ],
    ['a compressed body', create(good, { ...jsonHeaders, 'content-encoding': 'gzip' }), 415, {}],
    ['too large a body', create(big), 413, {}],
    [
      'an announced body that is too large',
      create(good, { ...jsonHeaders, 'content-length': '1048577' }),
      413,
      {},
    ],
    ['an unknown query field', ['/things?nope=1', { headers: bearer }], 400, {}],
    ['a query field named __proto__', ['/things?__proto__=1', { headers: bearer }], 400, {}],
    ['a query where none is declared', ['/things/thing-1?q=1', { headers: bearer }], 400, {}],
    ['a repeated field', ['/things?q=1&q=2', { headers: bearer }], 400, { errors: [{ path: 'q' }] }],
    ['a number in another spelling', ['/things?limit=0x10', { headers: bearer }], 400, {}],
    ['a fraction', ['/things?limit=1.5', { headers: bearer }], 400, { errors: [{ path: 'limit' }] }],
    ['an empty number', ['/things?limit=', { headers: bearer }], 400, { errors: [{ path: 'limit' }] }],
    ['a number out of range', ['/things?limit=201', { headers: bearer }], 400, {}],
    ['a boolean in another spelling', ['/things?open=yes', { headers: bearer }], 400, {}],
    [
      'a path parameter of another form',
      ['/things/other', { headers: bearer }],
      400,
      { errors: [{ path: 'thing' }] },
    ],
    ['an empty idempotency key', create(good, { ...jsonHeaders, 'idempotency-key': '' }), 400, {}],
    [
      'an overlong idempotency key',
      create(good, { ...jsonHeaders, 'idempotency-key': 'k'.repeat(256) }),
      400,
      {},
    ],
    ['an unclosed idempotency key', create(good, { ...jsonHeaders, 'idempotency-key': '"k' }), 400, {}],
    ['an idempotency key with a space', create(good, { ...jsonHeaders, 'idempotency-key': 'a b' }), 400, {}],
    ['entity tags without quotes', create(good, { ...jsonHeaders, 'if-match': '7, 8' }), 400, {}],
    ['entity tags with something between', create(good, { ...jsonHeaders, 'if-match': '"7" "8"' }), 400, {}],
    [
      'a condition that is not checked',
      ['/things/thing-1', { method: 'DELETE', headers: { ...bearer, 'if-match': '"7"' } }],
      400,
      { errors: [{ path: 'If-Match' }] },
    ],
  ])('%s', async (_, [path, init], status, expected) => {
    const admin = hostAdminDouble();
    const { send, incidents } = setUp(admin);
    const response = await send(path, init);
    expect(response.status).toBe(status);
    const problem = await problemOf(response);
    expect(problem).toMatchObject(expected);
    expect(problem.requestId).toBe('req_new');
    expect(admin.performed).toEqual([]);
    expect(incidents).toEqual([]);
  });

  test('a streamed body is cut off at the limit, whatever it announced', async () => {
    const admin = hostAdminDouble();
    const { send } = setUp(admin);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent++;
        controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const init = {
      method: 'POST',
      headers: { ...jsonHeaders, 'content-length': '10' },
      body: endless,
      duplex: 'half',
    };
    expect((await send('/things', init as RequestInit)).status).toBe(413);
    expect(sent).toBeLessThan(32);
    expect(admin.performed).toEqual([]);
  });

  test('a body that breaks off is 400', async () => {
    const { send, incidents } = setUp(hostAdminDouble());
    const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
    const init = { method: 'POST', headers: jsonHeaders, body: broken, duplex: 'half' } as RequestInit;
    expect((await problemOf(await send('/things', init))).reason).toBe('body_incomplete');
    expect(incidents).toEqual([]);
  });
});

describe('conditions', () => {
  test.each([
    ['"7"', '7'],
    ['*', '*'],
    ['W/"7"', 'W/"7"'],
    ['"7", W/"8"', '"7", W/"8"'],
    ['"*"', '"*"'],
    ['"a,b"', 'a,b'],
    ['""', ''],
  ])('If-Match %s is handed on as %s', async (given, handedOn) => {
    const admin = hostAdminDouble(() => ({ value: aThing }));
    const { send } = setUp(admin);
    const response = await send('/things/thing-1', {
      method: 'PATCH',
      headers: { ...bearer, 'if-match': given },
    });
    expect(response.status).toBe(200);
    expect(admin.performed[0]?.ifMatch).toBe(handedOn);
  });

  test('a key of 255 characters is taken, bare or quoted', async () => {
    const admin = hostAdminDouble(() => ({ status: 204 }));
    const { send } = setUp(admin);
    const key = 'k'.repeat(255);
    for (const sent of [key, `"${key}"`])
      await send('/things/thing-1', { method: 'DELETE', headers: { ...bearer, 'idempotency-key': sent } });
    expect(admin.performed.map(({ idempotencyKey }) => idempotencyKey)).toEqual([key, key]);
  });

  test('a read takes neither', async () => {
    const admin = hostAdminDouble(() => ({ value: aThing }));
    const { send } = setUp(admin);
    await send('/things/thing-1', { headers: { ...bearer, 'if-match': '"7"', 'idempotency-key': 'k' } });
    expect(admin.performed[0]).not.toHaveProperty('ifMatch');
    expect(admin.performed[0]).not.toHaveProperty('idempotencyKey');
  });
});

describe('failures', () => {
  test.each(Object.entries(PROBLEMS))('%s arrives as it was thrown', async (code, { status }) => {
    const error = new PlatformError(code as keyof typeof PROBLEMS, 'Words for a person.', {
      reason: 'why',
      headers: { 'retry-after': '3' },
      cause: new Error('inner'),
    });
    const admin = hostAdminDouble(() => {
      throw error;
    });
    const { send, incidents } = setUp(admin);
    const response = await send('/things/thing-1', { headers: bearer });
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBe('3');
    const problem = await problemOf(response);
    expect(problem).toMatchObject({
      code,
      detail: 'Words for a person.',
      reason: 'why',
      requestId: 'req_new',
    });
    expect(JSON.stringify(problem)).not.toContain('inner');
    expect(incidents).toEqual([]);
  });

  test.each([new TypeError('column users.password'), 'a thrown word', null])(
    'an unknown throw is 500 without a detail, and an incident (%s)',
    async (thrown) => {
      const admin = hostAdminDouble(() => {
        throw thrown;
      });
      const { send, incidents } = setUp(admin);
      const response = await send('/things/thing-1', { headers: bearer });
      const problem = await problemOf(response);
      expect(problem.code).toBe('internal');
      expect(JSON.stringify(problem)).not.toContain('password');
      expect(incidents.map(({ where }) => where)).toEqual([
        { requestId: 'req_new', operation: 'things.get' },
      ]);
    },
  );
});

describe('addresses and methods', () => {
  test('a literal segment is tried before a parameter, and its methods stand alone', async () => {
    const admin = hostAdminDouble(() => ({ value: { done: true } }));
    const { send } = setUp(admin);
    await send('/things/dead', { method: 'PUT', headers: bearer });
    expect(admin.performed[0]?.operation).toBe('dead-things.set-all');
    expect((await send('/things/dead', { headers: bearer })).headers.get('allow')).toBe('OPTIONS, PUT');
  });

  test.each([
    ['/things', 'GET, HEAD, OPTIONS, POST'],
    ['/things/thing-1', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
    ['/openapi.json', 'GET, HEAD, OPTIONS'],
  ])('%s takes %s, and says so to OPTIONS and to every other method', async (path, allow) => {
    const { send } = setUp(hostAdminDouble());
    const options = await send(path, { method: 'OPTIONS' });
    expect([options.status, options.headers.get('allow'), options.body]).toEqual([204, allow, null]);
    expect([...options.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      if (allow.split(', ').includes(method)) continue;
      const response = await send(path, { method });
      expect([method, response.headers.get('allow')]).toEqual([method, allow]);
      expect((await problemOf(response)).code).toBe('method_not_allowed');
    }
  });

  test.each(['/', '/thing', '/things/', '/things/thing-1/more', '/things//', '/problems/none', '/%ff'])(
    '%s is 404 for anybody',
    async (path) => {
      const { send } = setUp(hostAdminDouble());
      expect(await problemOf(await send(path))).toMatchObject({ code: 'not_found', requestId: 'req_new' });
    },
  );

  test('a request id of the caller stands in the request line, beside ours and never in its place', async () => {
    const lines: unknown[] = [];
    const { send } = setUp(hostAdminDouble(), { onRequest: (line) => void lines.push(line) });
    const idFor = async (id: string) =>
      (await send('/healthz', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    for (const id of ['trace-0af7:1.2_3', 'a b']) expect(await idFor(id)).toBe('req_new');
    expect(lines).toMatchObject([
      { requestId: 'req_new', clientRequestId: 'trace-0af7:1.2_3' },
      { requestId: 'req_new', clientRequestId: null },
    ]);
  });
});

describe('beside the operations', () => {
  test('health is open to anybody', async () => {
    const { send } = setUp(hostAdminDouble());
    expect(await (await send('/healthz')).json()).toEqual({ status: 'ok' });
    expect(await (await send('/readyz')).json()).toEqual({ status: 'ready' });
  });

  test.each([
    ['says no', async () => false],
    ['fails', () => Promise.reject(new Error('no'))],
  ])('readiness is 503 when the probe %s', async (_, ready) => {
    const { send, incidents } = setUp(hostAdminDouble(), { ready });
    expect(await problemOf(await send('/readyz'))).toMatchObject({
      code: 'unavailable',
      reason: 'not_ready',
    });
    expect(incidents).toEqual([]);
  });

  test('every problem type leads to what it means', async () => {
    const { send } = setUp(hostAdminDouble());
    for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
      const path = `/problems/${code}`;
      expect(await (await send(path)).json()).toEqual({ type: path, code, status, title });
      const page = await send(path, { headers: { accept: 'text/html,*/*' } });
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await page.text()).toContain(title);
    }
  });

  test('the API describes what it serves (C-32)', async () => {
    const { send } = setUp(hostAdminDouble());
    const document = (await (await send('/openapi.json')).json()) as { paths: object };
    expect(Object.keys(document.paths)).toContain('/things/{thing}');
  });
});
