/** Bad input over a real socket gets a clear answer, never a 5xx, and writes nothing. */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { problemSchema } from '@freehold/contracts';
import { makeControlPlaneClient, makeTenantClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, type Ask, Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let acme: string;
let globex: string;
let client: ReturnType<typeof makeControlPlaneClient>;
let globexTenant: Awaited<ReturnType<typeof client.tenants.create>>;
const ada = new Caller();
const noPrincipal = new Caller();

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place);
  acme = place.url('acme.localhost');
  globex = place.url('globex.localhost');
  client = controlPlane(platform.serviceToken());
  await signIn(ada, acme, 'ada');
  // Her first request claims the owner's seat; from here on, refused requests write nothing.
  expect((await ada.ask(`${acme}/api/me`)).json()).toMatchObject({ status: 'member' });
  globexTenant = await client.tenants.create({ body: { slug: 'globex', name: 'Globex' } });
  const params = { tenant: globexTenant.id };
  const issuer = `http://localhost:${place.issuerPort}`;
  const scope = await client.scopes.provision({
    params,
    body: {
      slug: 'fieldwork',
      name: 'Globex',
      vertical: 'fieldwork',
      config: { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: 'freehold' }) },
    },
  });
  await client.hostnames.bind({
    body: { hostname: 'globex.localhost', tenant: globexTenant.id, scope: scope.id },
  });
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  noPrincipal[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
});

/** A client that reaches `api.localhost` without a name server. */
function controlPlane(token: string) {
  return makeControlPlaneClient({ baseUrl: place.url('api.localhost'), token, fetch: throughCaller });
}

async function throughCaller(request: Request): Promise<Response> {
  const headers = Object.fromEntries(request.headers);
  const text = await request.text();
  const answer = await noPrincipal.ask(request.url, {
    method: request.method,
    headers,
    ...(text ? { json: JSON.parse(text) } : {}),
  });
  return new Response(answer.status === 204 ? null : answer.text, {
    status: answer.status,
    headers: answer.headers,
  });
}

/** Counts the writes in every database of the verticals. */
function written(): number {
  const count = (path: string, tables: readonly string[]): number => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = tables.map((table) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n));
    db.close();
    return rows.reduce((sum, n) => sum + n, 0);
  };
  const files = (kind: string) =>
    readdirSync(join(place.dataDirectory, kind))
      .filter((name) => name.endsWith('.sqlite'))
      .map((name) => join(place.dataDirectory, kind, name));
  return [
    ...files('scope-fieldwork').map((path) =>
      count(path, ['customers', '_spine_events', '_spine_invocations']),
    ),
    ...files('identity').map((path) => count(path, ['people', 'bindings', 'invites'])),
  ].reduce((sum, n) => sum + n, 0);
}

function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, body: answer.text }).toMatchObject({ status });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(answer.json());
  expect(problem).toMatchObject({ code, status, error: problem.detail });
  expect(answer.text).not.toMatch(/node_modules|\.ts:\d|at \w+ \(/);
}

const customers = (ask: Ask): Promise<Answer> => ada.ask(`${acme}/api/customers`, ask);

test.each<[string, number, string, Ask]>([
  ['an unknown field', 400, 'validation_failed', { json: { name: 'A', nmae: 'B' } }],
  ['a wrong type', 400, 'validation_failed', { json: { name: 7 } }],
  ['a missing field', 400, 'validation_failed', { json: {} }],
  [
    'a member that would be a prototype',
    400,
    'validation_failed',
    { json: JSON.parse('{"name":"A","__proto__":"B"}') },
  ],
  ['a body that is no object', 400, 'validation_failed', { json: ['name'] }],
  [
    'a malformed idempotency key',
    400,
    'validation_failed',
    { json: { name: 'A' }, headers: { 'idempotency-key': 'a b' } },
  ],
  // The server need not read what it refuses, so this connection is not used again.
  [
    'an oversized body',
    413,
    'payload_too_large',
    { json: { name: 'A', remarks: 'x'.repeat(1_100_000) }, headers: { connection: 'close' } },
  ],
  ['a form', 415, 'unsupported_media_type', { form: { name: 'A' } }],
  ['a wrong method', 405, 'method_not_allowed', { method: 'DELETE' }],
  [
    'a request from another site',
    403,
    'forbidden',
    { json: { name: 'A' }, headers: { origin: 'http://evil.test', 'sec-fetch-site': 'cross-site' } },
  ],
])('%s is %i %s, and nothing is written', async (_what, status, code, ask) => {
  const before = written();
  expectProblem(await customers(ask), status, code);
  expect(written()).toBe(before);
});

test.each([
  'sb_session=',
  'sb_session=a.b.c',
  'sb_session=%%%',
  'sb_session="; sb_session',
  `sb_session=${'a'.repeat(7_000)}`,
  ';;;=;',
  'sb_session=eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.',
])('the malformed cookie %j is no session', async (cookie) => {
  const before = written();
  const me = await noPrincipal.ask(`${acme}/api/me`, { headers: { cookie } });
  expect(me.json()).toMatchObject({ status: 'signed_out', principal: null });
  expectProblem(await noPrincipal.ask(`${acme}/api/orders`, { headers: { cookie } }), 401, 'unauthenticated');
  expect(written()).toBe(before);
});

