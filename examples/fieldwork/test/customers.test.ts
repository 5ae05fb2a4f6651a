/** Customers as persons: what is said about them is sealed for them, and is gone with them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Business, openBusiness, openOrder, people, TEN_TO_NOON } from './business.ts';

let business: Business;
beforeEach(async () => {
  business = await openBusiness();
});
afterEach(async () => {
  const unexpected = business.incidents;
  await business[Symbol.asyncDispose]();
  expect(unexpected).toEqual([]);
});

/** Words that are in nothing but what is about this customer. */
const SECRET = /secret|\+49 30 1234|linden|berlin/i;

/** Everything that fieldwork can know about a customer, in calls whose answers are kept for repeats. */
async function befriend() {
  const { order, customerId, siteId } = await openOrder(business, {
    title: 'Secret title',
    customer: 'Secret name',
  });
  const change = (operation: string, input: object, idempotencyKey: string) =>
    business.call(people.owner, operation as never, input as never, { idempotencyKey });
  await change('customer/update', { customer: customerId, email: 'secret@example.org', language: 'de' }, 'a');
  await change('site/update', { site: siteId, access: 'secret code', label: 'Secret place' }, 'b');
  await change('order/note-add', { order: order.id, text: 'secret words' }, 'c');
  await change('order/update', { order: order.id, description: 'secret plan' }, 'd');
  await change('order/schedule', { order: order.id, ...TEN_TO_NOON }, 'e');
  return { order: order.id, customer: customerId, site: siteId };
}

/** A table of the scope as the platform's staff see it. */
async function tableOf(table: string): Promise<string> {
  const page = { filters: [], order: 'asc' as const, limit: 200 };
  return JSON.stringify(await business.host.introspectScopeTable({ ...business.ref, ...page, table }));
}

const storyOf = async (type: string, id: string) =>
  (await business.history({ type, id })).map(({ type: what, payload }) => [what, payload]);

const erase = (subject: string) => business.host.shredSubjectLocal({ ...business.ref, subject });

describe('what is known about a customer', () => {
  test('is sealed in every event and in every answer that is kept, and opened for the business alone', async () => {
    const { customer, site } = await befriend();
    for (const table of ['_spine_events', '_spine_idempotency']) {
      const rows = await tableOf(table);
      expect(rows).toContain(customer);
      expect(rows).not.toMatch(SECRET);
    }
    expect(await storyOf('customer', customer)).toEqual([
      ['customer.created', { name: 'Secret name', phone: '+49 30 1234', email: null }],
      ['customer.updated', { fields: ['email', 'language'], email: 'secret@example.org' }],
    ]);
    expect(await storyOf('site', site)).toEqual([
      ['site.created', { customer, label: 'Home', street: 'Lindenstraße 1', postcode: null, city: 'Berlin' }],
      // Access details are in no history.
      ['site.updated', { fields: ['access', 'label'], label: 'Secret place' }],
    ]);
  });

  test('holds the language they are written to in, which a form clears with nothing', async () => {
    const { run } = business;
    const { id: customer } = await run(people.owner, 'customer/create', { name: 'Erika', language: 'de' });
    expect(await run(people.owner, 'customer/get', { customer })).toMatchObject({ language: 'de' });
    await run(people.owner, 'customer/update', { customer, name: 'Erika M.' });
    expect(await run(people.owner, 'customer/get', { customer })).toMatchObject({ language: 'de' });
    await run(people.owner, 'customer/update', { customer, language: '' });
    expect(await run(people.owner, 'customer/get', { customer })).toMatchObject({ language: null });
  });

  test('is answered again to a caller who repeats a call', async () => {
    const input = { name: 'Secret name' };
    const first = await business.call(people.owner, 'customer/create', input, { idempotencyKey: 'k' });
    const again = await business.call(people.owner, 'customer/create', input, { idempotencyKey: 'k' });
    expect(again).toEqual({ ...first, replayed: true });
  });
});

