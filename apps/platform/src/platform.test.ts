/**
 * The directory on a running platform: accounts elsewhere are connected through the operator's file of providers,
 * faults become issues, and the platform's own work leaves rows.
 */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PLATFORM_SECRET_HEADER } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { type Issuer, startIssuer } from '@freehold/issuer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelServer, startModelServer } from '../../../examples/fieldwork/test/model-server.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform } from '../../../tests/http/embedded-platform.ts';
import { type Answer, Caller } from '../../../tests/support/http.ts';
import { signIn } from '../../../tests/support/sign-in.ts';
import { findSecrets } from './storage/secrets.ts';

const CLIENT_SECRET = 'the client secret of the platform at its provider';
const KEY = 'key-of-the-books-of-ada';

let home: string;
let ledger: Server;
let calendar: Issuer;
let model: ModelServer;
let opened: EmbeddedPlatform;
let api: string;
const ada = new Caller();

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'freehold-providers-'));
  ledger = createServer((request, response) => {
    const isTaken = request.headers.authorization === `Bearer ${KEY}`;
    response.writeHead(isTaken ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isTaken ? { account: { id: 'ada-1', title: 'The books of Ada' } } : {}));
  }).listen(0, '127.0.0.1');
  await once(ledger, 'listening');
  calendar = await startIssuer({ port: 0, env: {}, onError: () => undefined });
  model = await startModelServer();
  const file = join(home, 'providers.json');
  writeFileSync(file, JSON.stringify({ providers: providersAt(calendar.url) }));
  opened = await openEmbeddedPlatform({
    FREEHOLD_PROVIDERS_FILE: file,
    FREEHOLD_ALLOWED_PROVIDERS: 'localhost, 127.0.0.1',
    FREEHOLD_USAGE_MARGIN: '20%',
    FREEHOLD_MODEL: 'openai-compatible:local',
    FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: model.url,
    CALENDAR_SECRET: CLIENT_SECRET,
  });
  api = opened.platform.apiOrigin;
  await calendar.putClient({
    clientId: 'freehold',
    clientSecret: CLIENT_SECRET,
    redirectUris: [`${api}/connect/callback/calendar`],
    postLogoutRedirectUris: [],
  });
  await signIn(ada, opened.app, 'ada');
}, 60_000);

