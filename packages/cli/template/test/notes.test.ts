/** Owners and members work with notes. */
import { expect, test } from 'vitest';
import { openFixture, SCOPE, TENANT } from './fixture.ts';

test('an owner writes notes, and a member reads them, newest first', async () => {
  await using fixture = await openFixture();
  const [owner, member] = [await fixture.hire('owner'), await fixture.hire('member')];
  await owner.run('note/create', { text: 'Call the supplier' });
  await owner.run('note/create', { text: 'Order copper pipe' });
  const { items, nextCursor } = await member.run('note/list', {});
  expect(items.map((note) => note.text)).toEqual(['Order copper pipe', 'Call the supplier']);
  expect(nextCursor).toBeNull();
});

test('a long list comes in pages', async () => {
  await using fixture = await openFixture();
  const owner = await fixture.hire('owner');
  for (const text of ['one', 'two', 'three']) await owner.run('note/create', { text });
  const first = await owner.run('note/list', { limit: 2 });
  expect(first.items.map((note) => note.text)).toEqual(['three', 'two']);
  const second = await owner.run('note/list', { limit: 2, cursor: first.nextCursor as string });
  expect(second.items.map((note) => note.text)).toEqual(['one']);
});

test('a note is completed once, and its history says so', async () => {
  await using fixture = await openFixture();
  const owner = await fixture.hire('owner');
  const { id } = await owner.run('note/create', { text: 'Call the supplier' });
  expect(await owner.run('note/complete', { note: id })).toMatchObject({
    completedAt: '2026-03-03T07:00:00.000Z',
  });
  await expect(owner.run('note/complete', { note: id })).rejects.toMatchObject({
    code: 'invalid_transition',
  });
  const history = await fixture.host.entityHistoryLocal({
    tenantId: TENANT,
    scopeId: SCOPE,
    entityType: 'note',
    entityId: id,
    limit: 10,
  });
  expect(history.items.map((event) => event.type)).toEqual(['note.created', 'note.completed']);
});

test('a member cannot write, and the attempt is in the denial log', async () => {
  await using fixture = await openFixture();
  const member = await fixture.hire('member');
  await expect(member.run('note/create', { text: 'x' })).rejects.toMatchObject({
    code: 'permission_denied',
  });
  const denials = await fixture.host.listDenialsLocal({ tenantId: TENANT, scopeId: SCOPE, limit: 10 });
  expect(denials.items).toMatchObject([{ permission: 'note.write', operation: 'note/create' }]);
});

test('a note without words, and an unknown note, are refused', async () => {
  await using fixture = await openFixture();
  const owner = await fixture.hire('owner');
  await expect(owner.run('note/create', { text: '  ' })).rejects.toMatchObject({
    code: 'validation_failed',
  });
  await expect(owner.run('note/complete', { note: 'not_01j00000000000000000000009' })).rejects.toMatchObject({
    code: 'not_found',
    reason: 'unknown_note',
  });
});
