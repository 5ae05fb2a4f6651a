import {
  encodeCursor,
  type InvokeResult,
  nameCursor,
  PlatformError,
  problemSchema,
} from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { contentBlocks, MCP_META, MCP_PAGE_MAX } from '@freehold/operations/mcp';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declare, type FakeScope, fakeScope, type Handler, sampleOperations } from '../../test/fixtures.ts';
import { ANY_JSON_RPC, modernCall, rpcOf } from '../../test/mcp/messages.ts';
import { type MountOperationsOptions, mountOperations, type ResolveStub } from '../mount-operations.ts';
import type { ListingStub } from './mcp-endpoint.ts';

const operations: OperationTable = {
  ...sampleOperations,
  'order/create': declare({
    input: z.strictObject({ customer: z.string().min(1) }),
    output: z.object({ id: z.string() }),
    http: { method: 'POST', path: '/api/orders' },
  }),
  'order/count': declare({
    input: z.strictObject({}),
    output: z.int(),
    http: { method: 'GET', path: '/api/orders/count' },
  }),
  'order/photo': declare({
    input: z.strictObject({}),
    output: contentBlocks,
    http: { method: 'GET', path: '/api/orders/photo' },
  }),
};

interface Sample {
  readonly app: Hono;
  readonly scope: FakeScope;
  readonly incidents: unknown[];
}

function sample(
  handler?: Handler,
  options: MountOperationsOptions = {},
  wrap: (scope: ListingStub) => ReturnType<ResolveStub<never>> = (scope) => scope,
): Sample {
  const app = new Hono();
  const scope = fakeScope(operations, handler);
  const incidents: unknown[] = [];
  mountOperations(app, operations, () => wrap(scope), {
    onIncident: (error) => void incidents.push(error),
    newRequestId: () => 'req-generated',
    ...options,
  });
  return { app, scope, incidents };
}

const call = (name: string, input: object = {}, meta: object = {}) =>
  modernCall('tools/call', { name, arguments: input }, meta);

const answered: InvokeResult = {
  output: { id: 'ord_1' },
  invocation: 'inv_1',
  version: 'evt_1',
  replayed: false,
};

describe('D-11 a call', () => {
  test('goes through the stub, and its answer is structured and repeated as text', async () => {
    const { app, scope } = sample(() => answered);
    const response = await app.request('/api/mcp', call('order_create', { customer: 'ada' }));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect((await rpcOf(response)).result).toMatchObject({
      resultType: 'complete',
      structuredContent: { id: 'ord_1' },
      content: [{ type: 'text', text: '{"id":"ord_1"}' }],
      _meta: { [MCP_META.version]: 'evt_1', [MCP_META.invocation]: 'inv_1' },
    });
    expect(scope.calls).toEqual([{ operation: 'order/create', input: { customer: 'ada' } }]);
  });

  test('takes its conditions from _meta, and says when it is a replay', async () => {
    const { app, scope } = sample(() => ({ ...answered, replayed: true }));
    const meta = { [MCP_META.idempotencyKey]: 'k-1', [MCP_META.ifMatch]: 'evt_0' };
    const { result } = await rpcOf(
      await app.request('/api/mcp', call('order_create', { customer: 'ada' }, meta)),
    );
    expect(scope.calls).toEqual([
      { operation: 'order/create', input: { customer: 'ada' }, idempotencyKey: 'k-1', ifMatch: 'evt_0' },
    ]);
    expect(result._meta).toMatchObject({ [MCP_META.replayed]: true });
  });

  test('of a read takes no conditions, as a GET takes none', async () => {
    const { app, scope } = sample();
    const meta = { [MCP_META.idempotencyKey]: 'k-1', [MCP_META.ifMatch]: '*' };
    const { result } = await rpcOf(await app.request('/api/mcp', call('order_read', { id: '7' }, meta)));
    expect(scope.calls).toEqual([{ operation: 'order/read', input: { id: '7' } }]);
    expect(result._meta).not.toHaveProperty(MCP_META.replayed);
    expect(result._meta).not.toHaveProperty(MCP_META.version);
  });

  test('without arguments is a call with an empty input', async () => {
    const { app, scope } = sample(() => ({ output: 3 }));
    const { result } = await rpcOf(
      await app.request('/api/mcp', modernCall('tools/call', { name: 'order_count' })),
    );
    expect(scope.calls).toEqual([{ operation: 'order/count', input: {} }]);
    expect(result).toMatchObject({ structuredContent: 3, content: [{ text: '3' }] });
  });

  test('of an operation that answers content blocks hands them over as they are', async () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const { app } = sample(() => ({ output: [image] }));
    const { result } = await rpcOf(await app.request('/api/mcp', call('order_photo')));
    expect(result.content).toEqual([image]);
    expect(result).not.toHaveProperty('structuredContent');
  });
});

