/** Fieldwork as a model sees it: the same people, the same permissions, the same refusals. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../src/vertical/operations.ts';
import { type Fixture, type Instance, joinTeam, openFixture, type Visitor } from './fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

const answer = z.object({
  result: z.object({
    isError: z.boolean().optional(),
    structuredContent: z.unknown().optional(),
    tools: z.array(z.looseObject({ name: z.string() })).optional(),
    prompts: z.array(z.looseObject({ name: z.string() })).optional(),
    messages: z.array(z.object({ content: z.looseObject({ text: z.string() }) })).optional(),
    _meta: z.record(z.string(), z.unknown()),
  }),
});

/** Sends one request of revision 2026-07-28. */
function send(
  visitor: Visitor,
  method: string,
  params: { readonly name?: string; readonly uri?: string; readonly [key: string]: unknown } = {},
  meta: object = {},
) {
  const named = params.name ?? params.uri;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  return visitor.request(
    'POST',
    '/api/mcp',
    { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
    },
  );
}

async function ask(...given: Parameters<typeof send>) {
  const response = await send(...given);
  expect(response.status).toBe(200);
  return answer.parse(await response.json()).result;
}

async function call(visitor: Visitor, name: string, input: object, meta?: object) {
  return ask(visitor, 'tools/call', { name, arguments: input }, meta);
}

async function toolsOf(visitor: Visitor): Promise<string[]> {
  const { tools } = await ask(visitor, 'tools/list');
  return (tools ?? []).map(({ name }) => name).sort();
}

const withId = z.looseObject({ id: z.string() });
const resourceAnswer = z.object({
  error: z.object({ code: z.int(), message: z.string() }).optional(),
  result: z
    .looseObject({
      resources: z.array(z.looseObject({ uri: z.string(), title: z.string() })).optional(),
      resourceTemplates: z.array(z.looseObject({ uriTemplate: z.string() })).optional(),
      contents: z.tuple([z.looseObject({ text: z.string() })]).optional(),
    })
    .optional(),
});
async function askResource(visitor: Visitor, method: string, params: { readonly uri?: string } = {}) {
  return resourceAnswer.parse(await (await send(visitor, method, params)).json());
}

async function idOf(result: Promise<{ readonly structuredContent?: unknown }>): Promise<string> {
  return withId.parse((await result).structuredContent).id;
}

