/** The staff tools, by the official client of both eras, over a real socket. */

import { adminOperations } from '@freehold/directory/declarations';
import { MCP_META } from '@freehold/operations/mcp';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../vertical-host/test/mcp/listen.ts';
import { modernCall } from '../../../vertical-host/test/mcp/messages.ts';
import { adminToolsOf } from '../../src/mcp/admin-tools.ts';
import { type Fixture, ORIGIN, openFixture, signedIn, tokenOf } from './fixture.ts';

/** A house on a socket of this machine, under the name that it knows itself by. */
async function openServer() {
  let origin = ORIGIN;
  const fixture = await openFixture({ origin: () => origin, hostnames: ['api.localhost'] });
  const server = await listen((request) => fixture.send(request));
  onTestFinished(() => server[Symbol.asyncDispose]());
  origin = server.origin;
  const connect = async (token: string, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), { requestInit }));
    return client;
  };
  return { fixture, connect, origin };
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const problemOf = (result: CallToolResult) => result._meta?.[MCP_META.problem];
const headersOf = (token: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${token}`,
  ...more,
});

function post(fixture: Fixture, headers: Record<string, string>, origin = ORIGIN) {
  const call = modernCall('tools/list');
  return fixture.send(new Request(`${origin}/mcp`, { ...call, headers: { ...call.headers, ...headers } }));
}

describe.each(['auto', 'legacy'] as const)('a client that negotiates %s', (mode) => {
  test('is listed every operation that answers JSON, and works with them page by page', async () => {
    const { fixture, connect } = await openServer();
    const client = await connect(fixture.secret, mode);
    const names = await namesOf(client);
    expect(names).toEqual(
      adminToolsOf(adminOperations).map(({ operation }) => operation.name.replace('.', '_')),
    );
    expect(names).not.toContain('scopes_export');
    const { tools } = await client.listTools();
    // A model reads all but the forms of answers before its first call.
    const read = tools.map(({ outputSchema: _form, ...tool }) => tool);
    expect([JSON.stringify(read).length < 200_000, JSON.stringify(tools).length < 350_000]).toEqual([
      true,
      true,
    ]);
    for (const slug of ['one', 'two']) {
      const made = await client.callTool({ name: 'tenants_create', arguments: { slug, name: slug } });
      expect(made.structuredContent).toMatchObject({ slug, status: 'active' });
    }
    const first = await client.callTool({ name: 'tenants_list', arguments: { limit: 1 } });
    const page = first.structuredContent as { items: { slug: string }[]; nextCursor: string };
    const second = await client.callTool({
      name: 'tenants_list',
      arguments: { limit: 1, cursor: page.nextCursor },
    });
    expect([page, second.structuredContent]).toMatchObject([
      { items: [{ slug: 'one' }] },
      { items: [{ slug: 'two' }], nextCursor: null },
    ]);
    await client.close();
  });
});

test('each tool says the form of its answer, and the answers fit: the client refuses one that does not', async () => {
  const { fixture, connect } = await openServer();
  const client = await connect(fixture.secret);
  const { tools } = await client.listTools();
  expect(tools.filter(({ outputSchema }) => outputSchema === undefined)).toEqual([]);
  const formOf = (name: string) => tools.find((tool) => tool.name === name)?.outputSchema;
  expect(formOf('tenants_list')).toMatchObject({
    type: 'object',
    properties: { items: { type: 'array' }, nextCursor: { type: ['string', 'null'] } },
  });
  const made = await client.callTool({ name: 'tenants_create', arguments: { slug: 'a', name: 'A' } });
  const { id: tenant } = made.structuredContent as { id: string };
  const suspend = { tenant, status: 'suspended', dryRun: true };
  const planned = await client.callTool({ name: 'tenants_set-status', arguments: suspend });
  expect(planned.structuredContent).toMatchObject({ dryRun: true });
  const issued = await client.callTool({ name: 'service-tokens_create', arguments: { name: 'ci' } });
  const { token } = issued.structuredContent as { token: { id: string } };
  const revoked = await client.callTool({ name: 'service-tokens_revoke', arguments: { token: token.id } });
  expect([revoked.isError, revoked.structuredContent]).toEqual([undefined, null]);
  await client.close();
});

describe('spec 5.5: the same access rules as the routes', () => {
  test('an auditor is listed what they may call, and refused the rest in words that a model reads', async () => {
    const { fixture, connect } = await openServer();
    await signedIn(fixture, 'ada', 'auditor');
    const client = await connect(await tokenOf(fixture, 'ada'));
    const names = await namesOf(client);
    expect(names).toContain('tenants_list');
    for (const name of ['tenants_create', 'staff_put', 'staff_remove']) expect(names).not.toContain(name);
    const result = await client.callTool({ name: 'tenants_create', arguments: { slug: 'a', name: 'A' } });
    expect(result.isError).toBe(true);
    expect(problemOf(result as CallToolResult)).toMatchObject({ status: 403, reason: 'role_insufficient' });
    await client.close();
  });

  test('a call is written down like any other, with the member and the token', async () => {
    const { fixture, connect } = await openServer();
    const ada = await signedIn(fixture, 'ada', 'operator');
    const client = await connect(await tokenOf(fixture, 'ada'));
    const key = { [MCP_META.idempotencyKey]: 'k-1' };
    const create = () =>
      client.callTool({ name: 'tenants_create', arguments: { slug: 'a', name: 'A' }, _meta: key });
    const [first, again] = [await create(), await create()];
    expect(again.structuredContent).toEqual(first.structuredContent);
    expect(again._meta).toMatchObject({ [MCP_META.replayed]: true });
    const rows = (await fixture.adminLog()).filter(({ action }) => action === 'tenants.create');
    expect(rows).toMatchObject([
      { actor: { kind: 'staff', id: ada.id }, token: expect.stringMatching(/^tok_/) },
    ]);
    await client.close();
  });

  test('a builder is listed what is for builders, and their tenant is forced', async () => {
    const { fixture, connect } = await openServer();
    const staff = await connect(fixture.secret);
    const made = await staff.callTool({ name: 'tenants_create', arguments: { slug: 'a', name: 'A' } });
    await staff.callTool({ name: 'tenants_create', arguments: { slug: 'b', name: 'B' } });
    const tenant = (made.structuredContent as { id: string }).id;
    const push = await staff.callTool({ name: 'push-tokens_create', arguments: { tenant, name: 'ci' } });
    const builder = await connect((push.structuredContent as { secret: string }).secret);
    const expected = Object.values(adminOperations)
      .filter((operation) => operation.builder === 'own-tenant')
      .map(({ name }) => name.replace('.', '_'));
    expect(expected).toEqual(expect.arrayContaining(await namesOf(builder)));
    const listed = await builder.callTool({ name: 'tenants_list', arguments: {} });
    expect(listed.structuredContent).toMatchObject({ items: [{ id: tenant }] });
    await builder.close();
    await staff.close();
  });
});

describe('arguments', () => {
  test.each([
    ['an unknown tenant', { slug: 'a', name: 'A', colour: 'red' }, 'colour'],
    ['one that is missing', { name: 'A' }, 'slug'],
    ['one of a wrong form', { slug: 'No slug', name: 'A' }, 'slug'],
  ])('with %s are refused by name', async (_, args, path) => {
    const { fixture, connect } = await openServer();
    const client = await connect(fixture.secret);
    const result = await client.callTool({ name: 'tenants_create', arguments: args });
    expect(problemOf(result as CallToolResult)).toMatchObject({
      code: 'validation_failed',
      errors: [{ path }],
    });
    await client.close();
  });

  test('a version that is stale is refused, and one that no tool looks at too', async () => {
    const { fixture, connect } = await openServer();
    const client = await connect(fixture.secret);
    const put = (ifMatch: string) =>
      client.callTool({
        name: 'roles_put',
        arguments: { key: 'support', name: 'Support', permissions: [] },
        _meta: { [MCP_META.ifMatch]: ifMatch },
      });
    const first = await client.callTool({
      name: 'roles_put',
      arguments: { key: 'support', name: 'Help', permissions: [] },
    });
    const version = String(first._meta?.[MCP_META.version]);
    expect(problemOf((await put('999')) as CallToolResult)).toMatchObject({ code: 'precondition_failed' });
    expect((await put(version)).isError).toBeUndefined();
    const dropped = await client.callTool({
      name: 'push-tokens_create',
      arguments: { tenant: 'tnt_01jd0000000000000000000001', name: 'ci' },
      _meta: { [MCP_META.ifMatch]: '1' },
    });
    expect(problemOf(dropped as CallToolResult)).toMatchObject({ code: 'validation_failed' });
    await client.close();
  });
});

describe('who may knock', () => {
  test('no caller without a token: 401 says where the metadata is (RFC 9728, 5.1), also to a session', async () => {
    const fixture = await openFixture();
    await signedIn(fixture, 'ada', 'admin');
    const where = `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp"`;
    for (const [headers, error] of [
      [{}, false],
      [{ cookie: 'who=ada', 'sec-fetch-site': 'same-origin' }, false],
      [headersOf('fh_staff_wrong'), true],
    ] as const) {
      const response = await post(fixture, headers);
      const challenge = response.headers.get('www-authenticate') ?? '';
      expect(response.status).toBe(401);
      expect(challenge).toContain(where);
      expect(challenge.includes('invalid_token')).toBe(error);
    }
  });

  test('no caller under a foreign name, and no foreign page, whatever token it brings', async () => {
    const fixture = await openFixture({ hostnames: ['api.example.test'] });
    const good = headersOf(fixture.secret);
    expect((await post(fixture, good)).status).toBe(200);
    expect((await post(fixture, good, 'http://api.example.test')).status).toBe(200);
    expect((await post(fixture, { ...good, origin: ORIGIN })).status).toBe(200);
    for (const [response, reason] of [
      [await post(fixture, good, 'http://evil.example'), 'foreign_host'],
      [await post(fixture, { ...good, host: 'evil.example' }), 'foreign_host'],
      [await post(fixture, { ...good, origin: 'http://evil.example' }), 'cross_site'],
      [await post(fixture, { ...good, origin: 'null' }), 'cross_site'],
    ] as const)
      expect([response.status, await response.json()]).toMatchObject([403, { reason }]);
  });

  test('what is no message is answered in the words of JSON-RPC, and GET is not answered', async () => {
    const fixture = await openFixture();
    const send = (body: string) =>
      fixture.ask('/mcp', {
        method: 'POST',
        headers: headersOf(fixture.secret, { 'content-type': 'application/json' }),
        body,
      });
    for (const [body, code] of [
      ['{', -32700],
      ['[]', -32600],
    ] as const) {
      const response = await send(body);
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code } }]);
    }
    expect((await fixture.ask('/mcp')).status).toBe(405);
  });

  test('without an origin there are no tools', async () => {
    const fixture = await openFixture({ origin: undefined as never });
    expect((await post(fixture, headersOf(fixture.secret))).status).toBe(404);
  });
});

test('hints say what changes nothing, and what cannot be taken back', () => {
  const hintsOf = (name: string) =>
    adminToolsOf(adminOperations).find(({ operation }) => operation.name === name)?.annotations;
  expect(hintsOf('query.run')).toMatchObject({ readOnlyHint: true, destructiveHint: false });
  expect(hintsOf('staff.remove')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  expect(hintsOf('tenants.create')).toMatchObject({ destructiveHint: false, idempotentHint: false });
});
