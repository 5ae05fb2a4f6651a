/** The API over HTTP: what operations become, what stands beside them, and that every refusal is a sentence. */

import { denialsResponse, historyResponse, membersResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ADDRESSES } from '../src/lib/addresses.ts';
import { type Fixture, IS_DEPLOYED, joinTeam, openFixture, type Visitor } from './fixture.ts';

interface Order {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly allowed: readonly string[];
}

let fixture: Fixture;
let ada: Visitor;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

async function openOrder(title = 'Fix the boiler'): Promise<Order> {
  const customer = await ada.post<{ id: string }>('/api/customers', { name: 'Müller' });
  return ada.post<Order>('/api/orders', { customer: customer.id, title });
}

const SPAN = { from: '2026-03-03T10:00:00.000Z', to: '2026-03-03T12:00:00.000Z' };

describe('a technician over HTTP', () => {
  test('lists, reads and moves only what is assigned to him; the owner reads what was refused', async () => {
    const [his, hers] = [await openOrder('His'), await openOrder('Hers')];
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await ada.post(`/api/orders/${his.id}/assign`, { assignee: principal });
    await ada.post(`/api/orders/${his.id}/schedule`, SPAN);

    expect(await jo.get('/api/orders')).toMatchObject({ items: [{ title: 'His' }], nextCursor: null });
    expect(await jo.get('/api/orders?q=hers')).toMatchObject({ items: [] });
    expect(await jo.get<Order>(`/api/orders/${his.id}`)).toMatchObject({ allowed: ['start', 'note'] });
    for (const [method, path] of [
      ['GET', `/api/orders/${hers.id}`],
      ['GET', `/api/orders/${hers.id}/history`],
      ['GET', `/api/orders/${hers.id}/notes`],
      ['POST', `/api/orders/${hers.id}/start`],
      ['POST', `/api/orders/${his.id}/invoice`],
    ] as const) {
      expect(await jo.refused(method, path, method === 'POST' ? {} : undefined)).toMatchObject({
        code: 'permission_denied',
      });
    }
    const started = await jo.post<Order>(`/api/orders/${his.id}/start`);
    expect(started.allowed).toEqual(['complete', 'note']);

    const { items } = denialsResponse.parse(await ada.get('/api/denials'));
    expect(items).toHaveLength(5);

    // Routes beside the operations are on record too, without an operation (spec C-23, C-30).
    for (const [method, path] of [
      ['GET', '/api/denials'],
      ['GET', '/api/invites'],
      ['POST', '/api/invites'],
      ['POST', `/api/members/${principal}/remove`],
    ] as const) {
      const body = method === 'POST' ? { role: 'technician' } : undefined;
      expect((await jo.request(method, path, body)).status).toBe(403);
    }
    const later = denialsResponse.parse(await ada.get('/api/denials')).items.slice(0, 4);
    expect(later.map((denial) => [denial.permission, denial.operation]).reverse()).toEqual([
      ['audit.read', null],
      ['member.manage', null],
      ['member.manage', null],
      ['member.manage', null],
    ]);
    expect(items[0]).toMatchObject({
      actor: { principal, name: 'jo' },
      permission: 'order.invoice',
      wanted: 'Turn completed work into an invoice',
      entity: { type: 'order', id: his.id },
      operation: 'order/invoice',
    });
  });
});

test('a record that is made has an address and a version, which a change can name', async () => {
  const made = await ada.request('POST', '/api/customers', { name: 'Müller' });
  const { id } = (await made.json()) as { id: string };
  const location = made.headers.get('location') ?? '';
  const etag = made.headers.get('etag') ?? '';
  expect([made.status, location]).toEqual([201, `/api/customers/${id}`]);
  const read = await ada.request('GET', location);
  expect([read.status, read.headers.get('etag')]).toEqual([200, etag]);
  const changed = await ada.request('PATCH', location, { phone: '1' }, { 'if-match': etag });
  expect(changed.status).toBe(200);
});

