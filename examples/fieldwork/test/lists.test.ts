import { DatabaseSync } from 'node:sqlite';
import { isList } from '@freehold/operations';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { fold, searchPatterns } from '../src/lib/text.ts';
import { type OrderFilter, orderListStatement } from '../src/orders/store.ts';
import { migrations } from '../src/vertical/migrations.ts';
import { operations } from '../src/vertical/operations.ts';
import { type Business, openBusiness, openOrder, people } from './business.ts';

let business: Business;
beforeEach(async () => {
  business = await openBusiness();
});
afterEach(() => business[Symbol.asyncDispose]());

const hour = (h: number) => `2026-03-04T${String(h).padStart(2, '0')}:00:00.000Z`;

async function manyOrders() {
  const ids: string[] = [];
  for (let i = 0; i < 7; i++) {
    const { order } = await openOrder(business, {
      title: `Job ${i}`,
      customer: i % 2 === 0 ? 'Even' : 'Odd',
    });
    ids.push(order.id);
    // Later orders have earlier appointments; two of them have none, and two have the same.
    if (i < 5) {
      const from = i === 0 ? 14 : 15 - i;
      await business.run(people.owner, 'order/schedule', {
        order: order.id,
        from: hour(from),
        to: hour(from + 1),
      });
    }
  }
  return ids;
}

/** Every item of a list, read in pages of two. */
async function readAll(input: { sort?: 'newest' | 'due'; state?: 'draft' | 'scheduled'; q?: string }) {
  const titles: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: { title: string }[]; nextCursor: string | null } = await business.run(
      people.owner,
      'order/list',
      { ...input, limit: 2, ...(cursor === null ? {} : { cursor }) },
    );
    titles.push(...page.items.map((each) => each.title));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return titles;
}

describe('the list of orders', () => {
  test('is whole and without repeats however it is cut into pages', async () => {
    await manyOrders();
    expect(await readAll({})).toEqual(['Job 6', 'Job 5', 'Job 4', 'Job 3', 'Job 2', 'Job 1', 'Job 0']);
    expect(await readAll({ sort: 'due' })).toEqual([
      'Job 4',
      'Job 3',
      'Job 2',
      'Job 0',
      'Job 1',
      'Job 5',
      'Job 6',
    ]);
    expect(await readAll({ sort: 'due', state: 'scheduled' })).toEqual([
      'Job 4',
      'Job 3',
      'Job 2',
      'Job 0',
      'Job 1',
    ]);
    expect(await readAll({ state: 'draft' })).toEqual(['Job 6', 'Job 5']);
  });

  test('a page survives an order that is opened between two reads', async () => {
    await manyOrders();
    const first = await business.run(people.owner, 'order/list', { limit: 3 });
    await openOrder(business, { title: 'Newcomer' });
    const second = await business.run(people.owner, 'order/list', {
      limit: 3,
      cursor: first.nextCursor as string,
    });
    expect(second.items.map((each) => each.title)).toEqual(['Job 3', 'Job 2', 'Job 1']);
  });

  test('finds by title, customer, place and number, each word anywhere, accents aside', async () => {
    await openOrder(business, { title: 'Rohrbruch im Keller', customer: 'Émile Müller' });
    const { order } = await openOrder(business, { title: '100% dicht', customer: 'Other' });
    const find = async (q: string) =>
      (await business.run(people.owner, 'order/list', { q })).items.map((each) => each.title);
    expect(await find('ROHR muller')).toEqual(['Rohrbruch im Keller']);
    expect(await find('emile')).toEqual(['Rohrbruch im Keller']);
    expect(await find('berlin')).toHaveLength(2);
    expect(await find(`#${order.number}`)).toEqual(['100% dicht']);
    expect(await find('100%')).toEqual(['100% dicht']);
    expect(await find('%')).toEqual(['100% dicht']);
    expect(await find('_')).toEqual([]);
  });

  test('is narrowed to an assignee, to me, or to unassigned orders', async () => {
    const { order } = await openOrder(business, { title: 'Taken' });
    await openOrder(business, { title: 'Free' });
    await business.run(people.owner, 'order/assign', { order: order.id, assignee: people.jo });
    const list = async (principal: typeof people.owner, assignee: string) =>
      (await business.run(principal, 'order/list', { assignee: assignee as 'me' })).items.map(
        (each) => each.title,
      );
    expect(await list(people.owner, people.jo)).toEqual(['Taken']);
    expect(await list(people.jo, 'me')).toEqual(['Taken']);
    expect(await list(people.owner, 'nobody')).toEqual(['Free']);
    expect(await list(people.owner, people.kim)).toEqual([]);
  });

  test('a cursor of another list is refused by name', async () => {
    await manyOrders();
    const { nextCursor } = await business.run(people.owner, 'order/list', { limit: 1 });
    for (const cursor of [nextCursor as string, 'no cursor', 'order/list~no_cursor']) {
      await expect(business.run(people.owner, 'order/list', { sort: 'due', cursor })).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ path: 'cursor' }],
      });
    }
  });
});

