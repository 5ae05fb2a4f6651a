/** Repairs, and what each role may do, on an instance in memory. */
import { testApp } from '@freehold/app/testing';
import { expect, test } from 'vitest';
import app from './app.ts';

test('an owner writes a repair down, and a mechanic finishes it', async () => {
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const customer = await ada.call('customer/create', { name: 'Grace Hopper' });
  const bicycle = await ada.call('bicycle/create', { model: 'Roadster', frame: 'F1', owner: customer.id });
  const repair = await ada.call('repair/create', { what: 'Brakes', bicycle: bicycle.id, due: '2026-03-10' });
  const bob = instance.as('bob', { role: 'mechanic' });
  await bob.call('repair/update', { repair: repair.id, state: 'ready', price: 4_500 });
  expect(await ada.call('repair/list', { state: 'ready' })).toMatchObject({
    items: [{ what: 'Brakes', bicycle: { name: 'Roadster' }, price: 4_500 }],
  });
});

test('a mechanic sees bicycles and repairs, and no customers', async () => {
  await using instance = await testApp(app);
  const ada = instance.as('ada', { role: 'owner' });
  const { id: owner } = await ada.call('customer/create', { name: 'Grace Hopper' });
  await ada.call('bicycle/create', { model: 'Roadster', frame: 'F1', owner });
  const bob = instance.as('bob', { role: 'mechanic' });
  expect((await bob.call('bicycle/list', {})).items).toMatchObject([{ owner: { id: null, name: null } }]);
  await expect(bob.call('customer/list', {})).rejects.toMatchObject({ code: 'permission_denied' });
});
