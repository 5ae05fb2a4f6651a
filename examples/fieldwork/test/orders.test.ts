import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nextState, ORDER_STATES, ORDER_VERBS, type OrderVerb } from '../src/orders/states.ts';
import { type Business, openBusiness, openOrder, orderIn, people, TEN_TO_NOON } from './business.ts';

let business: Business;
beforeEach(async () => {
  business = await openBusiness();
});
afterEach(async () => {
  const unexpected = business.incidents;
  await business[Symbol.asyncDispose]();
  expect(unexpected).toEqual([]);
});

/** Calls the operation of a verb as the owner. */
function perform(verb: OrderVerb, order: string) {
  const owner = people.owner;
  switch (verb) {
    case 'update':
      return business.run(owner, 'order/update', { order, title: 'Another title' });
    case 'schedule':
      return business.run(owner, 'order/schedule', { order, ...TEN_TO_NOON });
    case 'assign':
      return business.run(owner, 'order/assign', { order, assignee: people.jo });
    case 'unassign':
      return business.run(owner, 'order/unassign', { order, assignee: people.jo });
    case 'start':
      return business.run(owner, 'order/start', { order });
    case 'complete':
      return business.run(owner, 'order/complete', { order, minutes: 30 });
    case 'cancel':
      return business.run(owner, 'order/cancel', { order, reason: 'customer' });
    case 'invoice':
      return business.run(owner, 'order/invoice', { order });
    case 'note':
      return business.run(owner, 'order/note-add', { order, text: 'A word' });
  }
}

describe.each(ORDER_STATES)('an order that is %s', (state) => {
  test('does what the table allows, and refuses the rest with a sentence and no trace', async () => {
    for (const verb of ORDER_VERBS) {
      const { id } = await orderIn(business, state);
      const next = nextState(verb, state);
      if (verb === 'unassign' && next !== null) await perform('assign', id);
      const before = await business.history({ type: 'order', id });
      if (next === null) {
        await expect(perform(verb, id), verb).rejects.toMatchObject({
          code: verb === 'update' ? 'immutable' : 'invalid_transition',
          message: expect.stringMatching(/^Order #\d+ is .+\.$/),
        });
        expect(await business.history({ type: 'order', id })).toEqual(before);
      } else {
        await perform(verb, id);
        expect(await business.history({ type: 'order', id })).toHaveLength(before.length + 1);
      }
      const after = await business.run(people.owner, 'order/get', { order: id });
      expect(after.state).toBe(next ?? state);
    }
  });

  test('offers exactly what it would not refuse', async () => {
    const order = await orderIn(business, state);
    expect(order.allowed).toEqual(ORDER_VERBS.filter((verb) => nextState(verb, state) !== null));
  });
});

describe('completing an order', () => {
  test('drafts its invoice in the same transaction, as an effect of the completion', async () => {
    const { id } = await orderIn(business, 'in_progress');
    const done = await business.run(people.owner, 'order/complete', {
      order: id,
      minutes: 90,
      materialsCents: 1_234,
    });
    expect(done.invoice).toMatchObject({ state: 'draft', number: null, totalCents: 15_484, currency: 'EUR' });

    const completed = (await business.history({ type: 'order', id })).find(
      (each) => each.type === 'order.completed',
    );
    const effects = await business.scope.effects({ event: completed?.id as never });
    expect(effects.items.map((each) => [each.type, each.entity?.id, each.cause])).toEqual([
      ['invoice.drafted', done.invoice?.id, completed?.id],
    ]);
  });

  test('issuing gives invoices numbers without gaps', async () => {
    const numbers: (number | null | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      await orderIn(business, 'done');
      numbers.push((await orderIn(business, 'invoiced')).invoice?.number);
    }
    expect(numbers).toEqual([1, 2, 3]);
  });

  test('a draft keeps the rates that held when the work was done', async () => {
    const { id } = await orderIn(business, 'done');
    await business.run(people.owner, 'rates/update', {
      currency: 'EUR',
      hourlyCents: 99_900,
      callOutCents: 0,
    });
    const { invoice } = await business.run(people.owner, 'order/get', { order: id });
    expect(invoice?.totalCents).toBe(15_484);
  });

  test('a second draft of one order is refused', async () => {
    const { id } = await orderIn(business, 'done');
    await expect(business.run(people.owner, 'invoice/draft', { order: id })).rejects.toMatchObject({
      code: 'conflict',
    });
    const open = await orderIn(business, 'in_progress');
    await expect(business.run(people.owner, 'invoice/draft', { order: open.id })).rejects.toMatchObject({
      code: 'invalid_transition',
    });
  });
});

describe('a technician', () => {
  test('sees and moves only what is assigned to him', async () => {
    const { order: his } = await openOrder(business, { title: 'His' });
    const { order: hers } = await openOrder(business, { title: 'Hers' });
    for (const order of [his, hers])
      await business.run(people.dispatcher, 'order/schedule', { order: order.id, ...TEN_TO_NOON });
    await business.run(people.dispatcher, 'order/assign', { order: his.id, assignee: people.jo });
    await business.run(people.dispatcher, 'order/assign', { order: hers.id, assignee: people.kim });

    const listed = await business.run(people.jo, 'order/list', {});
    expect(listed.items.map((each) => each.title)).toEqual(['His']);
    const day = await business.run(people.jo, 'dashboard/summary', {
      from: '2026-03-03T00:00:00.000Z',
      to: '2026-03-04T00:00:00.000Z',
    });
    expect(day.today.map((each) => each.title)).toEqual(['His']);
    expect(day.counts).toMatchObject({ scheduled: 1, draft: 0 });

    for (const attempt of [
      business.run(people.jo, 'order/get', { order: hers.id }),
      business.run(people.jo, 'order/note-list', { order: hers.id }),
      business.run(people.jo, 'order/start', { order: hers.id }),
      business.run(people.jo, 'order/note-add', { order: hers.id, text: 'mine now' }),
      business.run(people.jo, 'order/cancel', { order: his.id }),
      business.run(people.jo, 'order/assign', { order: hers.id, assignee: people.jo }),
      business.run(people.jo, 'customer/list', {}),
      business.run(people.jo, 'invoice/list', {}),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: 'permission_denied' });
    }

    const seen = await business.run(people.jo, 'order/get', { order: his.id });
    expect(seen.allowed).toEqual(['start', 'note']);
    await business.run(people.jo, 'order/start', { order: his.id });
    const done = await business.run(people.jo, 'order/complete', { order: his.id, minutes: 45 });
    expect(done.state).toBe('done');
    // The invoice was drafted by his work, and is still not his to see.
    expect(done.invoice).toBeNull();
    expect((await business.run(people.owner, 'order/get', { order: his.id })).invoice).toMatchObject({
      state: 'draft',
    });
  });

  test('sees nothing of an order any more once he is taken off it', async () => {
    const { order } = await openOrder(business);
    await business.run(people.owner, 'order/assign', { order: order.id, assignee: people.jo });
    expect((await business.run(people.jo, 'order/get', { order: order.id })).assignees).toEqual([people.jo]);
    await business.run(people.owner, 'order/unassign', { order: order.id, assignee: people.jo });
    await expect(business.run(people.jo, 'order/get', { order: order.id })).rejects.toMatchObject({
      code: 'permission_denied',
    });
    expect((await business.run(people.jo, 'order/list', {})).items).toEqual([]);
  });

  test('an order is assigned to teammates only, and once', async () => {
    const { order } = await openOrder(business);
    await expect(
      business.run(people.owner, 'order/assign', { order: order.id, assignee: people.nonMember }),
    ).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_teammate' });
    await business.run(people.owner, 'order/assign', { order: order.id, assignee: people.jo });
    await expect(
      business.run(people.owner, 'order/assign', { order: order.id, assignee: people.jo }),
    ).rejects.toMatchObject({ code: 'conflict', reason: 'assigned_already' });
    await expect(
      business.run(people.owner, 'order/unassign', { order: order.id, assignee: people.kim }),
    ).rejects.toMatchObject({ code: 'conflict', reason: 'not_assigned' });
  });
});