// spec C-20
describe('a customer who is erased', () => {
  test('is gone from lists, records, histories and kept answers; the books stay', async () => {
    const { order, customer, site } = await befriend();
    const other = await openOrder(business, { title: 'Another', customer: 'Another name' });
    const receipt = await erase(customer);

    const run = business.run;
    expect((await run(people.owner, 'customer/list', {})).items.map(({ name }) => name)).toEqual([
      'Another name',
    ]);
    expect(await run(people.owner, 'customer/get', { customer })).toMatchObject({
      name: 'Erased customer',
      phone: null,
      email: null,
      language: null,
      remarks: null,
      erasedAt: expect.any(String),
    });
    expect(await run(people.owner, 'order/get', { order })).toMatchObject({
      title: 'Details erased',
      description: null,
      state: 'scheduled',
      site: null,
      customer: { name: 'Erased customer', phone: null, email: null, erased: true },
    });
    for (const q of ['secret', 'erased'])
      expect((await run(people.owner, 'order/list', { q })).items).toEqual([]);
    const gone = { $shredded: { at: receipt.shreddedAt } };
    expect(await storyOf('customer', customer)).toEqual([
      ['customer.created', gone],
      ['customer.updated', gone],
    ]);
    expect((await storyOf('site', site)).map(([, payload]) => payload)).toEqual([gone, gone]);
    const tables = ['customers', 'sites', 'orders', 'order_notes', '_spine_events', '_spine_idempotency'];
    const seen = await Promise.all(tables.map(tableOf));
    expect(seen.join()).toContain('Another name');
    expect(seen.join()).not.toMatch(/secret/i);
    expect((await run(people.owner, 'order/get', { order: other.order.id })).customer).toMatchObject({
      name: 'Another name',
      phone: '+49 30 1234',
      erased: false,
    });
  });

  test('is written about no more, and his orders can be brought to their end', async () => {
    const { order, customer, site } = await befriend();
    await erase(customer);
    const refusal = { code: 'immutable', reason: 'customer_erased' };
    for (const attempt of [
      business.run(people.owner, 'customer/update', { customer, name: 'Back again' }),
      business.run(people.owner, 'site/create', { customer, label: 'x', street: 'x', city: 'x' }),
      business.run(people.owner, 'site/update', { site, street: 'x' }),
      business.run(people.owner, 'order/create', { customer, title: 'x' }),
      business.run(people.owner, 'order/update', { order, title: 'x' }),
      business.run(people.owner, 'order/note-add', { order, text: 'x' }),
    ]) {
      await expect(attempt).rejects.toMatchObject(refusal);
    }
    const { allowed } = await business.run(people.owner, 'order/get', { order });
    expect(allowed).not.toContain('update');
    expect(allowed).not.toContain('note');
    await business.call(people.owner, 'order/start', { order }, { idempotencyKey: 'start' });
    await expect(
      business.run(people.owner, 'order/complete', { order, minutes: 30, note: 'x' }),
    ).rejects.toMatchObject(refusal);
    await business.run(people.owner, 'order/complete', { order, minutes: 30 });
    expect((await business.run(people.owner, 'order/invoice', { order })).invoice).toMatchObject({
      number: 1,
      totalCents: 7_750,
    });
  });

  test('a repeat of a call about him is refused, and tells nothing', async () => {
    const { order, customer } = await befriend();
    await erase(customer);
    const repeated = business.call(
      people.owner,
      'order/schedule',
      { order, ...TEN_TO_NOON },
      { idempotencyKey: 'e' },
    );
    await expect(repeated).rejects.toMatchObject({ reason: 'idempotency_answer_erased' });
  });

  test('comes back neither by a rewind nor by an older copy', async () => {
    const { customer } = await befriend();
    const before = await business.host.migrationBookmarksLocal({ ...business.ref, limit: 1 });
    const copy = await business.host.exportScopeLocal({ ...business.ref, format: 'sqlite' });
    const bytes = await new Response(copy.body as never).bytes();
    await erase(customer);

    const seen = async () =>
      (
        await Promise.all(['customers', 'sites', 'orders', 'order_notes', '_spine_events'].map(tableOf))
      ).join();
    await business.host.rewindScopeLocal({ ...business.ref, bookmark: before.current?.bookmark as string });
    expect(await seen()).not.toMatch(SECRET);
    await business.host.restoreScopeLocal(
      { ...business.ref, format: 'sqlite' },
      new Response(bytes).body as never,
    );
    expect(await seen()).not.toMatch(SECRET);
    expect((await business.run(people.owner, 'customer/get', { customer })).erasedAt).not.toBeNull();
  });

  test('leaves a note in the history, made at night when it was not made before', async () => {
    const { customer } = await befriend();
    // The schedule is put down the first time, and comes at its time from then on.
    await business.work();
    await erase(customer);
    await business.work();
    expect((await storyOf('customer', customer)).map(([type]) => type)).not.toContain('customer.erased');
    business.clock.nowMs = Date.parse('2026-03-04T02:30:00.000Z');
    await business.work();
    expect(await storyOf('customer', customer)).toContainEqual(['customer.erased', null]);
    business.clock.nowMs += 24 * 3_600_000;
    await business.work();
    const notes = (await storyOf('customer', customer)).filter(([type]) => type === 'customer.erased');
    expect(notes).toHaveLength(1);
  });

  test('takes the photos of his orders along, and no others', async () => {
    const { order, customer } = await befriend();
    const other = await openOrder(business, { title: 'Another', customer: 'Another name' });
    const attach = (id: string) =>
      business.host.attachments.add(
        business.ref.scopeId,
        people.owner,
        { entity: { type: 'order', id }, filename: 'secret.jpg', mediaType: 'image/jpeg' },
        new Blob(['bytes']).stream(),
      );
    const filesOf = async (id: string) =>
      (await business.host.attachments.list(business.ref.scopeId, people.owner, { type: 'order', id }))
        .length;
    await attach(order);
    await attach(order);
    await attach(other.order.id);
    await erase(customer);
    await business.run(people.owner, 'customer/note-erasures', {});
    await business.work();
    expect([await filesOf(order), await filesOf(other.order.id)]).toEqual([0, 1]);
  });
});

test('only the owner erases', async () => {
  for (const principal of [people.dispatcher, people.jo])
    await expect(business.run(principal, 'customer/note-erasures', {})).rejects.toMatchObject({
      code: 'permission_denied',
    });
});

test('customers who are added at once are different persons, however many and however alike', async () => {
  const names = Array.from({ length: 150 }, (_, index) => `Customer ${index % 140}`);
  const added = await Promise.all(
    names.map((name) => business.run(people.owner, 'customer/create', { name })),
  );
  expect(new Set(added.map(({ id }) => id)).size).toBe(150);
  for (const { id, name } of added.slice(0, 20))
    expect(await storyOf('customer', id)).toEqual([['customer.created', { name, phone: null, email: null }]]);
}, 30_000);