test('customers are listed by name, whatever the case, in pages', async () => {
  for (const name of ['beta', 'Alpha', 'gamma', 'Delta', 'alpha']) {
    await business.run(people.owner, 'customer/create', { name });
  }
  const first = await business.run(people.owner, 'customer/list', { limit: 3 });
  const second = await business.run(people.owner, 'customer/list', {
    limit: 3,
    cursor: first.nextCursor as string,
  });
  const listed = [...first.items, ...second.items];
  expect(listed.map(({ name }) => name.toLowerCase())).toEqual(['alpha', 'alpha', 'beta', 'delta', 'gamma']);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(5);
  expect(second.nextCursor).toBeNull();
});

test('every list of the vertical refuses a cursor of another list, and one without a name', async () => {
  const lists = Object.entries(operations).filter(([, { input, output }]) => isList(input, output));
  expect(lists.length).toBeGreaterThan(5);
  const { order, customerId } = await openOrder(business);
  const known = { order: order.id, customer: customerId };
  for (const [name, { input }] of lists) {
    const fields = (input as z.ZodObject).shape;
    const about = Object.fromEntries(Object.entries(known).filter(([field]) => field in fields));
    for (const cursor of ['thing/list~MDE', 'MDE']) {
      const call = business.run(people.owner, name as 'order/list', { ...about, cursor });
      await expect(call, name).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
      });
    }
  }
});

test('customers with the longest names, in any script, are listed in pages', async () => {
  for (const last of ['甲', '乙', '丙'])
    await business.run(people.owner, 'customer/create', { name: `${'株'.repeat(199)}${last}` });
  const first = await business.run(people.owner, 'customer/list', { limit: 2 });
  const cursor = first.nextCursor as string;
  const second = await business.run(people.owner, 'customer/list', { limit: 2, cursor });
  expect([first.items.length, second.items.length]).toEqual([2, 1]);
});

test('an empty field of a form clears what was there, and a field left out keeps it', async () => {
  const { id } = await business.run(people.owner, 'customer/create', {
    name: 'Ada',
    phone: '1',
    email: 'a@b.example',
  });
  const changed = await business.run(people.owner, 'customer/update', { customer: id, email: '' });
  expect(changed).toMatchObject({ name: 'Ada', phone: '1', email: null });
});

/** The plan of each list must follow an index in the order of its pages: its cost follows the page, not the table. */
describe('no list of orders sorts the table', () => {
  const page = { reach: 'all', limit: 20 } as const;
  // Without a filter the newest are a walk backwards along the primary key, which the planner calls a scan.
  const plans: [string, OrderFilter, string][] = [
    ['newest', { ...page, sort: 'newest' }, 'SCAN o'],
    ['due', { ...page, sort: 'due' }, 'SCAN o USING INDEX orders_by_due'],
    ['a state, newest', { ...page, sort: 'newest', state: 'done' }, 'SEARCH o USING INDEX orders_by_state '],
    ['a state, due', { ...page, sort: 'due', state: 'done' }, 'SEARCH o USING INDEX orders_by_state_due '],
    ['a customer', { ...page, sort: 'newest', customer: 'x' }, 'SEARCH o USING INDEX orders_by_customer '],
    [
      'a day',
      { ...page, sort: 'due', between: { fromMs: 1, toMs: 2 } },
      'SEARCH o USING INDEX orders_by_due ',
    ],
    ['an assignee', { ...page, sort: 'newest', assignee: 'x' }, 'SEARCH o USING PRIMARY KEY'],
    ['a reach', { reach: ['x'], limit: 20, sort: 'newest' }, 'SEARCH o USING PRIMARY KEY'],
    ['a later page', { ...page, sort: 'newest', cursor: btoa('ord_x') }, 'SEARCH o USING PRIMARY KEY (id<?)'],
    [
      'a later page, due',
      { ...page, sort: 'due', cursor: btoa('5:ord_x') },
      'SEARCH o USING INDEX orders_by_due ',
    ],
  ];
  test.each(plans)('%s', (_name, filter, access) => {
    using db = new DatabaseSync(':memory:');
    for (const { sql } of migrations) db.exec(sql);
    const { text, params } = orderListStatement(filter);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params);
    const outer = plan.filter((step) => step.parent === 0).map((step) => String(step.detail));
    expect(outer).toContainEqual(expect.stringContaining(access));
    expect(outer.join()).not.toContain('TEMP B-TREE');
  });
});

test('searching folds case and accents, and its own signs are no wildcards', () => {
  expect(fold('Größe', null, 'ÉCOLE')).toBe('große ecole');
  expect(searchPatterns(' A_b  50% ')).toEqual(['%a\\_b%', '%50\\%%']);
  expect(searchPatterns(undefined)).toEqual([]);
});
