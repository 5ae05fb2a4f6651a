/**
 * Every route of the management contract works on the running platform: none answers "unsupported", and a scope can be
 * copied, restored and rewound.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_MEDIA_TYPES, MANAGEMENT_ROUTES } from '@freehold/contracts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { signIn } from '../support/sign-in.ts';
import {
  type Ask,
  type EmbeddedPlatform,
  openEmbeddedPlatform,
  type RouteName,
} from './embedded-platform.ts';

let opened: EmbeddedPlatform;
const ada = new Caller();
/** Ids that are made on the way and used below. */
const made = {
  customer: '',
  order: '',
  event: '',
  invocation: '',
  bookmark: '',
  attachment: '',
  snapshot: '',
};
let copy: ArrayBuffer;

const CONNECTION = 'con_01j00000000000000000000001';

beforeAll(async () => {
  opened = await openEmbeddedPlatform();
  await signIn(ada, opened.app, 'ada');
  made.customer = (await post('/api/customers', { name: 'Mrs Harper', phone: '+44 20 7946 0000' })).id;
  made.order = (await post('/api/orders', { customer: made.customer, title: 'Leaking tap' })).id;
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  await opened?.[Symbol.asyncDispose]();
});

async function post(path: string, json: unknown): Promise<{ id: string }> {
  const answer = await ada.ask(`${opened.app}${path}`, { json });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json();
}

const ask = async <T>(name: RouteName, given?: Ask): Promise<T> => {
  const response = await opened.manage(name, given);
  const text = await response.text();
  expect(response.status, `${name}: ${text}`).toBe(MANAGEMENT_ROUTES[name].status);
  return JSON.parse(text) as T;
};
const bookmarkNow = async (): Promise<string> =>
  (await ask<{ current: { bookmark: string } }>('bookmarks', { fields: { limit: 1 } })).current.bookmark;

const grant = (permission: string): Ask => ({ fields: { connection: CONNECTION, permission } });

/** One good call of each route, in an order in which each finds its data. Add new routes here. */
const CALLS: Readonly<Record<RouteName, (() => Ask) | number>> = {
  provision: () => ({ fields: { name: 'Acme Trades' } }),
  reconcile: () => ({}),
  configure: () => ({ fields: { config: { NOTE: 'hello' } } }),
  ownerSeat: () => ({}),
  // The seat is taken.
  ownerClaim: 409,
  sessionSecretRotate: () => ({ fields: { by: 'ada', keepFormer: true } }),
  ownerRecovery: () => ({
    fields: { origin: 'http://acme.localhost', by: 'ada', why: 'Ticket 17.', recover: true },
  }),
  ownerReplacement: () => ({
    fields: { origin: 'http://acme.localhost', by: 'ada', why: 'Ticket 18.', replace: true },
  }),
  ownerRecoveryEnd: () => ({ fields: { by: 'ada', why: 'Ticket 19.' } }),
  migrations: () => ({}),
  tables: () => ({}),
  table: () => ({ fields: { table: 'customers', limit: 5 } }),
  query: () => ({ fields: { sql: 'SELECT count(*) FROM orders', params: [] } }),
  history: () => ({ fields: { entityType: 'order', entityId: made.order, limit: 5 } }),
  facets: () => ({ fields: { groupBy: 'type' } }),
  cause: () => ({ fields: { event: made.event } }),
  effects: () => ({ fields: { event: made.event } }),
  invocation: () => ({ fields: { invocation: made.invocation } }),
  deadLetters: () => ({ fields: { limit: 5 } }),
  denials: () => ({ fields: { limit: 5 } }),
  denialsSummary: () => ({ fields: { groupBy: 'operation' } }),
  platformRequests: () => ({ fields: { limit: 5 } }),
  platformRequestHistory: () => ({ fields: { limit: 5 } }),
  // Fieldwork makes no platform requests, so there is none to settle.
  settlePlatformRequest: 404,
  // No delivery has failed for good.
  retryDeadLetter: 404,
  shredSubject: () => ({ fields: { subject: 'unknown-service' } }),
  connectorGrant: () => grant('customer.read'),
  connectorInvoke: () => ({ fields: { connection: CONNECTION, operation: 'customer/list', input: {} } }),
  connectorAttachmentUpload: () => ({
    fields: {
      connection: CONNECTION,
      entity: { type: 'order', id: made.order },
      filename: 'plan.pdf',
      mediaType: 'application/pdf',
    },
    bytes: { body: 'the plan', type: 'application/pdf' },
  }),
  connectorAttachmentOpen: () => ({ fields: { connection: CONNECTION, attachment: made.attachment } }),
  snapshot: () => ({ fields: { name: 'before the test' } }),
  snapshotOpen: () => ({ fields: { snapshot: made.snapshot } }),
  snapshotDelete: () => ({ fields: { snapshot: made.snapshot } }),
  bookmarks: () => ({ fields: { limit: 5 } }),
  export: () => ({ fields: { format: 'sqlite' } }),
  restore: () => ({
    fields: { format: 'sqlite' },
    bytes: { body: copy, type: EXPORT_MEDIA_TYPES.sqlite },
  }),
  examineCopy: () => ({
    fields: { format: 'sqlite' },
    bytes: { body: copy, type: EXPORT_MEDIA_TYPES.sqlite },
  }),
  rewind: () => ({ fields: { bookmark: made.bookmark } }),
  deleteScope: () => ({}),
};
/** The input of the calls that must not succeed. */
const IN_VAIN: Readonly<Partial<Record<RouteName, Ask>>> = {
  ownerClaim: { fields: { origin: 'http://acme.localhost' } },
  ownerReplacement: {
    fields: { origin: 'http://acme.localhost', by: 'ada', why: 'Ticket 18.', replace: true },
  },
  ownerRecovery: {
    fields: { origin: 'http://acme.localhost', by: 'ada', why: 'Ticket 17.', recover: true },
  },
  retryDeadLetter: { fields: { event: 'evt_01j00000000000000000000001', subscriber: 'invoices' } },
  settlePlatformRequest: {
    fields: { id: 'prq_01j00000000000000000000001', revision: 1, status: 'done' },
  },
};

