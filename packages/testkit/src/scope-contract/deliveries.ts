/** The contract of what a scope does by itself after something happened: subscriptions, executors, schedules, dead letters. */

import type { EventId } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { WorkDone } from '../../../kernel/src/contract/scope-methods.ts';
import type { ScopeHostSetup } from './index.ts';
import { allPages, clerk, type Library, librarian, openLibrary } from './world.ts';

async function countOf({ host, ref }: Library, type: string): Promise<number> {
  return (await host.facetEventsLocal({ ...ref, groupBy: 'type', type })).total;
}

/** Lends a book, and answers the event of it. */
async function lend({ run, add, scope }: Library, title?: string): Promise<EventId> {
  const book = await add(title);
  await run(librarian, 'book/lend', { book });
  const { items } = await scope.history({ entity: { type: 'book', id: book }, limit: 5 });
  return items.at(-1)?.id as EventId;
}

/** Works until a delivery gave up: a failure is tried again after a second, give or take a fifth. */
async function workTwice({ scope, pass }: Library): Promise<void> {
  await scope.work({});
  await pass(1_300);
  await scope.work({});
}

export function deliveryContract(setup: ScopeHostSetup): void {
  describe('a subscription', () => {
    test('is told of each event once, after its commit, as its service', async () => {
      const opened = await openLibrary(setup);
      const event = await lend(opened);
      expect(await countOf(opened, 'loan.reminded')).toBe(0);
      await opened.scope.work({});
      await opened.scope.work({});
      expect(await countOf(opened, 'loan.reminded')).toBe(1);
      const { items } = await opened.scope.history({ entity: { type: 'loan', id: event }, limit: 5 });
      expect(items).toMatchObject([{ actor: 'service:desk', operation: 'loan/remind', cause: event }]);
    });

    test('is told of what waited while nothing was running', async () => {
      const opened = await openLibrary(setup);
      await lend(opened);
      await lend(opened);
      await opened.reopen();
      await opened.scope.work({});
      expect(await countOf(opened, 'loan.reminded')).toBe(2);
    });

    test('is told of nothing that was rolled back', async () => {
      const opened = await openLibrary(setup);
      const book = await opened.add();
      const entity = { type: 'book', id: book };
      await opened.run(librarian, 'test/nest', { operation: 'test/throw', input: { how: 'null' }, entity });
      await expect(opened.run(librarian, 'book/lend', { book }, { ifMatch: 'evt_x' })).rejects.toMatchObject({
        code: 'precondition_failed',
      });
      await opened.scope.work({});
      expect(await countOf(opened, 'loan.reminded')).toBe(0);
    });

    test('that fails leaves nothing, is tried again later, and holds its own lane back until it gives up', async () => {
      const opened = await openLibrary(setup);
      await lend(opened, 'poison');
      await lend(opened, 'fine');
      const { nextAtMs } = await opened.scope.work({});
      expect(nextAtMs).not.toBeNull();
      expect(await countOf(opened, 'loan.reminded')).toBe(0);
      await opened.pass(1_300);
      await opened.scope.work({});
      expect(await countOf(opened, 'loan.reminded')).toBe(1);
    });
  });

  describe('long work', () => {
    test('is done step by step as the person who started it, and a new opening goes on with it', async () => {
      const opened = await openLibrary(setup);
      const { scope, run } = opened;
      const { output } = await run(clerk, 'book/stamp-all', { total: 4 });
      const id = output as string;
      const show = () => scope.longWork({ principal: clerk, id });
      await scope.work({});
      const first = await show();
      expect(first.done).toBeGreaterThan(0);
      await opened.reopen();
      for (let rounds = 0; rounds < 20 && (await show()).state === 'running'; rounds++) await scope.work({});
      expect(await show()).toMatchObject({ state: 'done', step: 4, done: 4, total: 4, startedBy: clerk });
      expect(await countOf(opened, 'book.stamped')).toBe(4);
      expect(await scope.longWorks({ principal: clerk, limit: 5 })).toMatchObject([{ id }]);
    });

    test('of a person who lost the permission ends, and says so', async () => {
      const opened = await openLibrary(setup);
      const { scope, run } = opened;
      const id = (await run(clerk, 'book/stamp-all', { total: 1_000 })).output as string;
      await scope.setRoles({ principal: clerk, roles: [], by: 'platform' });
      for (let rounds = 0; rounds < 5; rounds++) await scope.work({});
      expect(await scope.longWork({ principal: librarian, id })).toMatchObject({
        state: 'failed',
        error: { code: 'permission_denied' },
      });
    });
  });

  describe('a dead letter', () => {
    test('says what failed, and is delivered once it can be', async () => {
      const opened = await openLibrary(setup);
      const { host, ref, scope } = opened;
      const event = await lend(opened, 'poison');
      await workTwice(opened);
      const { items } = await host.deadLettersLocal({ ...ref, limit: 5 });
      expect(items).toMatchObject([
        {
          subscriber: 'reminders',
          attempts: 2,
          event: { id: event, type: 'book.lent' },
          error: { code: 'invalid_transition', detail: 'This can never work.' },
        },
      ]);
      await scope.projectSettings({ settings: { REPAIRED: 'yes' } });
      await host.retryDeadLetterLocal({ ...ref, event, subscriber: 'reminders' });
      await scope.work({});
      expect(await countOf(opened, 'loan.reminded')).toBe(1);
      expect((await host.deadLettersLocal({ ...ref, limit: 5 })).items).toEqual([]);
      await expect(
        host.retryDeadLetterLocal({ ...ref, event, subscriber: 'reminders' }),
      ).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_dead_letter' });
    });

    // spec C-10: newest event first.
    test('comes after those of newer events, page by page, and by subscriber', async () => {
      const opened = await openLibrary(setup);
      const { host, ref } = opened;
      const events: string[] = [];
      for (let i = 0; i < 3; i++) events.push(await lend(opened, 'poison'));
      for (let i = 0; i < 3; i++) await workTwice(opened);
      const ids = async (subscriber: string) =>
        (await allPages((cursor) => host.deadLettersLocal({ ...ref, subscriber, limit: 2, ...cursor }))).map(
          ({ event }) => event.id,
        );
      expect(await ids('reminders')).toEqual(events.toReversed());
      expect(await ids('unknown')).toEqual([]);
    });
  });

  describe('an executor', () => {
    const claimOf = ({ claimed }: WorkDone) => claimed.filter(({ subscriber }) => subscriber === 'post');

    test('is lent an event, until it answers', async () => {
      const opened = await openLibrary(setup);
      const { scope } = opened;
      await lend(opened);
      const [lent, ...more] = claimOf(await scope.work({}));
      expect(more).toEqual([]);
      expect(lent).toMatchObject({ attempt: 1, event: { type: 'loan.written' } });
      expect(claimOf(await scope.work({}))).toEqual([]);
      const answer = { subscriber: 'post', event: lent?.event.id as EventId, claim: lent?.claim as number };
      expect(await scope.settle({ ...answer, claim: answer.claim + 1 })).toEqual({ settled: false });
      expect(await scope.settle(answer)).toEqual({ settled: true });
      expect(await scope.settle(answer)).toEqual({ settled: false });
    });

    test('that failed is lent it again, and at last it is a dead letter', async () => {
      const opened = await openLibrary(setup);
      const { scope, host, ref, pass } = opened;
      await lend(opened);
      for (let attempt = 1; attempt <= 2; attempt++) {
        const [lent] = claimOf(await scope.work({}));
        expect(lent).toMatchObject({ attempt });
        await scope.settle({
          subscriber: 'post',
          event: lent?.event.id as EventId,
          claim: lent?.claim as number,
          error: { code: 'unavailable', detail: 'The line is down.' },
        });
        await pass(1_300);
      }
      expect(claimOf(await scope.work({}))).toEqual([]);
      expect((await host.deadLettersLocal({ ...ref, subscriber: 'post', limit: 5 })).items).toMatchObject([
        { attempts: 2, error: { code: 'unavailable', detail: 'The line is down.' } },
      ]);
    });
  });

  describe('a schedule', () => {
    test('runs at its time, and makes up for missed ones once', async () => {
      const opened = await openLibrary(setup);
      const { scope, pass } = opened;
      const first = await scope.work({});
      expect(first.nextAtMs).not.toBeNull();
      expect(await countOf(opened, 'library.tidied')).toBe(0);
      await pass(3_100);
      await scope.work({});
      expect(await countOf(opened, 'library.tidied')).toBe(1);
      const { items } = await scope.history({ entity: { type: 'room', id: 'hall' }, limit: 5 });
      expect(items).toMatchObject([{ actor: 'service:desk', operation: 'library/tidy', cause: null }]);
    });
  });
}
