/** That the platform's roles reach every scope, whatever happens on the way. */
import { beforeEach, describe, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import type { RoleRecord, ScopeRecord } from '../declarations/index.ts';

let platform: Platform;
let tenant: string;
let scope: ScopeRecord;

beforeEach(async () => {
  platform = await openPlatform();
  tenant = (await platform.tenant('acme')).id;
  scope = await platform.scope(tenant);
});

const put = (permissions: string[], key = 'support') =>
  platform.call('roles.put', { params: { key }, body: { name: 'Support', permissions } });
const remove = (key = 'support') => platform.call('roles.delete', { params: { key } });
const told = (id: string = scope.id) => platform.fieldwork.roles.get(id);
const pending = async () =>
  (await platform.value<{ delivery: { pendingScopes: number } }>('roles.list')).delivery.pendingScopes;
const sweeps = async () =>
  (
    await platform.value<{ items: Record<string, unknown>[] }>('sweep-runs.list', {
      query: { kind: 'roles' },
    })
  ).items.map(({ unit, outcome, reason }) => ({ unit, outcome, reason }));
const sweep = (all = false) => platform.admin.recordSweep(platform.admin.roles.sweep({ all }));
const away = async (): Promise<Response> => {
  throw new TypeError('connection refused');
};

describe.each(['bound', 'local'] as const)('spec C-22: a vertical that is %s', (reach) => {
  test('has heard of a change in every scope when it is answered, with one row each', async () => {
    platform.reach = reach;
    const { id: other } = await platform.scope((await platform.tenant('beta')).id);
    await put(['order.read', 'order.delete']);
    const all = { support: ['order.delete', 'order.read'] };
    expect([told(), told(other)]).toEqual([all, all]);
    expect(await pending()).toBe(0);
    expect((await sweeps()).map(({ outcome }) => outcome)).toEqual(['swept', 'swept']);
    await remove();
    expect([told(), told(other)]).toEqual([{}, {}]);
  });
});

test('a role that is put as it is tells nobody', async () => {
  await put(['order.read']);
  const asked = platform.fieldwork.requests.length;
  await put(['order.read']);
  expect(platform.fieldwork.requests).toHaveLength(asked);
});

test('without any role a new scope is not asked; with one it is, and suspended ones are told too', async () => {
  expect(platform.fieldwork.requests.map(({ url }) => new URL(url).pathname)).toEqual([
    '/internal/provision',
  ]);
  await put(['order.read']);
  const later = await platform.scope(tenant, 'later');
  expect(told(later.id)).toEqual({ support: ['order.read'] });
  await platform.tamper((database) => database.exec("UPDATE scopes SET status = 'suspended'"));
  await put(['order.delete']);
  expect(told(later.id)).toEqual({ support: ['order.delete'] });
});

test('spec C-22: a vertical that is down does not fail the change, and the sweep tells it later', async () => {
  platform.fieldwork.fault = away;
  expect((await put(['order.read'])).status).toBe(200);
  expect(told()).toBeUndefined();
  expect(await pending()).toBe(1);
  expect(await sweeps()).toEqual([{ unit: scope.id, outcome: 'failed', reason: 'vertical_unreachable' }]);

  platform.fieldwork.fault = null;
  expect(await sweep()).toMatchObject({ units: 0 });
  platform.clock.ms += 30_000;
  expect(await sweep()).toMatchObject({ units: 1, failed: 0 });
  expect(told()).toEqual({ support: ['order.read'] });
  expect(await pending()).toBe(0);
  expect(await sweep()).toMatchObject({ units: 0 });
});

test('it is tried less and less often, up to once an hour', async () => {
  platform.fieldwork.fault = away;
  await put(['order.read']);
  const waits: number[] = [];
  for (let i = 0; i < 9; i++) {
    let waitedMs = 0;
    for (; (await sweep()).units === 0; waitedMs += 30_000) platform.clock.ms += 30_000;
    waits.push(waitedMs / 1_000);
  }
  expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
});

test('a process that dies while it tells them leaves nobody out', async () => {
  for (let i = 0; i < 24; i++) await platform.scope(tenant, `s${i}`);
  platform.fieldwork.fault = away;
  await put(['order.read']);
  platform.fieldwork.fault = null;
  platform.clock.ms += 60_000;
  // Broken off after the first line.
  for await (const _ of platform.admin.roles.sweep()) break;
  await platform.tamper(() => undefined);
  platform.clock.ms += 60_000;
  await sweep();
  expect(await pending()).toBe(0);
  expect(platform.fieldwork.roles.size).toBe(25);
});

test('of a change while a scope is being told the newest is what it knows in the end', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { bound } = platform.fieldwork;
  platform.fieldwork.fault = async (request) => {
    platform.fieldwork.fault = null;
    await held;
    return bound.fetch(request);
  };
  const first = put(['order.read']);
  const second = put(['order.delete']);
  await second;
  release();
  await first;
  platform.clock.ms += 60_000;
  await sweep();
  expect(told()).toEqual({ support: ['order.delete'] });
  expect(await pending()).toBe(0);
});

test('a scope is told of the permissions that its version declares, and of no role that is empty then', async () => {
  await platform.admin.registerBuiltIn({ manifest: manifestOf('fieldwork', '1.0.0'), migrations: [] });
  await put(['order.read', 'invoice.write']);
  await put(['invoice.write'], 'accounting');
  expect(told()).toEqual({ support: ['order.read'] });
});

test('an application that does not know the platform’s roles is not taken for one that has them', async () => {
  platform.fieldwork.fault = async () => Response.json({ scopeId: scope.id, roles: ['owner'] });
  await put(['order.read']);
  expect(await sweeps()).toEqual([{ unit: scope.id, outcome: 'failed', reason: 'vertical_answer' }]);
  expect(await pending()).toBe(1);
});

test('everybody can be told once more, whatever they have heard', async () => {
  await put(['order.read']);
  platform.fieldwork.roles.clear();
  expect(await sweep()).toMatchObject({ units: 0 });
  expect(await sweep(true)).toMatchObject({ units: 1, failed: 0 });
  expect(told()).toEqual({ support: ['order.read'] });
});

test('there are no more than 200 roles, and they can still be changed', async () => {
  await platform.tamper((database) => {
    const insert = database.prepare("INSERT INTO roles VALUES (?, 'x', '[]', 1, 0, 0)");
    for (let i = 0; i < 200; i++) insert.run(`r${i}`);
  });
  expect(await refusal(put(['order.read']))).toMatchObject({ status: 409, reason: 'too_many_roles' });
  expect((await put(['order.read'], 'r7')).value as RoleRecord).toMatchObject({
    permissions: ['order.read'],
  });
});