afterAll(async () => {
  ada[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
  await calendar?.close();
  await model?.[Symbol.asyncDispose]();
  ledger?.close();
  rmSync(home, { recursive: true, force: true });
});

function providersAt(issuerUrl: string): object {
  const { port } = ledger.address() as AddressInfo;
  return {
    ledger: {
      kind: 'api-key',
      name: 'Ledger',
      probe: {
        endpoint: `http://127.0.0.1:${port}/me`,
        account: 'account.id',
        accountName: 'account.title',
      },
    },
    calendar: {
      kind: 'oauth2',
      name: 'Calendar',
      authorizationEndpoint: `${issuerUrl}/auth`,
      tokenEndpoint: `${issuerUrl}/token`,
      scopes: ['openid', 'email', 'offline_access'],
      clientId: 'freehold',
      clientSecret: { env: 'CALENDAR_SECRET' },
      issuer: issuerUrl,
      authorizationParams: { prompt: 'consent' },
      identity: { endpoint: `${issuerUrl}/me`, accountName: 'email' },
    },
  };
}

const asOperator = (path: string, ask: { method?: string; json?: unknown } = {}): Promise<Answer> =>
  ada.ask(`${api}${path}`, { ...ask, headers: { authorization: `Bearer ${opened.token}` } });
const itemsOf = async <T>(path: string): Promise<readonly T[]> => {
  const answer = await asOperator(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json<{ items: readonly T[] }>().items;
};
const post = (path: string, json: unknown): Promise<Answer> => ada.ask(`${opened.app}${path}`, { json });
async function makeOrder(): Promise<string> {
  const customer = (await post('/api/customers', { name: 'Mrs Harper' })).json<{ id: string }>();
  const made = await post('/api/orders', { customer: customer.id, title: 'Leaking tap' });
  return made.json<{ id: string }>().id;
}
/** The requests of fieldwork that the platform has yet to take. */
async function pendingRequests(): Promise<readonly unknown[]> {
  const response = await opened.manage('platformRequests', { fields: { limit: 5 } });
  return ((await response.json()) as { items: readonly unknown[] }).items;
}
const runJob = (name: string): Promise<void> => opened.platform.runJob(name);

test('spec 4.3.11: an incident in a vertical becomes an issue, with its version and tenant', async () => {
  expect(await itemsOf('/issues')).toEqual([]);
  // A directory in the place of the vault's file for this tenant.
  const vault = join(opened.place.dataDirectory, 'vault', `${opened.scope.tenantId}.sqlite`);
  mkdirSync(vault, { recursive: true });
  const failed = await post('/api/customers', { name: 'Mrs Harper' });
  rmSync(vault, { recursive: true });
  expect(failed.status, failed.text).toBeGreaterThanOrEqual(500);
  expect(opened.incidents.length).toBeGreaterThan(0);

  const issues = await itemsOf<Record<string, unknown>>('/issues');
  expect(issues).toMatchObject([
    { vertical: 'fieldwork', where: expect.stringMatching(/^vault\./), status: 'open' },
  ]);
  const text = JSON.stringify(issues);
  for (const part of [opened.scope.tenantId, opened.scope.scopeId]) expect(text).toContain(part);
  expect(text).toMatch(/"version":"\d+\.\d+\.\d+"/);
  expect(text).not.toContain(opened.place.dataDirectory);
});

test('spec 4.3.14: a provider of the file is connected with a key that it takes, and with no other', async () => {
  const path = `/tenants/${opened.scope.tenantId}/connections`;
  const connect = (apiKey: string) =>
    asOperator(path, {
      json: { provider: 'ledger', scope: opened.scope.scopeId, subjectRef: 'the books', apiKey },
    });
  const refused = await connect('key-that-is-unknown');
  expect([refused.status, refused.json<{ reason: string }>().reason]).toEqual([400, 'credential_refused']);
  const made = await connect(KEY);
  expect(made.status, made.text).toBe(201);
  expect(made.json()).toMatchObject({
    provider: 'ledger',
    state: 'active',
    account: 'ada-1',
    accountName: 'The books of Ada',
  });
  expect((await asOperator(path)).text).not.toContain(KEY);
});

test('spec 4.7: a consent round goes through the callback address under the control plane’s own name', async () => {
  const order = {
    ...opened.scope,
    provider: 'calendar',
    createdBy: 'prn_01jd0000000000000000000001',
    subjectRef: 'team calendar',
    returnUrl: `${opened.app}/settings`,
  };
  const secret = opened.platform.gateway.bound('fieldwork')?.platformSecret ?? '';
  const ask = `${api}/internal/connections/connect-url`;
  expect((await ada.ask(ask, { json: order })).status).toBe(403);
  const asked = await ada.ask(ask, { json: order, headers: { [PLATFORM_SECRET_HEADER]: secret } });
  expect(asked.status, asked.text).toBe(200);
  const { url, vertical } = asked.json<{ url: string; vertical: string }>();
  expect([new URL(url).origin, vertical]).toEqual([api, 'fieldwork']);

  using browser = new Caller();
  const page = await browser.navigate(url);
  const action = /<form[^>]* action="([^"]+)"/.exec(page.answer.text)?.[1] ?? '';
  const back = await browser.navigate(new URL(action, page.url).href, { form: { login: 'ada' } });
  const { connection = '', subjectRef } = Object.fromEntries(new URL(back.url).searchParams);
  expect([new URL(back.url).origin, subjectRef]).toEqual([opened.app, 'team calendar']);
  const record = await asOperator(`/tenants/${opened.scope.tenantId}/connections/${connection}`);
  expect(record.json()).toMatchObject({ provider: 'calendar', state: 'active', createdBy: order.createdBy });
});

