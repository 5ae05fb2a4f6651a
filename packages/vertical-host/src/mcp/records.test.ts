/** Records as resources: what is listed, what is read, and what stays untold. */
import { encodeCursor, nameCursor, PlatformError, pageOf, pageQuery } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { declare } from '../../test/fixtures.ts';
import { modernCall, rpcOf } from '../../test/mcp/messages.ts';
import { mountOperations } from '../mount-operations.ts';
import type { ListingStub } from './mcp-endpoint.ts';

const row = z.object({ id: z.union([z.string(), z.int()]), title: z.string() });
const typed = (type: string): OperationTable => ({
  [`${type}/list`]: declare({
    input: z.strictObject(pageQuery),
    output: pageOf(row),
    http: { method: 'GET', path: `/api/${type}s` },
  }),
  [`${type}/get`]: declare({
    input: z.strictObject({ [type]: z.string() }),
    output: row,
    http: { method: 'GET', path: `/api/${type}s/:${type}` },
  }),
});
const operations: OperationTable = {
  ...typed('order'),
  ...typed('visit'),
  ...typed('bill'),
  'note/get': declare({
    input: z.strictObject({ note: z.string() }),
    output: row,
    http: { method: 'GET', path: '/api/notes/:note' },
  }),
};
const records = ['order', 'visit', 'bill', 'note'].map((type) => ({
  type,
  parameter: type,
  readId: (text: string) => text,
  titleField: 'title',
}));

const rows = (ids: readonly (string | number)[]) => ids.map((id) => ({ id, title: `No. ${id}` }));
/** Two pages of orders, no visits, one bill with a number for an id. */
const PAGES: Record<string, object> = {
  'order/list': { items: rows(['o1', 'o2']), nextCursor: 'p2' },
  'order/list p2': { items: rows(['o3']), nextCursor: null },
  'visit/list': { items: [], nextCursor: null },
  'bill/list': { items: rows([7]), nextCursor: null },
};

function open(change: Partial<ListingStub> = {}) {
  const app = new Hono();
  const incidents: unknown[] = [];
  const asked: string[] = [];
  const stub: ListingStub = {
    invoke: async ({ operation, input }) => {
      const { cursor } = input as { cursor?: string };
      const at = cursor === undefined ? operation : `${operation} ${cursor}`;
      asked.push(at);
      if (operation.endsWith('/list')) {
        if (!PAGES[at]) throw new PlatformError('validation_failed', 'The cursor is not one of this list.');
        return { output: PAGES[at], invocation: null, version: null, replayed: false };
      }
      const id = Object.values(input as object)[0];
      if (id === 'hidden') throw new PlatformError('permission_denied', 'Your role does not allow this.');
      if (id === 'broken') throw new TypeError('hunter2');
      if (id !== 'o1') throw new PlatformError('not_found', 'There is no such order.');
      return { output: rows([id])[0], invocation: null, version: null, replayed: false };
    },
    history: async ({ type, id }, { cursor, limit }) => ({ type, id, cursor, limit }),
    ...change,
  };
  mountOperations(app, operations, () => stub, {
    mcp: { records },
    onIncident: (error) => void incidents.push(error),
  });
  const ask = async (method: string, params: Readonly<Record<string, unknown>> = {}) =>
    rpcOf(await app.request('/api/mcp', modernCall(method, params)));
  const list = async (cursor?: unknown) => {
    const { result, error } = await ask('resources/list', cursor === undefined ? {} : { cursor });
    const { resources = [], nextCursor } = result as { resources?: { uri: string }[]; nextCursor?: string };
    return { uris: resources.map(({ uri }) => uri), nextCursor, error };
  };
  const read = (uri: string) => ask('resources/read', { uri });
  return { ask, list, read, asked, incidents };
}

test('a list goes through the types, one page of one type at a time, and stops where nothing follows', async () => {
  const { list, asked } = open();
  const first = await list();
  expect(first.uris).toEqual(['freehold://order/o1', 'freehold://order/o2']);
  const second = await list(first.nextCursor);
  expect(second.uris).toEqual(['freehold://order/o3']);
  const third = await list(second.nextCursor);
  expect(third).toEqual({ uris: ['freehold://bill/7'], nextCursor: undefined, error: undefined });
  // No page is read twice, and none that was not asked for.
  expect(asked).toEqual(['order/list', 'order/list p2', 'visit/list', 'bill/list']);
});