describe('D-11 a business refusal is a result', () => {
  test.each([
    [new PlatformError('conflict', 'There is one already.', { reason: 'taken' }), 'conflict', 'taken'],
    [new PlatformError('permission_denied', 'You may not.'), 'permission_denied', undefined],
    [
      new PlatformError('precondition_failed', 'Another caller was faster.'),
      'precondition_failed',
      undefined,
    ],
    [
      new PlatformError('rate_limited', 'Wait a little.', { headers: { 'retry-after': '3' } }),
      'rate_limited',
      undefined,
    ],
    [new PlatformError('unavailable', 'Not now.'), 'unavailable', undefined],
  ])('%s', async (error, code, reason) => {
    const { app, incidents } = sample(() => Promise.reject(error));
    const response = await app.request('/api/mcp', call('order_create', { customer: 'ada' }));
    expect(response.status).toBe(200);
    const { result } = await rpcOf(response);
    expect(result.isError).toBe(true);
    const problem = problemSchema.parse(JSON.parse(result.content?.[0]?.text ?? ''));
    expect(problem).toMatchObject({ code, detail: error.message, requestId: 'req-generated' });
    expect(problem.reason).toBe(reason);
    expect(result._meta?.[MCP_META.problem]).toEqual(problem);
    // The tool promises `{ id }`, and a client may hold a refusal to it.
    expect(result).not.toHaveProperty('structuredContent');
    expect(incidents).toEqual([]);
  });

  test('it is structured content too where the tool promises none', async () => {
    const { app } = sample(() => Promise.reject(new PlatformError('not_found', 'There is no such order.')));
    const { result } = await rpcOf(await app.request('/api/mcp', call('order_read', { id: '7' })));
    expect(problemSchema.parse(result.structuredContent).code).toBe('not_found');
  });

  test('arguments that the schema refuses are one: the model can read what was wrong and do better', async () => {
    const { app, scope } = sample();
    for (const input of [{}, { customer: '' }, { customer: 'ada', admin: true }]) {
      const { result } = await rpcOf(await app.request('/api/mcp', call('order_create', input)));
      expect(result.isError).toBe(true);
      expect(result._meta?.[MCP_META.problem]).toMatchObject({ code: 'validation_failed' });
    }
    expect(scope.calls).toEqual([]);
  });
});

