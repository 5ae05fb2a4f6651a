/**
 * The particular facts of the projection of the platform's roles. The facts of every projection: `projector.test.ts`.
 */
import { beforeEach, expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import { manifestOf } from '../../test/registry.ts';
import type { RoleRecord, ScopeRecord } from '../admin-operations.ts';

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
const told = (id: string = scope.id) => platform.fieldwork.roles.get(id);
const sweeps = async () =>
  (
    await platform.value<{ items: Record<string, unknown>[] }>('sweep-runs.list', {
      query: { kind: 'roles' },
    })
  ).items.map(({ unit, outcome, reason }) => ({ unit, outcome, reason }));
const sweep = (all = false) => platform.admin.recordSweep(platform.admin.roles.sweep({ all }));

test('spec C-22: a change reaches the scopes of every tenant with its permissions, one row for each scope', async () => {
  const other = await platform.scope((await platform.tenant('beta')).id);
  await put(['order.read', 'order.delete']);
  const all = { support: ['order.delete', 'order.read'] };
  expect([told(), told(other.id)]).toEqual([all, all]);
  const rows = [scope.id, other.id].map((unit) => ({ unit, outcome: 'swept', reason: 'projected' }));
  expect(await sweeps()).toEqual(expect.arrayContaining(rows));
});

test.each([
  ['cannot be reached', 'vertical_unreachable', () => Promise.reject(new TypeError('connection refused'))],
  // An application that knows roles of its own only.
  ['has other roles', 'vertical_answer', async () => Response.json({ scopeId: scope.id, roles: ['owner'] })],
])('a scope that %s is a row that says so', async (_, reason, answer) => {
  platform.fieldwork.fault = answer;
  await put(['order.read']);
  expect(await sweeps()).toEqual([{ unit: scope.id, outcome: 'failed', reason }]);
});

test('a sweep that is broken off leaves no scope out', async () => {
  for (let i = 0; i < 24; i++) await platform.scope(tenant, `s${i}`);
  platform.fieldwork.fault = () => Promise.reject(new TypeError('connection refused'));
  await put(['order.read']);
  platform.fieldwork.fault = null;
  platform.clock.ms += 60_000;
  for await (const _ of platform.admin.roles.sweep()) break;
  await platform.tamper(() => undefined);
  platform.clock.ms += 60_000;
  await sweep();
  expect(platform.fieldwork.roles.size).toBe(25);
});

test('a scope is told of the permissions that its version declares, and of no role that is empty then', async () => {
  await platform.admin.registerBuiltIn({ manifest: manifestOf('fieldwork', '1.0.0'), migrations: [] });
  await put(['order.read', 'invoice.write']);
  await put(['invoice.write'], 'accounting');
  expect(told()).toEqual({ support: ['order.read'] });
});

test('every scope can be told once more, whatever it has confirmed', async () => {
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