// spec D-01, D-02, D-03
test('every route of the management contract answers as it should, and none is unsupported', async () => {
  const history = await ask<{ items: { id: string; invocation: string }[] }>('history', askOf('history'));
  [made.event, made.invocation] = [history.items[0]?.id ?? '', history.items[0]?.invocation ?? ''];
  made.bookmark = await bookmarkNow();
  for (const permission of ['order.read', 'order.note']) await ask('connectorGrant', grant(permission));
  for (const name of Object.keys(CALLS) as RouteName[]) {
    const call = CALLS[name];
    const given = typeof call === 'number' ? IN_VAIN[name] : call();
    const response = await opened.manage(name, given);
    const body = await response.clone().text();
    const expected = typeof call === 'number' ? call : MANAGEMENT_ROUTES[name].status;
    expect([name, response.status], body.slice(0, 300)).toEqual([name, expected]);
    if (name === 'export') copy = await response.arrayBuffer();
    if (name === 'snapshot') made.snapshot = (JSON.parse(body) as { id: string }).id;
    if (name === 'connectorAttachmentUpload') made.attachment = (JSON.parse(body) as { id: string }).id;
    if (name === 'connectorAttachmentOpen') expect(body).toBe('the plan');
  }
  expect(Object.keys(CALLS).sort()).toEqual(Object.keys(MANAGEMENT_ROUTES).sort());
  // It was deleted at the end.
  expect((await opened.manage('tables')).status).toBe(404);
  expect(opened.incidents).toEqual([]);
});

function askOf(name: RouteName): Ask {
  const call = CALLS[name];
  return typeof call === 'number' ? {} : call();
}

test('a rewind through the management contract changes the running application, and its undo restores it', async () => {
  await using fresh = await openEmbeddedPlatform();
  using grace = new Caller();
  await signIn(grace, fresh.app, 'grace');
  const add = async (name: string) =>
    expect((await grace.ask(`${fresh.app}/api/customers`, { json: { name } })).status).toBe(201);
  const names = async () =>
    (await grace.ask(`${fresh.app}/api/customers`))
      .json<{ items: { name: string }[] }>()
      .items.map(({ name }) => name);
  const rewind = async (bookmark: string) =>
    (await (await fresh.manage('rewind', { fields: { bookmark } })).json()) as { undo: string };
  await add('Before');
  const page = (await (await fresh.manage('bookmarks', { fields: { limit: 1 } })).json()) as {
    current: { bookmark: string };
  };
  await add('After');
  const { undo } = await rewind(page.current.bookmark);
  expect(await names()).toEqual(['Before']);
  await rewind(undo);
  expect(await names()).toEqual(['After', 'Before']);
  await add('Onwards');
  expect(await names()).toEqual(['After', 'Before', 'Onwards']);
  expect(fresh.incidents).toEqual([]);
});

test('a delivered secret is in no database, history or log in clear', async () => {
  await using fresh = await openEmbeddedPlatform();
  const { dataDirectory } = fresh.place;
  const secrets = JSON.parse(readFileSync(join(dataDirectory, 'secrets.json'), 'utf8')) as {
    issuerClientSecret: string;
  };
  const held = readdirSync(dataDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(secrets.issuerClientSecret));
  expect(held).toEqual([join(dataDirectory, 'secrets.json')]);
});

test('without a history a rewind is refused as unsupported', async () => {
  await using fresh = await openEmbeddedPlatform({ FREEHOLD_HISTORY: 'off' });
  const response = await fresh.manage('rewind', { fields: { at: '2026-03-03T00:00:00.000Z' } });
  expect([response.status, await response.json()]).toMatchObject([501, { reason: 'history_off' }]);
});