describe('D-11 a malformed call is an error of the protocol', () => {
  test.each([
    ['a tool that does not exist', modernCall('tools/call', { name: 'order_drop' }), 200, -32602],
    ['the name of an operation', modernCall('tools/call', { name: 'order/create' }), 200, -32602],
    ['no name', modernCall('tools/call', {}), 200, -32602],
    [
      'arguments that are a list',
      modernCall('tools/call', { name: 'order_create', arguments: [] }),
      200,
      -32602,
    ],
    ['a key that is no text', call('order_create', {}, { [MCP_META.idempotencyKey]: 7 }), 200, -32602],
    ['an empty key', call('order_create', {}, { [MCP_META.idempotencyKey]: '' }), 200, -32602],
    ['a key with a space', call('order_create', {}, { [MCP_META.idempotencyKey]: 'a b' }), 200, -32602],
    ['a version in quotes', call('order_create', {}, { [MCP_META.ifMatch]: '"evt_1"' }), 200, -32602],
    ['a version that is no text', call('order_create', {}, { [MCP_META.ifMatch]: null }), 200, -32602],
    ['a cursor that was never given', modernCall('tools/list', { cursor: 'x' }), 200, -32602],
    ['a method that is not known', modernCall('resources/list'), 404, -32601],
    [
      'listening, where there is nothing to hear',
      modernCall('subscriptions/listen', { notifications: {} }),
      404,
      -32601,
    ],
  ])('%s', async (_, message, status, code) => {
    const { app, scope, incidents } = sample();
    const response = await app.request('/api/mcp', message);
    expect(response.status).toBe(status);
    expect(await rpcOf(response)).toMatchObject({ id: 1, error: { code } });
    expect(scope.calls).toEqual([]);
    expect(incidents).toEqual([]);
  });

  test.each([
    ['no JSON', '{', -32700],
    ['no UTF-8', Uint8Array.of(0xff), -32700],
    ['no object', '3', -32600],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['nothing', '', -32600],
    ['a tower', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, -32600],
    ['a prototype', '{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
  ])('a body that is %s is 400', async (_, body, code) => {
    const { app } = sample();
    const response = await app.request('/api/mcp', { ...ANY_JSON_RPC, body });
    expect(response.status).toBe(400);
    expect((await rpcOf(response)).error?.code).toBe(code);
  });
});

describe('D-11 what is refused before there is a message', () => {
  const problemOf = async (response: Response) => {
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const problem = problemSchema.parse(await response.json());
    expect(problem.status).toBe(response.status);
    return problem;
  };
  const list = modernCall('tools/list');
  const withHeaders = (headers: Record<string, string>) => ({
    ...list,
    headers: { ...list.headers, ...headers },
  });

  test('another site’s page, and another name', async () => {
    const { app, scope } = sample();
    const foreign = await app.request('/api/mcp', withHeaders({ origin: 'https://evil.example' }));
    expect(await problemOf(foreign)).toMatchObject({ status: 403, reason: 'cross_site' });
    const rebound = await app.request('http://evil.example/api/mcp', list);
    expect(await problemOf(rebound)).toMatchObject({ status: 403, reason: 'foreign_host' });
    expect(scope.calls).toEqual([]);
  });

  test('the stub is not asked for anybody who is refused for where he comes from', async () => {
    let asked = 0;
    const { app } = sample(undefined, {}, (scope) => {
      asked += 1;
      return scope;
    });
    await app.request('http://evil.example/api/mcp', list);
    expect(asked).toBe(0);
    await app.request('/api/mcp', list);
    expect(asked).toBe(1);
  });

  test('the name is that of ownOrigin, where there is one', async () => {
    const { app } = sample(undefined, { ownOrigin: () => 'https://pipes.example' });
    expect((await app.request('https://pipes.example/api/mcp', list)).status).toBe(200);
    expect((await app.request('http://localhost/api/mcp', list)).status).toBe(403);
    const named = sample(undefined, { mcp: { hostnames: ['inside.example'] } });
    expect((await named.app.request('http://inside.example/api/mcp', list)).status).toBe(200);
  });

  test('a stranger, whose message is not read', async () => {
    const anonymous = () => {
      throw new PlatformError('unauthenticated', 'Sign in first.');
    };
    const { app } = sample(undefined, {}, anonymous);
    const response = await app.request('/api/mcp', { ...ANY_JSON_RPC, body: '{' });
    expect(await problemOf(response)).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('a stranger is told where tokens are made, when the application takes them', async () => {
    const challenge = 'Bearer resource_metadata="https://pipes.example/.well-known/oauth-protected-resource"';
    const own = 'Bearer error="invalid_token"';
    const anonymous = (headers?: Record<string, string>) => () => {
      throw new PlatformError('unauthenticated', 'Sign in first.', headers ? { headers } : {});
    };
    const options = { mcp: { challenge: async () => challenge } };
    const told = await sample(undefined, options, anonymous()).app.request('/api/mcp', list);
    expect(told.headers.get('www-authenticate')).toBe(challenge);
    const stored = await sample(undefined, options, anonymous({ 'www-authenticate': own })).app.request(
      '/api/mcp',
      list,
    );
    expect(stored.headers.get('www-authenticate')).toBe(own);
    const without = sample(undefined, { mcp: { challenge: () => null } }, anonymous());
    expect((await without.app.request('/api/mcp', list)).headers.get('www-authenticate')).toBe('Bearer');
  });

  test('a subject who is no member', async () => {
    const { app } = sample(undefined, {}, () => {
      throw new PlatformError('forbidden', 'You are not a member here.', { reason: 'not_a_member' });
    });
    expect(await problemOf(await app.request('/api/mcp', list))).toMatchObject({
      status: 403,
      reason: 'not_a_member',
    });
  });

  test('too much, and another type', async () => {
    const { app } = sample(undefined, { bodyLimitBytes: 64 });
    expect((await problemOf(await app.request('/api/mcp', list))).status).toBe(413);
    const form = await app.request('/api/mcp', withHeaders({ 'content-type': 'text/plain' }));
    expect((await problemOf(form)).status).toBe(415);
  });

  test('every other method is 405: there are no sessions to open a stream of, or to end', async () => {
    const { app } = sample();
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await app.request('/api/mcp', { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
    }
  });
});

describe('D-11 a hostile handler', () => {
  const hostile: [string, () => unknown][] = [
    ['an Error with a secret', () => Promise.reject(new Error('password hunter2'))],
    ['nothing', () => Promise.reject(undefined)],
    ['a string', () => Promise.reject('hunter2')],
    [
      'a proxy',
      () =>
        Promise.reject(
          new Proxy(
            {},
            {
              get: () => {
                throw new Error('hunter2');
              },
            },
          ),
        ),
    ],
    ['a response of its own', () => Promise.reject(new HTTPException(302, { res: new Response('hunter2') }))],
    [
      'an error that looks like one of the protocol',
      () => Promise.reject(Object.assign(new Error('hunter2'), { code: -32042 })),
    ],
    [
      'a cycle',
      () => {
        const output: unknown[] = [];
        output.push(output);
        return { output };
      },
    ],
    ['a bigint', () => ({ output: 1n })],
    ['a function', () => ({ output: () => 'hunter2' })],
  ];
  test.each(hostile)(
    'that throws or answers %s is an internal problem, recorded, without a word',
    async (_, act) => {
      const { app, incidents } = sample(act as Handler);
      const response = await app.request('/api/mcp', call('order_create', { customer: 'ada' }));
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).not.toContain('hunter2');
      const { result } = JSON.parse(text);
      expect(result._meta[MCP_META.problem]).toMatchObject({ code: 'internal', requestId: 'req-generated' });
      expect(incidents).toHaveLength(1);
    },
  );

  test('that answers blocks that are none is an internal problem', async () => {
    const { app, incidents } = sample(() => ({
      output: [{ type: 'image', data: 'no base64!', mimeType: 'image/png' }],
    }));
    const { result } = await rpcOf(await app.request('/api/mcp', call('order_photo')));
    expect(result.isError).toBe(true);
    expect(incidents).toHaveLength(1);
  });

  test('a list that cannot be made is no list of everything', async () => {
    const broken = (scope: ListingStub): ListingStub => ({
      invoke: scope.invoke,
      listable: () => Promise.reject(new Error('hunter2')),
    });
    const { app, incidents } = sample(undefined, {}, broken);
    const answer = await rpcOf(await app.request('/api/mcp', modernCall('tools/list')));
    expect(answer.error?.code).toBe(-32603);
    expect(JSON.stringify(answer)).not.toContain('hunter2');
    expect(incidents).toHaveLength(1);
  });
});

describe('D-11 the list', () => {
  describe('of more than one page', () => {
    const many: OperationTable = Object.fromEntries(
      Array.from({ length: MCP_PAGE_MAX + 50 }, (_, at) => [
        `thing/do-${at}`,
        declare({
          input: z.strictObject({}),
          output: z.null(),
          http: { method: 'POST', path: `/api/do/${at}` },
        }),
      ]),
    );
    const named = (operation: string) => operation.replace('/', '_');
    const listMany = (shown: readonly string[] = Object.keys(many)) => {
      const app = new Hono();
      const stub: ListingStub = { invoke: fakeScope(many).invoke, listable: async () => shown };
      mountOperations(app, many, () => stub);
      return async (cursor?: unknown) =>
        rpcOf(
          await app.request('/api/mcp', modernCall('tools/list', cursor === undefined ? {} : { cursor })),
        );
    };

    test('goes on after the last tool that was listed, each once, in the order of declaration', async () => {
      const page = listMany();
      const first = (await page()).result;
      expect(first.tools).toHaveLength(MCP_PAGE_MAX);
      const second = (await page(first.nextCursor)).result;
      expect(second).not.toHaveProperty('nextCursor');
      expect([...(first.tools ?? []), ...(second.tools ?? [])].map(({ name }) => name)).toEqual(
        Object.keys(many).map(named),
      );
    });

    test('keeps its place when the last tool that was listed is no longer for this caller', async () => {
      const { nextCursor, tools = [] } = (await listMany()()).result;
      const last = Object.keys(many)[MCP_PAGE_MAX - 1] as string;
      expect(tools.at(-1)?.name).toBe(named(last));
      const rest = (await listMany(Object.keys(many).filter((name) => name !== last))(nextCursor)).result;
      expect(rest.tools?.map(({ name }) => name)).toEqual(Object.keys(many).slice(MCP_PAGE_MAX).map(named));
    });

    test('is not told where the page ends with what this caller is shown', async () => {
      const { result } = await listMany(Object.keys(many).slice(0, MCP_PAGE_MAX))();
      expect(result).not.toHaveProperty('nextCursor');
    });

    test.each([
      ['a broken one', '%%%'],
      ['none at all', ''],
      ['one of another list', nameCursor('prompts', encodeCursor('thing_do-1'))],
      ['one of a tool that is gone', nameCursor('tools', encodeCursor('thing_undo'))],
    ])('refuses a cursor that is %s', async (_, cursor) => {
      expect((await listMany()(cursor)).error).toMatchObject({ code: -32602 });
    });
  });

  test('is one page, private, without a promise of news', async () => {
    const { app } = sample();
    const { result } = await rpcOf(await app.request('/api/mcp', modernCall('tools/list')));
    expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    expect(result).not.toHaveProperty('nextCursor');
    const names = result.tools?.map(({ name }) => name) ?? [];
    expect(names).toContain('order_create');
    expect(new Set(names).size).toBe(names.length);
    expect(result.tools?.[0]).not.toHaveProperty('operation');
    const discovered = await rpcOf(await app.request('/api/mcp', modernCall('server/discover')));
    expect(discovered.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
    });
    expect(JSON.stringify(discovered)).not.toContain('"listChanged":true');
  });

  test('leaves out what the caller may never call, and a call of it is refused by the scope, not by the list', async () => {
    const asked: (readonly string[])[] = [];
    const partly = (scope: ListingStub): ListingStub => ({
      invoke: (request) =>
        request.operation === 'order/create'
          ? Promise.reject(new PlatformError('permission_denied', 'You may not.'))
          : scope.invoke(request),
      listable: async (names) => {
        asked.push(names);
        return ['order/read', 'order/never-declared'];
      },
    });
    const { app } = sample(undefined, {}, partly);
    const { result } = await rpcOf(await app.request('/api/mcp', modernCall('tools/list')));
    expect(result.tools?.map(({ name }) => name)).toEqual(['order_read']);
    expect(asked[0]).toContain('order/create');
    const refused = await rpcOf(await app.request('/api/mcp', call('order_create', { customer: 'ada' })));
    expect(refused.result._meta?.[MCP_META.problem]).toMatchObject({ code: 'permission_denied' });
  });
});

describe('D-11 the mount', () => {
  test('mcp: false leaves it out, and mcp.path moves it', async () => {
    expect(
      (await sample(undefined, { mcp: false }).app.request('/api/mcp', modernCall('tools/list'))).status,
    ).toBe(404);
    const moved = sample(undefined, { mcp: { path: '/models' } }).app;
    expect((await moved.request('/models', modernCall('tools/list'))).status).toBe(200);
    expect((await moved.request('/api/mcp', modernCall('tools/list'))).status).toBe(404);
    const based = sample(undefined, { basePath: '/v1' }).app;
    expect((await based.request('/v1/mcp', modernCall('tools/list'))).status).toBe(200);
  });

  test('an operation at its address fails at mount, naming both', () => {
    const taken: OperationTable = {
      'order/mcp': declare({
        input: z.strictObject({}),
        output: z.null(),
        http: { method: 'POST', path: '/api/mcp' },
      }),
    };
    expect(() => mountOperations(new Hono(), taken, () => fakeScope(taken))).toThrow(
      /order\/mcp and the MCP endpoint .*identically/,
    );
  });

  test('says who it is: by serverInfo, else as the OpenAPI document does', async () => {
    const who = async (options: MountOperationsOptions) => {
      const answer = await rpcOf(
        await sample(undefined, options).app.request('/api/mcp', modernCall('server/discover')),
      );
      return answer.result._meta?.['io.modelcontextprotocol/serverInfo'];
    };
    expect(await who({})).toEqual({ name: 'Operations', version: '0.0.0' });
    expect(await who({ openapi: { title: 'Fieldwork', version: '1.2.3' } })).toEqual({
      name: 'Fieldwork',
      version: '1.2.3',
    });
    const serverInfo = { name: 'fieldwork', title: 'Fieldwork', version: '1.2.3' };
    expect(await who({ openapi: false, mcp: { serverInfo } })).toEqual(serverInfo);
  });

  test('no cache keeps an answer, and every one names its request', async () => {
    const { app } = sample();
    for (const message of [modernCall('tools/list'), modernCall('nothing'), { ...ANY_JSON_RPC, body: '{' }]) {
      const { headers } = await app.request('/api/mcp', message);
      expect([
        headers.get('cache-control'),
        headers.get('x-request-id'),
        headers.get('x-content-type-options'),
      ]).toEqual(['private, no-store', 'req-generated', 'nosniff']);
      expect(headers.get('mcp-session-id')).toBeNull();
    }
  });
});

describe.each(['2026-07-28', '2025-11-25'])('D-11 a client of %s that leaves', (revision) => {
  const order = (signal: AbortSignal) => {
    const params = { name: 'order_create', arguments: { customer: 'ada' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const older = { ...ANY_JSON_RPC, body };
    const message = revision === '2025-11-25' ? older : modernCall('tools/call', params);
    return new Request('http://localhost/api/mcp', { ...message, signal });
  };

  // To go away is to cancel since 2026-07-28; before, it was not (2025-11-25, "Streamable HTTP").
  const made = revision === '2026-07-28' ? 0 : 1;

  test(`before its call begins has it made ${made} times`, async () => {
    const client = new AbortController();
    const { app, scope, incidents } = sample(
      () => answered,
      {},
      (stub) => {
        client.abort();
        return stub;
      },
    );
    await app.request(order(client.signal));
    expect([scope.calls.length, incidents]).toEqual([made, []]);
  });

  test('while its call is made stops nothing, and is no incident', async () => {
    const client = new AbortController();
    const { app, scope, incidents } = sample(() => {
      client.abort();
      return answered;
    });
    await app.request(order(client.signal));
    expect([scope.calls.length, incidents]).toEqual([1, []]);
  });
});
