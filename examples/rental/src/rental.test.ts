/** The shop's rules, on an instance in memory. */
import { testApp } from '@freehold/app/testing';
import { expect, test } from 'vitest';
import app from './app.ts';

async function openShop() {
  const shop = await testApp(app);
  const owner = shop.as('ada', { role: 'owner' });
  const counter = shop.as('bob', { role: 'counter' });
  const drill = await owner.call('item/create', { name: 'Drill', dailyCents: 1_500, depositCents: 10_000 });
  const renter = await counter.call('renter/create', { name: 'Grace', phone: '0123' });
  const book = (firstDay: string, lastDay: string) =>
    counter.call('booking/create', { item: drill.id, renter: renter.id, firstDay, lastDay });
  return { shop, owner, counter, drill, renter, book };
}

test('a booking costs each day that it begins', async () => {
  const { shop, book } = await openShop();
  await using _ = shop;
  expect(await book('2026-03-10', '2026-03-12')).toMatchObject({ priceCents: 4_500, state: 'booked' });
});

test.each([
  ['the same days', '2026-03-10', '2026-03-12', false],
  ['the last day', '2026-03-12', '2026-03-14', false],
  ['the first day', '2026-03-08', '2026-03-10', false],
  ['days around it', '2026-03-01', '2026-03-30', false],
  ['the day after', '2026-03-13', '2026-03-14', true],
  ['the day before', '2026-03-08', '2026-03-09', true],
])('beside a booking, %s can be booked: %s to %s, %s', async (_title, firstDay, lastDay, isFree) => {
  const { shop, book } = await openShop();
  await using _ = shop;
  await book('2026-03-10', '2026-03-12');
  if (isFree) await book(firstDay, lastDay);
  else await expect(book(firstDay, lastDay)).rejects.toMatchObject({ reason: 'item_booked' });
});

test('a cancelled booking leaves its days free, and a thing that is out cannot be cancelled', async () => {
  const { shop, counter, book } = await openShop();
  await using _ = shop;
  const first = await book('2026-03-10', '2026-03-12');
  await counter.call('booking/cancel', { booking: first.id });
  const second = await book('2026-03-10', '2026-03-12');
  await counter.call('booking/hand-out', { booking: second.id });
  await expect(counter.call('booking/cancel', { booking: second.id })).rejects.toMatchObject({
    reason: 'booking_is_out',
  });
});

test('what comes back damaged keeps a part of the deposit, and goes to repair by itself', async () => {
  const { shop, owner, counter, drill, book } = await openShop();
  await using _ = shop;
  const { id } = await book('2026-03-10', '2026-03-12');
  await counter.call('booking/hand-out', { booking: id });
  const takeBack = (chargedCents: number) =>
    counter.call('booking/take-back', { booking: id, damage: 'The chuck is bent', chargedCents });
  await expect(takeBack(10_001)).rejects.toMatchObject({ code: 'validation_failed' });
  expect(await takeBack(2_500)).toMatchObject({ state: 'returned', chargedCents: 2_500 });
  await shop.deliver();
  expect(await owner.call('item/get', { item: drill.id })).toMatchObject({ state: 'in_repair' });
  await expect(book('2026-03-20', '2026-03-21')).rejects.toMatchObject({ reason: 'item_is_in_repair' });
  await owner.call('item/repaired', { item: drill.id });
  await book('2026-03-20', '2026-03-21');
});

test('a thing that should be back is reminded of once, in the morning', async () => {
  const { shop, counter, book } = await openShop();
  await using _ = shop;
  const today = shop.clock.iso.slice(0, 10);
  const { id } = await book(today, today);
  await counter.call('booking/hand-out', { booking: id });
  await shop.pass('12h');
  expect(await counter.call('booking/get', { booking: id })).toMatchObject({ overdue: false });
  for (const days of ['2d', '1d']) await shop.pass(days);
  expect(await counter.call('booking/get', { booking: id })).toMatchObject({ overdue: true });
  const events = await shop.events({ type: 'booking', id });
  expect(events.filter(({ type }) => type === 'booking.overdue')).toHaveLength(1);
});

test('a thing in the archive is not for rent, and its bookings stay', async () => {
  const { shop, owner, counter, drill, book } = await openShop();
  await using _ = shop;
  const { id } = await book('2026-03-10', '2026-03-12');
  await owner.call('item/archive', { item: drill.id });
  await expect(book('2026-03-20', '2026-03-21')).rejects.toMatchObject({ reason: 'item_is_retired' });
  expect(await counter.call('booking/get', { booking: id })).toMatchObject({ item: { name: 'Drill' } });
});

test('the workshop sees things and no person', async () => {
  const { shop, renter } = await openShop();
  await using _ = shop;
  const workshop = shop.as('eve', { role: 'workshop' });
  expect(await workshop.call('item/list', {})).toMatchObject({ items: [{ name: 'Drill' }] });
  await expect(workshop.call('renter/get', { renter: renter.id })).rejects.toMatchObject({
    code: 'permission_denied',
  });
});

test('an erased person leaves the bookings without a name', async () => {
  const { shop, owner, renter, book } = await openShop();
  await using _ = shop;
  const { id } = await book('2026-03-10', '2026-03-12');
  expect((await owner.http('POST', `/api/renters/${renter.id}/erase`, {})).status).toBe(200);
  expect(await owner.call('booking/get', { booking: id })).toMatchObject({
    renter: { name: 'An erased person' },
  });
});

test('a model reads the things for rent and their histories as resources, as its person may', async () => {
  const { shop, counter, drill, book } = await openShop();
  await using _ = shop;
  const model = counter.mcp();
  const uri = `freehold://item/${drill.id}`;
  expect(await model.resources()).toMatchObject([{ uri, title: 'Drill' }]);
  expect(await model.read(uri)).toMatchObject({ id: drill.id, dailyCents: 1_500, state: 'for_rent' });
  expect(await model.read(`${uri}/history`)).toMatchObject({ items: [{ type: 'item.created' }] });
  const { id } = await book('2026-03-10', '2026-03-12');
  // Bookings are not declared as resources.
  await expect(model.read(`freehold://booking/${id}`)).rejects.toThrow(/not found/);
});

test('a person of the counter picks a prompt, and those of the workshop have none', async () => {
  const { shop, counter, book } = await openShop();
  await using _ = shop;
  const { id } = await book('2026-03-10', '2026-03-12');
  expect(await counter.mcp().prompts()).toMatchObject([{ name: 'booking_hand-out', arguments: ['booking'] }]);
  expect(await counter.mcp().prompt('booking_hand-out', { booking: id })).toContain(
    `Hand out ${id}: tell me the thing`,
  );
  expect(await shop.as('eve', { role: 'workshop' }).mcp().prompts()).toEqual([]);
});