describe('changing a record that another member may have changed', () => {
  test('D-10: an order carries its version, and a stale one changes nothing', async () => {
    const { id } = await openOrder();
    const seen = await ada.request('GET', `/api/orders/${id}`);
    const etag = seen.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"evt_/);
    expect((await ada.request('GET', `/api/orders/${id}`, undefined, { 'if-none-match': etag })).status).toBe(
      304,
    );

    const first = await ada.request('PATCH', `/api/orders/${id}`, { title: 'One' }, { 'if-match': etag });
    expect(first.status).toBe(200);
    expect(first.headers.get('etag')).not.toBe(etag);
    const problem = await ada.refused('PATCH', `/api/orders/${id}`, { title: 'Two' }, { 'if-match': etag });
    expect(problem).toMatchObject({ status: 412, code: 'precondition_failed' });
    expect(await ada.get(`/api/orders/${id}`)).toMatchObject({ title: 'One' });
  });

  test('D-10: a repeated press is answered with what the first one did', async () => {
    const { id } = await openOrder();
    await ada.post(`/api/orders/${id}/schedule`, SPAN);
    const press = () => ada.request('POST', `/api/orders/${id}/start`, {}, { 'idempotency-key': 'press-1' });
    const [first, second] = [await press(), await press()];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await second.json()).toEqual(await first.json());
    const { items } = await ada.get<{ items: { type: string }[] }>(`/api/orders/${id}/history`);
    expect(items.filter(({ type }) => type === 'order.started')).toHaveLength(1);
  });
});

describe('the history of an order', () => {
  test('says who did what when, and what it set off', async () => {
    const { id, number } = await openOrder();
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
    await ada.post(`/api/orders/${id}/schedule`, SPAN);
    await ada.post(`/api/orders/${id}/assign`, { assignee: principal });
    await jo.post(`/api/orders/${id}/start`);
    fixture.clock.nowMs += 3_600_000;
    await jo.post(`/api/orders/${id}/complete`, { minutes: 60, note: 'Done, the old one is in the van' });
    await fixture.settled();
    await ada.post(`/api/orders/${id}/invoice`);
    await fixture.settled();

    const history = historyResponse.parse(await ada.get(`/api/orders/${id}/history`));
    expect(
      history.items.map(({ type, actor, effects }) => [
        type,
        actor.name,
        effects.map((effect) => effect.type),
      ]),
    ).toEqual([
      ['order.created', 'Ada', []],
      ['order.scheduled', 'Ada', []],
      ['order.assigned', 'Ada', []],
      ['order.started', 'jo', []],
      ['order.noted', 'jo', []],
      ['order.completed', 'jo', ['invoice.drafted', 'reminder.raised']],
      ['order.invoiced', 'Ada', ['invoice.issued', 'reminder.settled']],
    ]);
    expect(history.items[5]).toMatchObject({
      at: IS_DEPLOYED ? expect.any(String) : '2026-03-03T08:00:00.000Z',
      effects: [{ payload: { totalCents: 11_000, currency: 'EUR' } }, { payload: { kind: 'to_invoice' } }],
    });
    expect(await ada.get('/api/invoices')).toMatchObject({
      items: [{ number: 1, state: 'issued', totalCents: 11_000, order: { number } }],
    });
  });

  test('comes in pages, and a former member keeps the name they had', async () => {
    const { id } = await openOrder();
    const { member: jo, principal } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'dispatcher');
    await jo.post(`/api/orders/${id}/schedule`, SPAN);
    await ada.post(`/api/members/${principal}/remove`);
    const first = historyResponse.parse(await ada.get(`/api/orders/${id}/history?limit=1`));
    const second = historyResponse.parse(
      await ada.get(`/api/orders/${id}/history?limit=1&cursor=${first.nextCursor}`),
    );
    expect(first.items[0]?.actor.name).toBe('Ada');
    expect(second.items[0]).toMatchObject({ type: 'order.scheduled', actor: { principal, name: 'jo' } });
    expect(second.nextCursor).toBeNull();
  });
});

