/** Notes and who may write them, on an instance in memory. */
import { testApp } from '@freehold/app/testing';
import { expect, test } from 'vitest';
import app from './app.ts';

test('an owner writes a note and completes it once', async () => {
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const { id } = await ada.call('note/create', { text: 'Order copper pipe' });
  expect(await ada.call('note/complete', { note: id })).toMatchObject({ id });
  await expect(ada.call('note/complete', { note: id })).rejects.toMatchObject({
    reason: 'already_completed',
  });
});

test('a member reads notes, and writes none', async () => {
  await using instance = await testApp(app);
  const bob = instance.as('bob', { role: 'member' });
  expect(await bob.call('note/list', {})).toMatchObject({ items: [] });
  await expect(bob.call('note/create', { text: 'Hello' })).rejects.toMatchObject({
    code: 'permission_denied',
  });
});