test('an order stays with its own customer’s places', async () => {
  const { siteId } = await openOrder(business, { customer: 'One' });
  const { order, customerId } = await openOrder(business, { customer: 'Two' });
  const refusal = { code: 'conflict', reason: 'site_of_another_customer' };
  await expect(
    business.run(people.owner, 'order/create', { customer: customerId, site: siteId, title: 'x' }),
  ).rejects.toMatchObject(refusal);
  await expect(
    business.run(people.owner, 'order/update', { order: order.id, site: siteId }),
  ).rejects.toMatchObject(refusal);
});

test('an appointment ends after it begins', async () => {
  const { order } = await openOrder(business);
  await expect(
    business.run(people.owner, 'order/schedule', {
      order: order.id,
      from: TEN_TO_NOON.to,
      to: TEN_TO_NOON.from,
    }),
  ).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path: 'to' }] });
});

test('two people cannot change an order past one another', async () => {
  const { order } = await openOrder(business);
  const seen = await business.call(people.owner, 'order/get', { order: order.id });
  const change = { order: order.id, title: 'First' };
  const ifMatch = seen.version as string;
  await business.call(people.dispatcher, 'order/update', change, { ifMatch });
  await expect(
    business.call(people.owner, 'order/update', { ...change, title: 'Second' }, { ifMatch }),
  ).rejects.toMatchObject({ code: 'precondition_failed' });
  expect((await business.run(people.owner, 'order/get', { order: order.id })).title).toBe('First');
});

test('a button pressed twice does its work once', async () => {
  const { customerId } = await openOrder(business);
  const input = { customer: customerId, title: 'Only once' };
  const first = await business.call(people.owner, 'order/create', input, { idempotencyKey: 'k1' });
  const second = await business.call(people.owner, 'order/create', input, { idempotencyKey: 'k1' });
  expect(second.output.id).toBe(first.output.id);
  expect(second.replayed).toBe(true);
  expect((await business.run(people.owner, 'order/list', { q: 'only once' })).items).toHaveLength(1);
});

test('a note keeps its line ends, and a title is one line that can be seen', async () => {
  const { order, customerId } = await openOrder(business);
  for (const text of ['one\ntwo\n', 'one\r\n\r\ntwo\r\n'])
    expect((await business.run(people.owner, 'order/note-add', { order: order.id, text })).text).toBe(text);
  const description = '\tone\r\ntwo\n';
  const made = await business.run(people.owner, 'order/create', {
    customer: customerId,
    title: ' Job ',
    description,
  });
  expect(made).toMatchObject({ title: 'Job', description });
  for (const title of ['', ' ', '\u200b', 'a\u0000b', 'a\u202eb', 'a\nb'])
    await expect(
      business.run(people.owner, 'order/create', { customer: customerId, title }),
      JSON.stringify(title),
    ).rejects.toMatchObject({ code: 'validation_failed', errors: [{ path: 'title' }] });
});