test('a list has the types that the caller may list, and a cursor goes on when one was taken away', async () => {
  const { nextCursor } = await open().list();
  const { list, asked } = open({ listable: async () => ['bill/list', 'order/get'] });
  expect(await list()).toMatchObject({ uris: ['freehold://bill/7'] });
  expect(await list(nextCursor)).toMatchObject({ uris: ['freehold://bill/7'] });
  expect(asked).toEqual(['bill/list', 'bill/list']);
  expect(await open({ listable: async () => [] }).list()).toEqual({
    uris: [],
    nextCursor: undefined,
    error: undefined,
  });
});

test.each([
  ['a broken one', '%%%'],
  ['one of another list', nameCursor('tools', encodeCursor('order_get'))],
  ['one of a type that is gone', nameCursor('resources', encodeCursor('["part",null]'))],
  ['one of no form', nameCursor('resources', encodeCursor('{"type":"order"}'))],
  ['one with a foreign place', nameCursor('resources', encodeCursor('["order","p9"]'))],
])('a list refuses a cursor that is %s', async (_, cursor) => {
  const { list, incidents } = open();
  expect((await list(cursor)).error).toMatchObject({ code: -32602 });
  expect(incidents).toEqual([]);
});

test('the templates are those of the records that the caller may read, listed or not', async () => {
  const { ask } = open({ listable: async () => ['note/get', 'bill/list'] });
  const { result } = await ask('resources/templates/list');
  expect(result.resourceTemplates).toMatchObject([
    { name: 'note', uriTemplate: 'freehold://note/{id}' },
    { name: 'note_history', uriTemplate: 'freehold://note/{id}/history{?cursor}' },
  ]);
  expect(JSON.stringify(result)).not.toContain('"operation"');
});

test('a history is read at its record, a page at a time', async () => {
  const { read } = open();
  const text = async (uri: string) =>
    JSON.parse(((await read(uri)).result.contents as { text: string }[])[0]?.text ?? '');
  expect(await text('freehold://order/o1/history')).toEqual({ type: 'order', id: 'o1', limit: 50 });
  expect(await text('freehold://order/o%2F1/history?cursor=a%26b')).toEqual({
    type: 'order',
    id: 'o/1',
    limit: 50,
    cursor: 'a&b',
  });
});

test('what is hidden, absent or no address at all is one answer', async () => {
  const { read, incidents } = open();
  for (const uri of [
    'freehold://order/hidden',
    'freehold://order/o9',
    'freehold://part/o1',
    'freehold://order/o1/notes',
    'freehold://order/%zz',
    'freehold://order/',
    'freehold://order',
    'freehold://order/o1?cursor=x',
    'https://order/o1',
    'FREEHOLD://order/o1',
  ])
    expect(await read(uri)).toMatchObject({
      error: { code: -32602, message: `Resource not found: ${uri}`, data: { uri } },
    });
  const refused = open({ history: () => Promise.reject(new PlatformError('permission_denied', 'No.')) });
  expect((await refused.read('freehold://order/o1/history')).error).toMatchObject({
    message: 'Resource not found: freehold://order/o1/history',
  });
  expect(incidents).toEqual([]);
});

test('a failure is recorded, and told without a word of it', async () => {
  const { read, incidents } = open();
  const answer = await read('freehold://order/broken');
  expect(answer.error).toMatchObject({ code: -32603, message: 'The resource cannot be read right now.' });
  expect(incidents).toHaveLength(1);
  const busy = open({ invoke: () => Promise.reject(new PlatformError('unavailable', 'Try again.')) });
  expect((await busy.read('freehold://order/o1')).error?.message).toContain('Try again.');
  expect((await busy.list()).error).toMatchObject({ code: -32603 });
});

test('without records there are no resources', async () => {
  const app = new Hono();
  mountOperations(app, operations, () => ({ invoke: () => Promise.reject(new Error('unasked')) }));
  const response = await app.request('/api/mcp', modernCall('resources/list'));
  expect([response.status, (await rpcOf(response)).error?.code]).toEqual([404, -32601]);
});
