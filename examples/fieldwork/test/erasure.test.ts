/** Erasing a customer from within the application: by the owner alone, once nothing is open, and with everything. */

import { erasedResponse, historyResponse } from '@freehold/app/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Fixture, joinTeam, openFixture, type Visitor } from './fixture.ts';

let fixture: Fixture;
let ada: Visitor;
let customer: string;
let order: string;
beforeEach(async () => {
  fixture = await openFixture();
  ada = await fixture.signedIn(fixture.pipes, 'ada', 'Ada');
  await ada.get('/api/me');
  customer = (await ada.post<{ id: string }>('/api/customers', { name: 'Secret name' })).id;
  order = (await ada.post<{ id: string }>('/api/orders', { customer, title: 'Secret title' })).id;
});
afterEach(async () => {
  const { incidents } = fixture;
  await fixture[Symbol.asyncDispose]();
  expect(incidents).toEqual([]);
});

const path = () => `/api/customers/${customer}/erase`;
const photos = () => `/api/orders/${order}/attachments`;

test('is refused while orders are open, and done once they are not', async () => {
  expect(await ada.refused('POST', path(), {})).toMatchObject({ status: 409, reason: 'open_orders' });
  await ada.post(`/api/orders/${order}/cancel`);
  const receipt = erasedResponse.parse(await ada.post(path()));
  expect(receipt).toMatchObject({ subject: customer, keyDigest: expect.stringMatching(/^[0-9a-f]{64}$/) });
  // Twice is once.
  expect(await ada.post(path())).toEqual(receipt);
  const story = historyResponse.parse(await ada.get(`/api/customers/${customer}/history`));
  expect(story.items.map(({ type, payload, actor }) => [type, payload, actor.name])).toEqual([
    ['customer.created', { $shredded: { at: receipt.shreddedAt } }, 'Ada'],
    ['customer.erased', null, 'Ada'],
  ]);
});

test('takes the photos along: they are hidden from then on, and their records go a moment later', async () => {
  await ada.request('POST', `${photos()}?filename=instance.jpg`, 'bytes', { 'content-type': 'image/jpeg' });
  await ada.post(`/api/orders/${order}/cancel`);
  await ada.post(path());
  expect(await ada.refused('GET', photos())).toMatchObject({ reason: 'customer_erased' });
  await fixture.settled();
  const { scope, tenant } = fixture.pipes;
  const rows = await fixture.fieldwork.host.introspectScopeQuery({
    ...{ tenantId: tenant, scopeId: scope },
    sql: 'SELECT count(*) FROM _spine_attachments WHERE removed_at IS NULL',
    params: [],
  });
  expect(rows.rows).toEqual([[0]]);
});

test('is the owner’s to do; attempts of others are on record', async () => {
  const { member: di } = await joinTeam(fixture, ada, fixture.pipes, 'di', 'dispatcher');
  expect(await di.refused('POST', path(), {})).toMatchObject({ code: 'permission_denied' });
  expect(await ada.get('/api/denials')).toMatchObject({ items: [{ permission: 'customer.erase' }] });
  expect(await fixture.visitor(fixture.pipes).refused('POST', path(), {})).toMatchObject({ status: 401 });
  const bob = await fixture.signedIn(fixture.sparks, 'bob');
  await bob.get('/api/me');
  expect(await bob.refused('POST', path(), {})).toMatchObject({ status: 404 });
  expect(await ada.get(`/api/customers/${customer}`)).toMatchObject({ name: 'Secret name' });
});

test('a page of another site erases no customer', async () => {
  await ada.post(`/api/orders/${order}/cancel`);
  expect(await ada.refused('POST', path(), {}, { origin: 'https://evil.example' })).toMatchObject({
    reason: 'cross_site',
  });
  expect(await ada.get(`/api/customers/${customer}`)).toMatchObject({ erasedAt: null });
});

test('the history of a customer tells what became of what, to members who may read customers', async () => {
  await ada.request('PATCH', `/api/customers/${customer}`, { phone: '123', remarks: 'barks' });
  const story = historyResponse.parse(await ada.get(`/api/customers/${customer}/history`));
  expect(story.items.map(({ type, payload }) => [type, payload])).toEqual([
    ['customer.created', { name: 'Secret name', phone: null, email: null }],
    ['customer.updated', { fields: ['phone', 'remarks'], phone: '123' }],
  ]);
  const { member: jo } = await joinTeam(fixture, ada, fixture.pipes, 'jo', 'technician');
  expect(await jo.refused('GET', `/api/customers/${customer}/history`)).toMatchObject({ status: 403 });
});