test("one tenant's session is refused at another", async () => {
  const cookie = ada.cookieHeader(acme);
  expect((await noPrincipal.ask(`${acme}/api/me`, { headers: { cookie } })).json()).toMatchObject({
    status: 'member',
  });
  const before = written();
  expect((await noPrincipal.ask(`${globex}/api/me`, { headers: { cookie } })).json()).toMatchObject({
    status: 'signed_out',
  });
  expectProblem(
    await noPrincipal.ask(`${globex}/api/orders`, { headers: { cookie } }),
    401,
    'unauthenticated',
  );
  // She does not become the owner there either, although that seat is open.
  expect(written()).toBe(before);
});

test.each([
  '',
  '?code=x',
  '?state=y',
  '?code=x&state=y',
  '?error=access_denied&state=y',
  '?code=x&state=y&iss=http%3A%2F%2Fevil.test',
])('a callback without its flow (%s) signs no one in', async (query) => {
  const before = written();
  const answer = await noPrincipal.ask(`${acme}/api/auth/callback${query}`, {
    headers: { accept: 'text/html' },
  });
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers.getSetCookie().filter((line) => /^sb_session=[^;]/.test(line))).toEqual([]);
  expect(written()).toBe(before);
});

test.each(['//evil.test', 'https://evil.test', '/\\evil.test', '/%2F%2Fevil.test', 'javascript:alert(1)'])(
  'a sign-out never leads to %s',
  async (returnTo) => {
    const answer = await noPrincipal.ask(`${acme}/api/auth/logout?returnTo=${encodeURIComponent(returnTo)}`);
    expect(new URL(answer.headers.get('location') ?? '/', acme).origin).toBe(acme);
  },
);

test('a foreign or broken Host header reaches nothing', async () => {
  expectProblem(await ask('evil.test'), 404, 'not_found');
  expectProblem(await ask('acme.localhost.evil.test'), 404, 'not_found');
  for (const host of ['acme localhost', '']) {
    const answer = await rawStatus(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  }
});

const ask = (host: string) => noPrincipal.ask(`${acme}/`, { headers: { host } });

test('a malformed request gets a problem as well', async () => {
  for (const [request, status] of [
    [`GET / HTTP/1.1\r\nHost: acme.localhost\r\nCookie: ${'a=b; '.repeat(10_000)}\r\n\r\n`, 431],
    ['NONSENSE / HTTP/1.1\r\nHost: acme.localhost\r\n\r\n', 400],
    ['POST /api/customers HTTP/1.1\r\nHost: acme.localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
  ] as const) {
    const [head = '', body = ''] = (await rawStatus(request)).split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(head).toContain('content-type: application/problem+json');
    expect(problemSchema.parse(JSON.parse(body)).status).toBe(status);
  }
});

function rawStatus(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(place.port, '127.0.0.1', () => socket.write(request));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

// spec D-04
test('the management contract is closed from outside', async () => {
  for (const headers of [{}, { 'x-platform-secret': 'guess' }]) {
    expectProblem(
      await noPrincipal.ask(`${acme}/internal/history?tenantId=x&scopeId=y`, { headers }),
      404,
      'not_found',
    );
  }
});

test('a suspended tenant is refused on the very next request, and let in again as soon', async () => {
  const acmeTenant = (await client.tenants.list({ query: { q: 'acme' } })).items[0];
  const params = { tenant: acmeTenant?.id as never };
  await client.tenants.setStatus({ params, body: { status: 'suspended' } });
  expectProblem(await ada.ask(`${acme}/api/orders`), 503, 'unavailable');
  await client.tenants.setStatus({ params, body: { status: 'active' } });
  expect((await ada.ask(`${acme}/api/orders`)).status).toBe(200);
});

// spec C-01, C-29
test("a builder's token opens its own tenant; another tenant and an unknown one get the same answer", async () => {
  const { secret } = await client.pushTokens.create({
    body: { name: 'deploys', tenant: globexTenant.id, kind: 'operate' },
  });
  const own = makeTenantClient(
    { baseUrl: place.url('api.localhost'), token: secret, fetch: throughCaller },
    globexTenant.id,
  );
  expect(await own.tenants.get()).toMatchObject({ slug: 'globex' });
  const acmeTenant = (await client.tenants.list({ query: { q: 'acme' } })).items[0]?.id as string;
  const headers = { authorization: `Bearer ${secret}` };
  const foreign = await noPrincipal.ask(`${place.url('api.localhost')}/tenants/${acmeTenant}`, { headers });
  const missing = await noPrincipal.ask(
    `${place.url('api.localhost')}/tenants/tnt_01arz3ndektsv4rrffq69g5fav`,
    {
      headers,
    },
  );
  expectProblem(foreign, 404, 'not_found');
  const told = ({ requestId: _, ...problem }: Record<string, unknown>) => problem;
  expect(told(foreign.json())).toEqual(told(missing.json()));
});

test('none of this was an incident', () => {
  expect(platform.output()).not.toContain('"level":"error"');
});