test('spec 5.6: an application has a secret of its own, and the platform’s opens nothing', async () => {
  const bound = opened.platform.gateway.bound('fieldwork');
  const { platformSecret: master = '' } = findSecrets(opened.place.dataDirectory) ?? {};
  expect(bound?.platformSecret).toBe(await verticalSecret(master, 'fieldwork'));
  expect((await opened.manage('migrations')).status).toBe(200);
  const { tenantId, scopeId } = opened.scope;
  for (const wrong of [master, await verticalSecret(master, 'library')]) {
    const headers = { [PLATFORM_SECRET_HEADER]: wrong };
    const url = `http://fieldwork.internal/internal/migrations?tenantId=${tenantId}&scopeId=${scopeId}`;
    expect((await bound?.fetch(new Request(url, { headers })))?.status).toBe(403);
  }
  const tenant = { slug: 'made-by-fieldwork', name: 'Made by Fieldwork' };
  const create = async (secret: string) => {
    const asked = { json: tenant, headers: { [PLATFORM_SECRET_HEADER]: secret } };
    const { status, json } = await ada.ask(`${api}/tenants`, asked);
    return [status, json<{ reason?: string }>().reason];
  };
  expect(await create(bound?.platformSecret ?? '')).toEqual([403, 'not_granted']);
  expect(await create(master)).toEqual([403, 'platform_secret_mismatch']);
});

test('spec 6.4: the sweep over connections has a row each, and silence is not repeated', async () => {
  await runJob('connections');
  await runJob('connections');
  const rows = await itemsOf<{ kind: string; outcome: string; reason: string; tenant: string }>(
    '/sweep-runs?kind=connection',
  );
  expect(rows).toHaveLength(2);
  for (const row of rows)
    expect(row).toMatchObject({ outcome: 'skipped', reason: 'not_due', tenant: opened.scope.tenantId });
});

test('spec 6.4: maintenance is a run of a schedule, and its failures are operations failures', async () => {
  await runJob('maintenance');
  expect(await itemsOf('/sweep-runs?unit=platform/maintenance')).toMatchObject([
    { unit: 'platform/maintenance', outcome: 'ran', tenant: null },
  ]);
  expect(await itemsOf('/ops-failures')).toEqual([]);
});

test('spec 4.3: requests to an application are on the meter of its tenant', async () => {
  await runJob('meters');
  const before = await itemsOf<{ tenant: string; meter: string; quantity: number }>('/meters');
  expect(before).toMatchObject([{ tenant: opened.scope.tenantId, meter: 'http.requests' }]);
  for (let i = 0; i < 3; i++) await ada.ask(`${opened.app}/api/me`);
  await runJob('meters');
  const [after] = await itemsOf<{ quantity: number }>('/meters');
  expect(after?.quantity).toBe((before[0]?.quantity ?? 0) + 3);
});

test('spec 4.3.13: the usage of a model call is collected from the scope and acknowledged, with the margin of the settings', async () => {
  const order = await makeOrder();
  const written = await ada.ask(`${opened.app}/api/orders/${order}/summary`, {
    json: { language: 'en' },
    headers: { accept: 'text/event-stream' },
  });
  expect(written.status, written.text).toBe(200);
  await expect.poll(async () => (await pendingRequests()).length).toBe(1);
  expect((await asOperator('/model-usage')).json()).toMatchObject({ marginBasisPoints: 2000, items: [] });
  await runJob('usage');
  expect(await itemsOf('/model-usage')).toMatchObject([
    { tenant: opened.scope.tenantId, model: 'openai-compatible:local', calls: 1, unpricedCalls: 1 },
  ]);
  expect(await pendingRequests()).toEqual([]);
  await runJob('usage-everywhere');
  expect(await itemsOf('/model-usage')).toMatchObject([{ calls: 1 }]);
});

test('the control plane and the platform itself say that they are ready', async () => {
  expect((await ada.ask(`${api}/readyz`)).json()).toEqual({ status: 'ready' });
  expect((await ada.ask(`${opened.platform.origin}/readyz`)).json()).toEqual({ status: 'ready' });
});
