/** The contract of an operation: validated, permitted, recorded, all or nothing (design: kernel, "Operations"). */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { anonymous, clerk, librarian, observed, openLibrary, TRACES, visitor } from './world.ts';

export function operationContract(setup: ScopeHostSetup): void {
  describe('an operation', () => {
    test('does its work, answers, and is recorded', async () => {
      const { run, ask, count } = await openLibrary(setup);
      const added = await run(clerk, 'book/add', { title: 'Emma' });
      expect(added).toEqual({
        output: { book: expect.stringMatching(/^book_[0-9a-z]{26}$/) },
        invocation: expect.stringMatching(/^inv_/),
        version: null,
        replayed: false,
      });
      expect(await ask(librarian, 'book/read', added.output)).toEqual({ title: 'Emma', state: 'here' });
      expect(await count('books', '_spine_events', '_spine_invocations')).toEqual([1, 1, 1]);
    });

    test('that reads answers the version of its record, and is not recorded', async () => {
      const { run, add, count, scope } = await openLibrary(setup);
      const book = await add();
      const { items } = await scope.history({ entity: { type: 'book', id: book }, limit: 5 });
      expect(await run(librarian, 'book/read', { book })).toEqual({
        output: { title: 'a book', state: 'here' },
        invocation: null,
        version: items[0]?.id,
        replayed: false,
      });
      expect(await count('_spine_invocations')).toEqual([1]);
    });

    test.each([
      ['an undeclared one', 'book/burn', {}, { code: 'not_found', reason: 'unknown_operation' }],
      ['an inherited name', 'constructor', {}, { code: 'not_found', reason: 'unknown_operation' }],
      ['a missing field', 'book/add', {}, { code: 'validation_failed' }],
      ['a field too many', 'book/add', { title: 'x', admin: true }, { code: 'validation_failed' }],
      ['a value of another form', 'book/add', { title: 7 }, { code: 'validation_failed' }],
      ['half a surrogate pair', 'book/add', { title: '\ud83d' }, { reason: 'input_not_json' }],
      ['no input', 'book/add', undefined, { code: 'validation_failed' }],
    ])('is refused and leaves nothing: %s', async (_name, operation, input, refusal) => {
      const { run, count } = await openLibrary(setup);
      await expect(run(librarian, operation, input)).rejects.toMatchObject(refusal);
      expect(await count(...TRACES)).toEqual([0, 0, 0, 0, 0, 0, 0]);
      expect(observed.incidents).toEqual([]);
    });

    test('names the field at fault', async () => {
      const { run } = await openLibrary(setup);
      await expect(run(librarian, 'book/add', { title: '' })).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ path: 'title' }],
      });
    });

    test('without the permission is refused, and leaves one denial row', async () => {
      const { run, count, host, ref } = await openLibrary(setup);
      await expect(run(visitor, 'book/add', { title: 'x' })).rejects.toMatchObject({
        code: 'permission_denied',
        reason: 'book_add',
        message: expect.stringContaining('adding books'),
      });
      await expect(run(anonymous, 'book/list', {})).rejects.toMatchObject({ code: 'permission_denied' });
      expect(await count(...TRACES)).toEqual([0, 0, 0, 0, 0, 0, 2]);
      const { items } = await host.listDenialsLocal({ ...ref, limit: 10 });
      expect(items).toMatchObject([
        { actor: anonymous, permission: 'library.browse', operation: 'book/list', entity: null },
        { actor: visitor, permission: 'book.add', operation: 'book/add', entity: null },
      ]);
    });

    // A refusal is not the operation's to forgive.
    test('whose check is refused inside is undone, even when it goes on', async () => {
      const { run, count, host, ref } = await openLibrary(setup);
      await expect(run(visitor, 'test/swallow', { permission: 'book.read' })).rejects.toMatchObject({
        code: 'permission_denied',
      });
      expect(await count(...TRACES)).toEqual([0, 0, 0, 0, 0, 0, 1]);
      const { items } = await host.listDenialsLocal({ ...ref, limit: 10 });
      expect(items).toMatchObject([{ permission: 'book.read', operation: 'test/swallow' }]);
      await run(librarian, 'test/swallow', { permission: 'book.read' });
    });

    test('that another one invokes works in its transaction, and is gone alone when it fails', async () => {
      const { run, count, scope } = await openLibrary(setup);
      const entity = { type: 'book', id: 'b' };
      await run(librarian, 'test/nest', { operation: 'test/throw', input: { how: 'null' }, entity });
      await run(librarian, 'test/nest', { operation: 'book/add', input: { title: 'inside' }, entity });
      expect(await count('books', 'notes', '_spine_invocations')).toEqual([1, 0, 3]);
      const { items } = await scope.history({ entity, limit: 10 });
      expect(items.map(({ type }) => type)).toEqual(['book.kept', 'book.kept']);
    });

    test('brings no principal and no cause of its own along', async () => {
      const { host, ref, scope } = await openLibrary(setup);
      const forged = { operation: 'book/add', input: { title: 'x' }, principal: librarian };
      await expect(host.operations(ref.scopeId, visitor).invoke(forged)).rejects.toMatchObject({
        code: 'permission_denied',
      });
      await expect(scope.invoke({ ...forged, cause: 'evt_x' as never })).rejects.toMatchObject({
        code: 'not_found',
        reason: 'unknown_cause',
      });
    });

    test('of many at once keeps all of the good ones and nothing of the others', async () => {
      const { run, count, reopen } = await openLibrary(setup);
      const settled = await Promise.allSettled(
        Array.from({ length: 60 }, (_, i) => {
          if (i % 3 === 0) return run(clerk, 'book/add', { title: `book ${i}` });
          if (i % 3 === 1) return run(visitor, 'book/add', { title: `book ${i}` });
          return run(librarian, 'test/throw', { how: 'an error' });
        }),
      );
      expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
      const after = [20, 0, 20, 20, 0, 0, 20];
      expect(await count(...TRACES)).toEqual(after);
      await reopen();
      expect(await count(...TRACES)).toEqual(after);
    });
  });

  describe('ids', () => {
    test('increase strictly, in one call, over calls and over openings', async () => {
      const { add, reopen } = await openLibrary(setup);
      const ids = [await add(), await add(), ...(await Promise.all([1, 2, 3].map(() => add())))];
      await reopen();
      ids.push(await add());
      expect(ids).toEqual(ids.toSorted());
      expect(new Set(ids).size).toBe(ids.length);
    });
  });
}
