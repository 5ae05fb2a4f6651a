/** Reminders: raised and settled by what happens and by the time that passes, once each. */
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OVERDUE_SQL, WAITING_SQL } from '../src/reminders/store.ts';
import { migrations } from '../src/vertical/migrations.ts';
import { type Business, openBusiness, orderIn, people } from './business.ts';

const HOUR_MS = 3_600_000;

let business: Business;
beforeEach(async () => {
  business = await openBusiness();
  // A schedule is stored at the first round of work.
  await business.work();
});
afterEach(async () => {
  const unexpected = business.incidents;
  await business[Symbol.asyncDispose]();
  expect(unexpected).toEqual([]);
});

const waiting = async () =>
  (await business.run(people.dispatcher, 'reminder/list', {})).items.map(({ kind, order }) => [
    kind,
    order.id,
  ]);

/** Lets it be five in the morning of a day. */
async function morningOf(day: string): Promise<void> {
  business.clock.nowMs = Date.parse(`${day}T05:00:00.000Z`);
  await business.work();
}

describe('work that is done', () => {
  test('waits to be invoiced, until it is', async () => {
    const { id: order } = await orderIn(business, 'done');
    await business.work();
    expect(await waiting()).toEqual([['to_invoice', order]]);
    await business.run(people.owner, 'order/invoice', { order });
    await business.work();
    expect(await waiting()).toEqual([]);
  });

  test('raises its reminder in the name of the application, as an effect of what was done', async () => {
    const { id: order } = await orderIn(business, 'done');
    await business.work();
    const completed = (await business.history({ type: 'order', id: order })).find(
      ({ type }) => type === 'order.completed',
    );
    const { items } = await business.scope.effects({ event: completed?.id as never });
    expect(items.find(({ type }) => type === 'reminder.raised')).toMatchObject({
      actor: 'service:office',
      cause: completed?.id,
      payload: { order, kind: 'to_invoice' },
    });
    // The order itself is unchanged: a member who edits it meanwhile sees no conflict.
    const seen = await business.call(people.owner, 'order/get', { order });
    expect(seen.version).toBe((await business.history({ type: 'order', id: order })).at(-1)?.id);
  });
});

describe('an appointment that is over', () => {
  test('is told the next morning, once, and not again after a member dismissed it', async () => {
    const { id: order } = await orderIn(business, 'scheduled');
    business.clock.nowMs += 6 * HOUR_MS;
    await business.work();
    expect(await waiting()).toEqual([]);
    await morningOf('2026-03-04');
    expect(await waiting()).toEqual([['overdue', order]]);
    await morningOf('2026-03-05');
    expect(await waiting()).toEqual([['overdue', order]]);
    const [reminder] = (await business.run(people.dispatcher, 'reminder/list', {})).items;
    await business.run(people.dispatcher, 'reminder/dismiss', { reminder: reminder?.id as string });
    await morningOf('2026-03-06');
    expect(await waiting()).toEqual([]);
  });

  test('is settled by a new one, and told again when that is over too', async () => {
    const { id: order } = await orderIn(business, 'scheduled');
    await morningOf('2026-03-04');
    const span = { from: '2026-03-05T10:00:00.000Z', to: '2026-03-05T12:00:00.000Z' };
    await business.run(people.owner, 'order/schedule', { order, ...span });
    await business.work();
    expect(await waiting()).toEqual([]);
    await morningOf('2026-03-06');
    expect(await waiting()).toEqual([['overdue', order]]);
  });

  test('is no matter once the work is done or called off', async () => {
    const [first, second] = [await orderIn(business, 'scheduled'), await orderIn(business, 'in_progress')];
    await morningOf('2026-03-04');
    expect(await waiting()).toHaveLength(2);
    await business.run(people.owner, 'order/cancel', { order: first.id });
    await business.run(people.owner, 'order/complete', { order: second.id, minutes: 30 });
    await business.work();
    expect(await waiting()).toEqual([['to_invoice', second.id]]);
  });
});

test('missed mornings are made up for by one', async () => {
  await orderIn(business, 'scheduled');
  await morningOf('2026-03-20');
  expect(await waiting()).toHaveLength(1);
});

test('reminders are for those who plan, and raised by the application alone', async () => {
  await expect(business.run(people.jo, 'reminder/list', {})).rejects.toMatchObject({
    code: 'permission_denied',
  });
  for (const operation of ['reminder/find-overdue', 'reminder/follow'] as const)
    await expect(
      business.run(people.owner, operation, { order: 'ord_01j00000000000000000000001' } as never),
    ).rejects.toMatchObject({ code: expect.stringMatching(/permission_denied|validation_failed/) });
});

test('dismissing twice is told', async () => {
  await orderIn(business, 'done');
  await business.work();
  const [reminder] = (await business.run(people.owner, 'reminder/list', {})).items;
  const input = { reminder: reminder?.id as string };
  await business.run(people.owner, 'reminder/dismiss', input);
  await expect(business.run(people.owner, 'reminder/dismiss', input)).rejects.toMatchObject({
    code: 'not_found',
    reason: 'unknown_reminder',
  });
});

test('neither list walks a table', () => {
  using db = new DatabaseSync(':memory:');
  for (const { sql } of migrations) db.exec(sql);
  const plan = (sql: string) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .join('\n');
  expect(plan(WAITING_SQL.replace(/\?/g, '1'))).not.toMatch(/SCAN|TEMP B-TREE/);
  expect(plan(OVERDUE_SQL.replace(/\?/g, '1'))).not.toMatch(/SCAN|TEMP B-TREE/);
});
