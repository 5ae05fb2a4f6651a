/** The OpenAPI document of a mount: the names of its entities, its routes beside the operations, and its validator. */
import { pageOf, pageQuery, principalId } from '@freehold/contracts';
import type { OperationTable } from '@freehold/operations';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declare, fakeScope } from '../test/fixtures.ts';
import type { DescribedRoute } from './lib/described-routes.ts';
import type { OpenApiInfo } from './lib/openapi.ts';
import { mountOperations } from './mount-operations.ts';

const tool = z.object({ id: z.string(), name: z.string() });
const loan = z.object({ id: z.string(), tool });
const loanLine = z.object({ id: z.string() });
const note = z.object({ text: z.string() });
const named = z.object({ at: z.string() }).meta({ id: 'Opening' });
const get = (path: string) => ({ http: { method: 'GET' as const, path } });

const operations: OperationTable = {
  'tool/get': declare({ input: z.strictObject({ id: z.string() }), output: tool, ...get('/api/tools/:id') }),
  'tool/list': declare({ input: z.strictObject({}), output: pageOf(tool), ...get('/api/tools') }),
  'tool-loan/get': declare({
    input: z.strictObject({ id: z.string() }),
    output: loan,
    ...get('/api/loans/:id'),
  }),
  'tool-loan/list': declare({ input: z.strictObject({}), output: pageOf(loanLine), ...get('/api/loans') }),
  'note/list': declare({ input: z.strictObject({}), output: pageOf(note), ...get('/api/notes') }),
  'opening/get': declare({ input: z.strictObject({}), output: named, ...get('/api/opening') }),
};

const routes: readonly DescribedRoute[] = [
  {
    name: 'member/list',
    method: 'GET',
    path: '/api/members',
    summary: 'List the team',
    query: z.strictObject(pageQuery),
    answer: pageOf(z.object({ principal: principalId })),
  },
  {
    name: 'member/remove',
    method: 'POST',
    path: '/api/members/:principal/remove',
    summary: 'Remove a member',
    params: z.object({ principal: principalId }),
    body: z.strictObject({}),
    answer: z.object({ principal: principalId }),
  },
  {
    name: 'person/me',
    tag: 'member',
    method: 'GET',
    path: '/api/me',
    summary: 'Say who is asking',
    answer: z.object({ status: z.string() }),
    security: 'optional',
  },
  {
    name: 'file/get',
    method: 'GET',
    path: '/api/files/:file',
    summary: 'Read a file',
    answer: { 'application/octet-stream': null },
    headers: ['ETag'],
    otherAnswers: { 206: 'A part.', 304: 'Unchanged.' },
  },
  {
    name: 'problem/list',
    method: 'GET',
    path: '/problems',
    summary: 'List',
    answer: { 'text/html': z.string() },
    security: 'none',
  },
];

function mounted(openapi: OpenApiInfo = {}, table = operations) {
  const app = new Hono();
  mountOperations(app, table, () => fakeScope(table), { openapi });
  return app;
}

// biome-ignore lint/suspicious/noExplicitAny: a document as a client reads it.
async function documentOf(openapi: OpenApiInfo = {}): Promise<any> {
  return (await mounted(openapi).request('http://acme.test/api/openapi.json')).json();
}

describe('the document', () => {
  test('names the entities of the declarations', async () => {
    const { components, paths } = await documentOf();
    expect(Object.keys(components.schemas)).toEqual([
      'Note',
      'Opening',
      'Problem',
      'Tool',
      'ToolLoan',
      'ToolLoanSummary',
    ]);
    const { schema } = paths['/api/tools'].get.responses[200].content['application/json'];
    expect(schema.properties.items.items).toEqual({ $ref: '#/components/schemas/Tool' });
    expect(components.schemas.ToolLoan.properties.tool).toEqual({ $ref: '#/components/schemas/Tool' });
  });

  test('has the address of the instance, its groups with descriptions, and what an operation needs', async () => {
    const { servers, tags, paths, info, security } = await documentOf({ tags: { tool: 'What is lent.' } });
    expect(servers).toEqual([{ url: 'http://acme.test', description: expect.any(String) }]);
    expect(tags.map(({ name }: { name: string }) => name)).toEqual([
      'note',
      'opening',
      'service',
      'tool',
      'tool-loan',
    ]);
    expect(tags[3]).toEqual({ name: 'tool', description: 'What is lent.' });
    expect(paths['/api/tools'].get.description).toContain('Needs the permission `');
    expect([info.description, info.license.name, info.contact.name]).not.toContain(undefined);
    expect(security).toEqual([{ session: [] }, { bearer: [] }]);
  });

  test('lists the routes beside the operations, with their fields, bodies and credentials', async () => {
    const { paths, tags } = await documentOf({ describedRoutes: routes });
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/members',
        '/api/me',
        '/api/files/{file}',
        '/api/openapi.json',
        '/api/mcp',
      ]),
    );
    expect(tags.map(({ name }: { name: string }) => name)).toContain('member');
    expect(paths['/api/members'].get.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'limit',
      'cursor',
    ]);
    const remove = paths['/api/members/{principal}/remove'].post;
    expect(remove).toMatchObject({ operationId: 'member.remove', tags: ['member'] });
    expect(remove.parameters).toMatchObject([{ name: 'principal', in: 'path', required: true }]);
    expect(remove.requestBody.required).toBe(false);
    expect(Object.keys(remove.responses).map(Number)).toEqual([
      200, 400, 401, 403, 404, 409, 413, 415, 429, 500, 503,
    ]);
    expect(paths['/api/me'].get.security).toEqual([{ session: [] }, { bearer: [] }, {}]);
    expect(paths['/problems'].get).toMatchObject({ security: [] });
    expect(Object.keys(paths['/problems'].get.responses)).not.toContain('401');
    const file = paths['/api/files/{file}'].get.responses;
    expect(file[206].content).toEqual({ 'application/octet-stream': {} });
    expect(file[304].content).toBeUndefined();
    expect(Object.keys(file[200].headers)).toEqual(['X-Request-Id', 'ETag']);
  });

  test('is refused where a route beside has the address of an operation', () => {
    const rival = { ...routes[0], name: 'thing/list', path: '/api/tools' } as DescribedRoute;
    expect(() => mounted({ describedRoutes: [rival] })).toThrow(/tool\/list and thing\/list .*identically/);
  });

  test('has an entity tag, and is not sent again to who has it', async () => {
    const app = mounted();
    const ask = (headers: Record<string, string> = {}, origin = 'http://acme.test') =>
      app.request(`${origin}/api/openapi.json`, { headers });
    const tag = (await ask()).headers.get('etag') ?? '';
    expect(tag).toMatch(/^W\/"[\w-]{43}"$/);
    const known = await ask({ 'if-none-match': tag });
    expect([known.status, known.headers.get('etag'), await known.text()]).toEqual([304, tag, '']);
    expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200);
    // The document of another host name is another one.
    expect((await ask({ 'if-none-match': tag }, 'http://beta.test')).status).toBe(200);
  });
});
