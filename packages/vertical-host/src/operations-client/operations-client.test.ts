/** The front end's client against the mount that it is made for: what is sent arrives, what is answered comes back typed. */
import { PlatformError } from '@freehold/contracts';
import fc from 'fast-check';
import { Hono } from 'hono';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { declare, fakeScope, type Handler } from '../../test/fixtures.ts';
import { mountOperations } from '../mount-operations.ts';
import { ApiError, makeOperationsClient, type OperationsClientOptions } from './operations-client.ts';

const operations = {
  'order/read': declare({
    input: z.strictObject({
      id: z.string(),
      tags: z.array(z.string()).min(1).optional(),
      limit: z.int().default(10),
      open: z.boolean().nullable().optional(),
    }),
    output: z.strictObject({ title: z.string(), lines: z.int() }),
    entity: ({ id }) => ({ type: 'order', id }),
    http: { method: 'GET', path: '/api/orders/:id' },
  }),
  'order/rename': declare({
    input: z.strictObject({ id: z.string(), title: z.string().min(3) }),
    output: z.null(),
    entity: ({ id }) => ({ type: 'order', id }),
    http: { method: 'PATCH', path: '/api/orders/:id' },
  }),
  'order/purge': declare({ input: z.strictObject({ before: z.int() }), output: z.int() }),
};

const addresses = {
  'order/read': { method: 'GET', path: '/api/orders/:id' },
  'order/rename': { method: 'PATCH', path: '/api/orders/:id' },
} as const;

function open(handler?: Handler, options: OperationsClientOptions = {}) {
  const app = new Hono();
  const scope = fakeScope(operations, handler);
  mountOperations(app, operations, () => scope);
  app.post('/auth/leave', (c) => c.body(null, 204));
  const client = makeOperationsClient<typeof operations>(addresses, {
    baseUrl: 'https://app.test',
    fetch: async (address, init) => app.request(address, init),
    ...options,
  });
  return { client, scope };
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error) => error,
  );

describe('a call', () => {
  test('D-09: has the types of its declaration, and arrives as it was written', async () => {
    const { client, scope } = open(() => ({ output: { title: 'Roof', lines: 2 }, version: 'v7' }));
    const answer = await client.call('order/read', { id: 'a/b ü', tags: ['x', 'y'], open: null });
    expectTypeOf(answer.value).toEqualTypeOf<{ title: string; lines: number }>();
    expectTypeOf<Parameters<typeof client.call<'order/rename'>>[1]>().toEqualTypeOf<{
      id: string;
      title: string;
    }>();
    expect(answer).toEqual({
      value: { title: 'Roof', lines: 2 },
      version: '"v7"',
      invocation: null,
      replayed: false,
    });
    expect(scope.calls).toEqual([
      { operation: 'order/read', input: { id: 'a/b ü', tags: ['x', 'y'], limit: 10, open: null } },
    ]);
  });

  test('carries its version and its key, and tells a repeat', async () => {
    const { client, scope } = open(() => ({ output: null, invocation: 'inv_1', replayed: true }));
    const renamed = await client.call(
      'order/rename',
      { id: '7', title: 'Roof' },
      { ifMatch: '"v7"', idempotencyKey: 'press-1' },
    );
    expect(renamed).toMatchObject({ invocation: 'inv_1', replayed: true });
    expect(scope.calls).toEqual([
      {
        operation: 'order/rename',
        input: { id: '7', title: 'Roof' },
        idempotencyKey: 'press-1',
        ifMatch: 'v7',
      },
    ]);
  });

  test('of an operation without an address of its own goes to the common one', async () => {
    const { client, scope } = open(() => ({ output: 3 }));
    expect((await client.call('order/purge', { before: 5 })).value).toBe(3);
    expect(scope.calls).toEqual([{ operation: 'order/purge', input: { before: 5 } }]);
  });

  test('whatever the text of a field, it arrives, or is refused before it is sent', async () => {
    const { client, scope } = open(() => ({ output: { title: '', lines: 0 } }));
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }),
        async (id, tags) => {
          scope.calls.length = 0;
          const call = client.call('order/read', { id, tags });
          if (['', '.', '..'].includes(id)) {
            await expect(call).rejects.toBeInstanceOf(TypeError);
            return;
          }
          await call;
          expect(scope.calls[0]?.input).toEqual({ id, tags, limit: 10 });
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a route around the operations is reached as well', async () => {
    expect(await open().client.request('POST', '/auth/leave')).toMatchObject({ value: null, version: null });
  });
});

describe('a failure', () => {
  test('is the problem’s sentence, with its fields', async () => {
    const failure = await failureOf(open().client.call('order/rename', { id: '7', title: '' }));
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({ status: 400, code: 'validation_failed' });
    expect([...(failure as ApiError).fields.keys()]).toEqual(['title']);
    expect((failure as ApiError).requestId).toMatch(/./);
  });

  test('of a session that ended calls the listener that shows the sign-in', async () => {
    const told: string[] = [];
    const refuse: Handler = () => {
      throw new PlatformError('unauthenticated', 'Sign in first.', { reason: 'session_ended' });
    };
    const { client } = open(refuse, { onUnauthenticated: () => void told.push('signed out') });
    const failure = await failureOf(client.call('order/purge', { before: 1 }));
    expect([told, failure]).toMatchObject([
      ['signed out'],
      { code: 'unauthenticated', reason: 'session_ended' },
    ]);
  });

  test.each([
    [503, '<html>Busy</html>', 'unavailable'],
    [502, '', 'unavailable'],
    [500, '{"message": "x"}', 'internal'],
    [404, 'null', 'internal'],
  ])('of something else that answers %i is still a sentence', async (status, body, code) => {
    const { client } = open(undefined, { fetch: async () => new Response(body, { status }) });
    const failure = await failureOf(client.call('order/purge', { before: 1 }));
    expect(failure).toMatchObject({
      status,
      code,
      message: expect.stringMatching(/Try again in a moment\.$/),
    });
  });

  test('of the connection is “unreachable”, and of the caller’s own signal is the signal’s', async () => {
    const down = open(undefined, { fetch: () => Promise.reject(new TypeError('fetch failed')) });
    expect(await failureOf(down.client.call('order/purge', { before: 1 }))).toMatchObject({
      status: 0,
      code: 'unreachable',
    });
    const reason = new Error('The page was left.');
    const left = open(undefined, { fetch: async (_address, init) => init.signal?.throwIfAborted() as never });
    const signal = AbortSignal.abort(reason);
    expect(await failureOf(left.client.call('order/purge', { before: 1 }, { signal }))).toBe(reason);
  });
});
