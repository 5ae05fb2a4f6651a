/** Appointments that visitors of the trader's own web site ask for: permission, outcome, and stored data. */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WAITING_REQUESTS_SQL } from '../src/requests/store.ts';
import { migrations } from '../src/vertical/migrations.ts';
import { type Fixture, openFixture, type Visitor } from './fixture.ts';

const SHOP = 'https://shop.example';
const SCRIPT = 'console.log("a form")';

let fixture: Fixture;
let ada: Visitor;
beforeEach(async () => {
  const body = new TextEncoder().encode(SCRIPT);
  const file = { body, contentType: 'text/javascript', etag: '"1"', immutable: false };
  fixture = await openFixture({ webFiles: new Map([['/embed/appointments.js', file]]) });
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  await list([SHOP]);
});
afterEach(async () => {
  const unexpected = fixture.incidents;
  await fixture[Symbol.asyncDispose]();
  expect(unexpected).toEqual([]);
});

const list = (origins: string[]) => ada.request('PUT', '/api/widget', { origins });
const wish = { name: 'Grace', phone: '030 1234', email: '', what: 'A tap drips', when: 'Mondays' };
const anyPage = () => fixture.visitor(fixture.pipes);
const ask = (body: unknown = wish, headers: Record<string, string> = { origin: SHOP }) =>
  anyPage().request('POST', '/public/appointments', body, headers);
const waiting = async () => (await ada.get<{ items: { id: string }[] }>('/api/requests')).items;

describe('a visitor', () => {
  test('D-12: asks from a listed site, and is told nothing but that it arrived', async () => {
    const response = await ask();
    expect([response.status, await response.json()]).toEqual([201, { status: 'received' }]);
    expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect(await waiting()).toMatchObject([
      { name: 'Grace', phone: '030 1234', email: null, when: 'Mondays' },
    ]);
  });

  test('D-14: is refused from every other place, before anything is done', async () => {
    for (const origin of ['https://other.example', 'null', `${SHOP}.evil.example`, 'http://shop.example'])
      expect((await ask(wish, { origin })).status).toBe(403);
    expect((await ask(wish, {})).status).toBe(403);
    expect(await waiting()).toEqual([]);
  });

  test('D-13: the list is read for each request', async () => {
    expect((await ask()).status).toBe(201);
    await list(['https://other.example']);
    expect((await ask()).status).toBe(403);
    expect((await ask(wish, { origin: 'https://other.example' })).status).toBe(201);
  });

  test('who sends twice asks once', async () => {
    const headers = { origin: SHOP, 'idempotency-key': 'one-form' };
    await Promise.all([ask(wish, headers), ask(wish, headers), ask(wish, headers)]);
    expect(await waiting()).toHaveLength(1);
  });

  test.each([
    [{ ...wish, phone: '', email: '' }, 'phone'],
    [{ ...wish, email: 'grace' }, 'email'],
    [{ ...wish, what: ' ' }, 'what'],
    [{ ...wish, name: 'x'.repeat(101) }, 'name'],
    [{ ...wish, customer: 'cus_1' }, ''],
  ])('is told what is wrong: %j', async (body, path) => {
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(response.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect(((await response.json()) as { errors: unknown }).errors).toMatchObject([
      { path: expect.stringContaining(path) },
    ]);
  });

  test('can do nothing else, whatever session the browser has', async () => {
    const member = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
    const response = await member.request('POST', '/public/appointments', wish, { origin: SHOP });
    expect(response.status).toBe(201);
    const { items } = await ada.get<{ items: { id: string }[] }>('/api/requests');
    const history = await fixture.fieldwork.host.entityHistoryLocal({
      tenantId: fixture.pipes.tenant,
      scopeId: fixture.pipes.scope,
      entityType: 'request',
      entityId: items[0]?.id ?? '',
      limit: 5,
    });
    expect(history.items).toMatchObject([{ type: 'request.received', actor: 'service:booking' }]);
  });

  test('of a list that is too long already is asked to call', { timeout: 30_000 }, async () => {
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) => ask({ ...wish, name: `Visitor ${i}` })),
    );
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 201));
    expect((await ask()).status).toBe(429);
  });

  test('who floods the form is refused, and the form stays open for everybody else', async () => {
    const from = async (address: string) => {
      fixture.comeFrom(address);
      return (await ask()).status;
    };
    const flood: number[] = [];
    for (let i = 0; i < 25; i += 1) flood.push(await from('192.0.2.1'));
    expect([flood.filter((status) => status === 201).length, flood.at(-1)]).toEqual([20, 429]);
    expect(await from('192.0.2.2')).toBe(201);
  });

  test('loads the script from any page', async () => {
    const response = await anyPage().request('GET', '/embed/appointments.js');
    expect([await response.text(), response.headers.get('cross-origin-resource-policy')]).toEqual([
      SCRIPT,
      'cross-origin',
    ]);
  });
});

describe('the business', () => {
  test('accepts: the visitor is a customer with a draft, and waits no more', async () => {
    await ask();
    const [request] = await waiting();
    const made = await ada.post<{ customer: string; order: string }>(`/api/requests/${request?.id}/accept`);
    expect(await ada.get(`/api/customers/${made.customer}`)).toMatchObject({
      name: 'Grace',
      phone: '030 1234',
    });
    expect(await ada.get(`/api/orders/${made.order}`)).toMatchObject({
      state: 'draft',
      title: 'A tap drips',
      description: 'A tap drips\n\nWhen: Mondays',
    });
    expect(await waiting()).toEqual([]);
    await ada.refused('POST', `/api/requests/${request?.id}/accept`);
  });

  test('declines: nothing of the visitor is left in its tables', async () => {
    await ask();
    const [request] = await waiting();
    await ada.post(`/api/requests/${request?.id}/decline`);
    expect(await waiting()).toEqual([]);
    expect((await ada.get<{ items: unknown[] }>('/api/customers')).items).toEqual([]);
  });

  test('erases the customer, and with them what they once asked', async () => {
    await ask();
    const [request] = await waiting();
    const { customer } = await ada.post<{ customer: string }>(`/api/requests/${request?.id}/accept`);
    const ref = { tenantId: fixture.pipes.tenant, scopeId: fixture.pipes.scope };
    await fixture.fieldwork.host.shredSubjectLocal({ ...ref, subject: customer });
    const { items } = await fixture.fieldwork.host.entityHistoryLocal({
      ...ref,
      entityType: 'request',
      entityId: request?.id ?? '',
      limit: 5,
    });
    expect(items[0]).toMatchObject({ type: 'request.received', payload: { $shredded: {} } });
  });

  test('keeps the list of its sites: as browsers write them, each once, and no patterns', async () => {
    await list(['https://Shop.example/', 'https://shop.example', 'http://localhost:5173']);
    expect(await ada.get('/api/widget')).toEqual({ origins: [SHOP, 'http://localhost:5173'] });
    const refusal = await ada.refused('PUT', '/api/widget', { origins: ['https://*.example'] });
    expect(refusal.errors).toMatchObject([{ path: 'origins.0' }]);
    expect(await ada.get('/api/widget')).toEqual({ origins: [SHOP, 'http://localhost:5173'] });
  });
});

test('the list of those that wait is read by its index', () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of migrations) database.exec(sql);
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${WAITING_REQUESTS_SQL}`).all('', 10) as {
    readonly detail: string;
  }[];
  expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH requests USING PRIMARY KEY (id>?)']);
  database.close();
});
