/** The contract of the event log: what happened to a record, what set it off, what it set off, and how much of it there was. */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { allPages, clerk, librarian, openLibrary } from './world.ts';

const ABSENT = 'evt_01j00000000000000000000009' as never;

export function logContract(setup: ScopeHostSetup): void {
  describe('history', () => {
    test('is told oldest first, page by page, and a cursor survives what is added meanwhile', async () => {
      const { host, ref, run, add } = await openLibrary(setup);
      const book = await add();
      await add('another');
      for (let i = 0; i < 4; i++) await run(librarian, 'book/lend', { book });
      const query = { ...ref, entityType: 'book', entityId: book };
      const first = await host.entityHistoryLocal({ ...query, limit: 2 });
      await run(librarian, 'book/lend', { book });
      const rest = await allPages((cursor) =>
        host.entityHistoryLocal({ ...query, limit: 2, cursor: first.nextCursor as string, ...cursor }),
      );
      const all = [...first.items, ...rest];
      expect(all.map(({ type }) => type)).toEqual(['book.added', ...Array(5).fill('book.lent')]);
      expect(all[0]).toEqual({
        id: expect.stringMatching(/^evt_/),
        type: 'book.added',
        entity: { type: 'book', id: book },
        actor: librarian,
        operation: 'book/add',
        invocation: expect.stringMatching(/^inv_/),
        cause: null,
        piiClass: 'none',
        subject: null,
        payload: { title: 'a book' },
        at: expect.stringMatching(/^20\d\d-.*Z$/),
      });
      expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
    });

    test('of a record that nothing happened to is empty', async () => {
      const { host, ref } = await openLibrary(setup);
      const query = { ...ref, entityType: 'book', entityId: 'none', limit: 5 };
      expect(await host.entityHistoryLocal(query)).toEqual({ items: [], nextCursor: null });
    });

    test('refuses a cursor that is none', async () => {
      const { host, ref } = await openLibrary(setup);
      const query = { ...ref, entityType: 'book', entityId: 'b', limit: 5, cursor: '!' };
      await expect(host.entityHistoryLocal(query)).rejects.toMatchObject({ code: 'validation_failed' });
    });
  });

  describe('the way from an event', () => {
    test('leads back to its origin and on to its effects', async () => {
      const { host, ref, run, add, scope } = await openLibrary(setup);
      const book = await add();
      const { output, invocation } = await run(librarian, 'book/lend', { book });
      const loan = (output as { loan: string }).loan;
      const [written] = (await scope.history({ entity: { type: 'loan', id: loan }, limit: 5 })).items;
      await scope.work({});
      const back = await host.eventCauseLocal({ ...ref, event: written?.id as never });
      expect(back.items.map(({ type }) => type)).toEqual(['loan.written', 'book.lent']);
      expect(back.truncated).toBe(false);
      const lent = back.items[1];
      expect(lent?.invocation).toBe(invocation);
      const on = await host.eventEffectsLocal({ ...ref, event: lent?.id as never });
      expect(on.items.map(({ type, actor, cause }) => ({ type, actor, cause }))).toEqual([
        { type: 'loan.written', actor: librarian, cause: lent?.id },
        { type: 'loan.reminded', actor: 'service:desk', cause: lent?.id },
      ]);
    });

    test('of an event that is not there is not found', async () => {
      const { host, ref } = await openLibrary(setup);
      for (const walk of [host.eventCauseLocal, host.eventEffectsLocal])
        await expect(walk({ ...ref, event: ABSENT })).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  describe('an invocation', () => {
    test('is told whole, with what made it', async () => {
      const { host, ref, run, add } = await openLibrary(setup);
      const book = await add();
      const { invocation } = await run(librarian, 'book/lend', { book }, { idempotencyKey: 'k' });
      const told = await host.invocationEventsLocal({ ...ref, invocation: invocation as never });
      expect(told).toMatchObject({
        invocation: {
          id: invocation,
          operation: 'book/lend',
          principal: librarian,
          parent: null,
          cause: null,
          idempotencyKey: 'k',
          outcome: 'done',
        },
        truncated: false,
      });
      expect(told.items.map(({ type }) => type)).toEqual(['book.lent']);
      const effects = await host.eventEffectsLocal({ ...ref, event: told.items[0]?.id as never });
      const nested = await host.invocationEventsLocal({
        ...ref,
        invocation: effects.items[0]?.invocation as never,
      });
      expect(nested.invocation).toMatchObject({ operation: 'loan/write', parent: invocation });
    });

    test('that never was is not found', async () => {
      const { host, ref } = await openLibrary(setup);
      const absent = { ...ref, invocation: 'inv_01j00000000000000000000009' as never };
      await expect(host.invocationEventsLocal(absent)).rejects.toMatchObject({
        code: 'not_found',
        reason: 'unknown_invocation',
      });
    });
  });

  describe('facets', () => {
    test('count the log by each key, narrowed by each other', async () => {
      const { host, ref, run, add } = await openLibrary(setup);
      const book = await add();
      await run(clerk, 'book/add', { title: 'x' });
      await run(librarian, 'book/lend', { book });
      const by = async (groupBy: 'type' | 'entityType' | 'actor' | 'operation' | 'day', more = {}) =>
        (await host.facetEventsLocal({ ...ref, groupBy, ...more })).buckets.map(({ key, count }) => [
          key,
          count,
        ]);
      expect(await by('type')).toEqual([
        ['book.added', 2],
        ['book.lent', 1],
        ['loan.written', 1],
      ]);
      expect(await by('entityType')).toEqual([
        ['book', 3],
        ['loan', 1],
      ]);
      expect(await by('actor')).toEqual([
        [librarian, 3],
        [clerk, 1],
      ]);
      expect(await by('operation', { type: 'book.added' })).toEqual([['book/add', 2]]);
      expect(await by('type', { actor: clerk, entityType: 'book', operation: 'book/add' })).toEqual([
        ['book.added', 1],
      ]);
      expect((await by('day')).reduce((sum, [, count]) => sum + Number(count), 0)).toBe(4);
      const far = await host.facetEventsLocal({
        ...ref,
        groupBy: 'type',
        since: '2001-01-01T00:00:00.000Z',
        until: '2001-02-01T00:00:00.000Z',
      });
      expect(far).toMatchObject({ total: 0, buckets: [], others: 0, truncated: false });
    });

    test('by an unknown key are refused', async () => {
      const { host, ref } = await openLibrary(setup);
      const query = { ...ref, groupBy: 'payload' as never };
      await expect(host.facetEventsLocal(query)).rejects.toMatchObject({ code: 'validation_failed' });
    });
  });
}
