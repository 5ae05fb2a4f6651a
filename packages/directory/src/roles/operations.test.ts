/** The platform's roles. */
import { expect, test } from 'vitest';
import { openPlatform, type Platform, refusal } from '../../test/platform.ts';
import type { RoleRecord } from '../admin-operations.ts';

const put = (platform: Platform, key: string, permissions: string[], more = {}) =>
  platform.call('roles.put', { params: { key }, body: { name: 'Support', permissions }, ...more });
const remove = (platform: Platform, key: string, more = {}) =>
  platform.call('roles.delete', { params: { key }, ...more });

test('spec C-22: a role is created, replaced and deleted, each with one row', async () => {
  const platform = await openPlatform();
  await put(platform, 'support', ['order.read', 'case.read', 'order.read']);
  const { value } = await put(platform, 'support', ['order.read']);
  expect(value).toMatchObject({ key: 'support', permissions: ['order.read'] });
  expect(await remove(platform, 'support')).toMatchObject({ status: 204, value: null });
  expect(await platform.value('roles.list')).toEqual({
    items: [],
    nextCursor: null,
    delivery: { pendingScopes: 0 },
  });
  expect(await platform.adminLog()).toMatchObject([
    { before: null, after: { name: 'Support', permissions: ['case.read', 'order.read'] } },
    { before: { permissions: ['case.read', 'order.read'] }, after: { permissions: ['order.read'] } },
    { action: 'roles.delete', target: { other: 'support' }, before: { name: 'Support' }, after: null },
  ]);
});

test('putting what is there changes nothing and writes nothing', async () => {
  const platform = await openPlatform();
  const first = await put(platform, 'support', ['a.b', 'c.d']);
  const again = await put(platform, 'support', ['c.d', 'a.b']);
  expect(again.value).toEqual(first.value);
  expect(await platform.adminLog()).toHaveLength(1);
});

test('spec C-22: a role that is replaced is as old as it was', async () => {
  const platform = await openPlatform();
  const { value: first } = await put(platform, 'support', ['a.b']);
  platform.clock.ms += 1_000;
  const { value } = await put(platform, 'support', ['c.d']);
  const { createdAt } = first as RoleRecord;
  expect(value).toMatchObject({ createdAt, updatedAt: '2026-11-21T08:00:01.000Z' });
  expect(await platform.value('roles.list')).toMatchObject({ items: [value] });
});

test('If-Match guards replacing, creating and deleting; a role that was made anew has another tag', async () => {
  const platform = await openPlatform();
  expect(await refusal(put(platform, 'support', ['a.b'], { ifMatch: '*' }))).toMatchObject({ status: 412 });
  const { etag } = await put(platform, 'support', ['a.b']);
  expect(await refusal(remove(platform, 'support', { ifMatch: '"999"' }))).toMatchObject({ status: 412 });
  await remove(platform, 'support', { ifMatch: `"${etag}"` });
  expect(await refusal(remove(platform, 'support'))).toMatchObject({ status: 404 });
  expect((await put(platform, 'support', ['a.b'])).etag).not.toBe(etag);
});

test('pages are in the order of the keys', async () => {
  const platform = await openPlatform();
  for (const key of ['c', 'a', 'b']) await put(platform, key, ['x.y']);
  const first = await platform.value<{ items: RoleRecord[]; nextCursor: string }>('roles.list', {
    query: { limit: 2 },
  });
  const rest = await platform.value<{ items: RoleRecord[]; nextCursor: null }>('roles.list', {
    query: { limit: 2, cursor: first.nextCursor },
  });
  expect([...first.items, ...rest.items].map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  expect(rest.nextCursor).toBeNull();
});
