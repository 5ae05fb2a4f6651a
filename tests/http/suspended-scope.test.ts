/**
 * A suspended scope on the running platform: its routes and tools refuse every caller, and its background work rests,
 * until it is resumed. Its neighbours are not affected.
 */
import { makeControlPlaneClient } from '@freehold/control-plane/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, Caller, throughCaller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import { type EmbeddedPlatform, openEmbeddedPlatform, type RouteName } from './embedded-platform.ts';

const CONNECTION = 'con_01j00000000000000000000001';
const NEIGHBOUR = 'neighbour.localhost';

let opened: EmbeddedPlatform;
let client: ReturnType<typeof makeControlPlaneClient>;
/** Another scope of the same tenant and the same application. */
let neighbour: EmbeddedPlatform['scope'];
const ada = new Caller();

beforeAll(async () => {
  opened = await openEmbeddedPlatform();
  await signIn(ada, opened.app, 'ada');
  expect((await ada.ask(`${opened.app}/api/me`)).status).toBe(200);
  const baseUrl = opened.place.url('api.localhost');
  client = makeControlPlaneClient({ baseUrl, token: opened.token, fetch: throughCaller });
  const { tenantId } = opened.scope;
  const issuer = `http://localhost:${opened.place.issuerPort}`;
  const { id } = await client.scopes.provision({
    params: { tenant: tenantId as never },
    body: {
      slug: 'neighbour',
      name: 'Neighbour',
      vertical: 'fieldwork',
      config: { 'platform:auth': JSON.stringify({ mode: 'oidc', issuer, clientId: 'freehold' }) },
    },
  });
  neighbour = { tenantId, scopeId: id };
  await client.hostnames.bind({
    body: { hostname: NEIGHBOUR, tenant: tenantId as never, scope: id },
  });
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
});

async function become(status: 'active' | 'suspended'): Promise<void> {
  const params = { tenant: opened.scope.tenantId as never, scope: opened.scope.scopeId as never };
  await client.scopes.setStatus({ params, body: { status } });
  expect((await client.scopes.get({ params })).status).toBe(status);
}

const useTool = (name: string, given: object = {}): Promise<Answer> =>
  ada.ask(`${opened.app}/api/mcp`, {
    headers: { accept: 'application/json, text/event-stream' },
    json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
  });

function expectSuspended(answer: Answer): void {
  expect(answer.status, answer.text).toBe(503);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.json()).toMatchObject({ code: 'unavailable', reason: 'suspended' });
}

// spec C-04
test('it is refused on the very next request, and served on the very next when it is back', async () => {
  const add = (name: string) => ada.ask(`${opened.app}/api/customers`, { json: { name } });
  const signedOut = async () => {
    using noPrincipal = new Caller();
    return (await noPrincipal.ask(`http://${NEIGHBOUR}:${opened.place.port}/api/orders`)).status;
  };
  expect((await add('Before')).status).toBe(201);
  expect(await signedOut()).toBe(401);
  await become('suspended');
  expectSuspended(await ada.ask(`${opened.app}/api/customers`));
  expectSuspended(await add('Meanwhile'));
  expectSuspended(await ada.ask(`${opened.app}/api/auth/login`));
  expectSuspended(await ada.ask(`${opened.app}/`));
  // The neighbour serves its own route as before.
  expect(await signedOut()).toBe(401);
  await become('active');
  const served = await ada.ask(`${opened.app}/api/customers`);
  expect(served.status).toBe(200);
  expect(served.json<{ items: { name: string }[] }>().items.map(({ name }) => name)).toEqual(['Before']);
});

// spec C-04, D-11
test('none of its tools is called, and nothing is done, until it is resumed', async () => {
  const add = () => useTool('customer_create', { name: 'By a model' });
  const named = async () =>
    (await ada.ask(`${opened.app}/api/customers`))
      .json<{ items: { name: string }[] }>()
      .items.filter(({ name }) => name === 'By a model').length;
  await become('suspended');
  expectSuspended(await add());
  expectSuspended(await useTool('order_list'));
  await become('active');
  expect(await named()).toBe(0);
  const done = await add();
  expect(done.status, done.text).toBe(200);
  expect(done.text).not.toMatch(/"error"|"isError":true/);
  expect(await named(), done.text).toBe(1);
});

/** Makes a management call for the named scope. */
async function manage<T>(name: RouteName, fields: object): Promise<T> {
  const response = await opened.manage(name, { fields: { ...fields } });
  const text = await response.text();
  expect(response.ok, `${name}: ${text}`).toBe(true);
  return JSON.parse(text) as T;
}

/** Does a piece of work from beginning to end, as a connection; an event is then due to the office. */
async function completeOrder(scope: EmbeddedPlatform['scope']): Promise<void> {
  const act = async (operation: string, input: object) =>
    (
      await manage<{ output: { id: string } }>('connectorInvoke', {
        ...{ ...scope, connection: CONNECTION, operation, input },
      })
    ).output;
  for (const permission of [
    ...['customer.write', 'customer.read', 'order.create', 'order.read', 'order.plan', 'order.work'],
  ])
    await manage('connectorGrant', { ...scope, connection: CONNECTION, permission });
  const { id: customer } = await act('customer/create', { name: 'Mrs Harper' });
  const { id: order } = await act('order/create', { customer, title: 'Leaking tap' });
  const [from, to] = ['2026-11-23T08:00:00.000Z', '2026-11-23T09:00:00.000Z'];
  await act('order/schedule', { order, from, to });
  await act('order/start', { order });
  await act('order/complete', { order, minutes: 30 });
}

async function reminders(scope: EmbeddedPlatform['scope']): Promise<number> {
  const sql = "SELECT count(*) FROM reminders WHERE kind = 'to_invoice'";
  const { rows } = await manage<{ rows: number[][] }>('query', { ...scope, sql, params: [] });
  return rows[0]?.[0] ?? -1;
}

test('deliveries that wait in it are made when it is resumed, while those of its neighbour are made at once', async () => {
  await become('suspended');
  // Work through the management contract still queues events.
  await completeOrder(opened.scope);
  await completeOrder(neighbour);
  await expect.poll(() => reminders(neighbour), { timeout: 20_000 }).toBe(1);
  // It was first in line.
  expect(await reminders(opened.scope)).toBe(0);
  await become('active');
  await expect.poll(() => reminders(opened.scope), { timeout: 20_000 }).toBe(1);
  expect(await reminders(neighbour)).toBe(1);
}, 60_000);

test('none of this was an incident', () => {
  expect(opened.incidents).toEqual([]);
});