test('every refusal is a problem document with a sentence', async () => {
  const draft = await openOrder();
  const gone = draft.id.replace(/.$/, draft.id.endsWith('0') ? '1' : '0');
  const cancelled = await openOrder();
  await ada.post(`/api/orders/${cancelled.id}/cancel`, { reason: 'duplicate' });
  const attempts: [number, string, string, unknown?][] = [
    [400, 'POST', '/api/orders', { title: 'no customer' }],
    [400, 'POST', '/api/orders', { customer: 'x', title: '' }],
    [400, 'POST', '/api/customers', { name: 'x', favourite: 'colour' }],
    [400, 'POST', '/api/customers', '{"name":'],
    [400, 'POST', '/api/customers', { name: 'x', email: 'no address' }],
    [400, 'GET', '/api/orders?state=lost'],
    [400, 'GET', '/api/orders?limit=many'],
    [400, 'GET', '/api/orders?cursor=%25'],
    ...['orders', `orders/${draft.id}/history`, 'denials', 'members', 'invites', 'identity-events'].map(
      (list): [number, string, string] => [400, 'GET', `/api/${list}?cursor=other/list~MDE`],
    ),
    [400, 'GET', '/api/members?limit=0'],
    [400, 'GET', '/api/denials?surprise=1'],
    [400, 'POST', '/api/claim', { token: '' }],
    [400, 'POST', '/api/claim', 'no json'],
    [400, 'POST', `/api/orders/${draft.id}/complete`, { minutes: 0 }],
    [404, 'GET', `/api/orders/${gone}`],
    [404, 'GET', `/api/orders/${gone}/history`],
    [404, 'GET', '/api/nothing'],
    [404, 'POST', '/api/nothing', {}],
    [405, 'DELETE', '/api/orders'],
    [405, 'PUT', '/api/me', {}],
    [405, 'POST', '/', {}],
    [409, 'POST', `/api/orders/${draft.id}/start`, {}],
    [409, 'POST', `/api/orders/${draft.id}/invoice`, {}],
    [409, 'POST', `/api/orders/${cancelled.id}/schedule`, SPAN],
    [409, 'PATCH', `/api/orders/${cancelled.id}`, { title: 'x' }],
    [413, 'POST', '/api/claim', { token: 'x'.repeat(20_000) }],
    [413, 'POST', '/api/customers', { name: 'x'.repeat(1_200_000) }],
  ];
  for (const [status, method, path, body] of attempts) {
    const problem = await ada.refused(method, path, body);
    expect([problem.status, method, path]).toEqual([status, method, path]);
    if (status === 405)
      expect((await ada.request(method, path, body)).headers.get('allow')).toMatch(/GET|POST/);
  }
});

test('every refusal has the same request id in its header and its body, another one each time', async () => {
  const anonymous = fixture.visitor(fixture.pipes);
  const ids = new Set<string>();
  const attempts: [Visitor, string, string, unknown?][] = [
    [ada, 'GET', '/api/nothing'],
    [ada, 'GET', '/nowhere.js'],
    [ada, 'POST', '/api/customers', { name: '' }],
    [ada, 'DELETE', '/api/customers'],
    [ada, 'DELETE', '/api/me'],
    [ada, 'GET', '/api/auth/nothing'],
    [ada, 'POST', '/api/invites', { role: 'emperor' }],
    [ada, 'POST', '/api/accept-invite', { token: 'none' }],
    [ada, 'POST', '/public/appointments', {}],
    [ada, 'GET', '/problems/none'],
    [ada, 'GET', '/internal/tables'],
    [anonymous, 'GET', '/api/customers'],
    [anonymous, 'GET', '/api/members'],
    [anonymous, 'POST', '/api/accept-invite', { token: 'none' }],
  ];
  for (const [caller, method, path, body] of attempts) {
    const answer = await caller.request(method, path, body);
    const { requestId } = (await answer.json()) as { requestId?: string };
    expect([method, path, answer.headers.get('x-request-id')]).toEqual([method, path, requestId]);
    expect(requestId).toMatch(/^[\w-]{8,}$/);
    ids.add(requestId as string);
  }
  expect(ids.size).toBe(attempts.length);
});

test('the type of a problem is an address that explains it', async () => {
  const { type } = await ada.refused('GET', '/api/nothing');
  const page = await ada.request('GET', type);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('not_found');
});

test('D-09: every address of the table is mounted, and the document of the API names it', async () => {
  const document = await ada.get<{ paths: Record<string, Record<string, unknown>> }>('/api/openapi.json');
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const table = Object.values(ADDRESSES).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(documented).toEqual(expect.arrayContaining(table));
});

test('the answers of the routes beside the operations fit their schemas', async () => {
  await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
  expect(membersResponse.parse(await ada.get('/api/members')).items).toHaveLength(2);
  expect(membersResponse.parse(await ada.get('/api/members?limit=1')).nextCursor).not.toBeNull();
});