describe('D-11 the tools of fieldwork', () => {
  test('an owner sees every operation with an address but those kept out', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const addressed = Object.entries(operations)
      .filter(([, { http, mcp }]) => http !== undefined && mcp !== false)
      .map(([name]) => name.replaceAll('/', '_'));
    expect(await toolsOf(ada)).toEqual(addressed.sort());
    expect(addressed).toContain('order_note-add');
  });

  test('a technician sees what an assignment lets him do, from the assignment on', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const before = await toolsOf(jo);
    expect(before).toEqual(['dashboard_summary', 'order_list']);

    const customer = await idOf(call(ada, 'customer_create', { name: 'Mill & Co' }));
    const order = await idOf(call(ada, 'order_create', { customer, title: 'Fix the tap' }));
    await call(ada, 'order_schedule', {
      order,
      from: '2026-03-04T10:00:00.000Z',
      to: '2026-03-04T12:00:00.000Z',
    });
    expect((await call(jo, 'order_get', { order })).isError).toBe(true);
    await call(ada, 'order_assign', { order, assignee: principal });
    await call(ada, 'order_unassign', { order, assignee: principal });
    expect(await toolsOf(jo)).toEqual(before);
    await call(ada, 'order_assign', { order, assignee: principal });
    expect(await toolsOf(jo)).toEqual([
      'dashboard_summary',
      'order_complete',
      'order_get',
      'order_list',
      'order_note-add',
      'order_note-list',
      'order_start',
    ]);
    // All that the assignment gave is on the list, and nothing else.
    const done = [
      await call(jo, 'order_get', { order }),
      await call(jo, 'order_start', { order }),
      await call(jo, 'order_note-add', { order, text: 'On my way' }),
      await call(jo, 'order_note-list', { order }),
      await call(jo, 'order_complete', { order, minutes: 30 }),
    ];
    expect(done.map(({ isError }) => isError)).toEqual(done.map(() => undefined));
  });

  test('a technician picks the sentence of a tool from the assignment on', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const promptsOf = async () => (await ask(jo, 'prompts/list')).prompts?.map(({ name }) => name);
    expect(await promptsOf()).toEqual([]);
    const customer = await idOf(call(ada, 'customer_create', { name: 'Mill & Co' }));
    const order = await idOf(call(ada, 'order_create', { customer, title: 'Fix the tap' }));
    const appointment = { from: '2026-03-04T10:00:00.000Z', to: '2026-03-04T12:00:00.000Z' };
    await call(ada, 'order_schedule', { order, ...appointment });
    await call(ada, 'order_assign', { order, assignee: principal });
    expect(await promptsOf()).toEqual(['order_complete']);
    const { messages } = await ask(jo, 'prompts/get', { name: 'order_complete', arguments: { order } });
    expect(messages?.[0]?.content.text).toContain(`Report ${order} as done`);
  });

  test('an order is a resource to the members who may see it, with its history; to others it is not there', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const customer = await idOf(call(ada, 'customer_create', { name: 'Mill & Co' }));
    const order = await idOf(call(ada, 'order_create', { customer, title: 'Fix the tap' }));
    const uri = `freehold://order/${order}`;
    const listed = async (visitor: Visitor) =>
      (await askResource(visitor, 'resources/list')).result?.resources?.map((each) => [each.uri, each.title]);
    const readable = async (visitor: Visitor) =>
      (await askResource(visitor, 'resources/templates/list')).result?.resourceTemplates?.length;
    const read = (visitor: Visitor, at: string) => askResource(visitor, 'resources/read', { uri: at });
    expect([await listed(ada), await readable(ada)]).toEqual([[[uri, 'Fix the tap']], 2]);

    expect([await listed(jo), await readable(jo)]).toEqual([[], 0]);
    const absent = 'freehold://order/ord_01jd0000000000000000000009';
    for (const at of [uri, `${uri}/history`, absent, `${absent}/history`])
      expect(await read(jo, at)).toEqual({ error: { code: -32602, message: `Resource not found: ${at}` } });

    await call(ada, 'order_schedule', {
      order,
      from: '2026-03-04T10:00:00.000Z',
      to: '2026-03-04T12:00:00.000Z',
    });
    await call(ada, 'order_assign', { order, assignee: principal });
    expect([await listed(jo), await readable(jo)]).toEqual([[[uri, 'Fix the tap']], 2]);
    const textOf = async (at: string) =>
      JSON.parse((await read(jo, at)).result?.contents?.[0].text ?? 'null');
    expect(await textOf(uri)).toMatchObject({ id: order, title: 'Fix the tap', state: 'scheduled' });
    expect(await textOf(`${uri}/history`)).toEqual(await jo.get(`/api/orders/${order}/history?limit=50`));
  });

  test('a tool that is not listed is refused like its route, and the refusal is in the log', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    const refused = await call(jo, 'customer_create', { name: 'Mine' });
    expect(refused.isError).toBe(true);
    expect(refused._meta['freehold/problem']).toMatchObject({ status: 403, code: 'permission_denied' });
    const { items } = await ada.get<{ items: object[] }>('/api/denials');
    expect(items).toMatchObject([{ actor: { principal }, operation: 'customer/create' }]);
    expect(await ada.get('/api/customers')).toMatchObject({ items: [] });
  });

  test('D-10 a repeated call acts once, over both surfaces alike, and a stale version is refused', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada');
    await ada.get('/api/me');
    const key = { 'freehold/idempotencyKey': 'k-1' };
    const first = await call(ada, 'customer_create', { name: 'Mill & Co' }, key);
    const second = await call(ada, 'customer_create', { name: 'Mill & Co' }, key);
    expect(second.structuredContent).toEqual(first.structuredContent);
    expect(second._meta).toMatchObject({ 'freehold/replayed': true });
    const overHttp = await ada.request(
      'POST',
      '/api/customers',
      { name: 'Mill & Co' },
      { 'idempotency-key': 'k-1' },
    );
    expect(overHttp.headers.get('idempotency-replayed')).toBe('true');
    expect(await overHttp.json()).toEqual(first.structuredContent);
    const other = await call(ada, 'customer_create', { name: 'Another' }, key);
    expect(other._meta['freehold/problem']).toMatchObject({
      code: 'conflict',
      reason: 'idempotency_key_reused',
    });

    const customer = withId.parse(first.structuredContent).id;
    const version =
      first._meta['freehold/version'] ??
      (await call(ada, 'customer_get', { customer }))._meta['freehold/version'];
    const rename = (name: string) =>
      call(ada, 'customer_update', { customer, name }, { 'freehold/ifMatch': version });
    expect((await rename('Mill')).isError).toBeUndefined();
    expect((await rename('Mills'))._meta['freehold/problem']).toMatchObject({ code: 'precondition_failed' });
  });
});

describe('D-11 who gets to the tools', () => {
  const refusedAt = (at: Instance, visitor = fixture.visitor(at)) => send(visitor, 'tools/list');

  test('no anonymous caller, no non-member, and no member of another tenant', async () => {
    expect((await refusedAt(fixture.pipes)).status).toBe(401);
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const eve = await fixture.signedIn(fixture.pipes, 'eve');
    expect((await refusedAt(fixture.pipes, eve)).status).toBe(403);
    const trespasser = fixture.visitor(fixture.sparks, await fixture.cookieOf(fixture.pipes, 'ada', 'Ada'));
    expect((await refusedAt(fixture.sparks, trespasser)).status).toBe(401);
  });

  test('another page and another name are refused, signed in or not', async () => {
    const ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    await ada.get('/api/me');
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect(await ada.refused('POST', '/api/mcp', body, { origin: fixture.sparks.origin })).toMatchObject({
      status: 403,
      reason: 'cross_site',
    });
    expect(await ada.refused('POST', '/api/mcp', body, { host: 'evil.example' })).toMatchObject({
      status: 403,
      reason: 'foreign_host',
    });
  });

  test('a client without a token is told where tokens are made, where the application takes them', async () => {
    await using tokens = await openFixture(
      {},
      {
        bindings: {
          AUTH_PROVIDER: 'oidc',
          OIDC_ISSUER: 'https://issuer.example',
          OIDC_AUDIENCE: 'fieldwork',
        },
        config: {},
      },
    );
    const response = await send(tokens.visitor(tokens.pipes), 'tools/list');
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${tokens.pipes.origin}/.well-known/oauth-protected-resource/api/mcp"`,
    );
  });
});
