/** The contract of repeats and of preconditions (design: kernel, "Idempotency and preconditions"; spec D-10). */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { clerk, librarian, openLibrary, visitor } from './world.ts';

const key = { idempotencyKey: 'key-1' };

export function idempotencyContract(setup: ScopeHostSetup): void {
  describe('a repeat with the same key', () => {
    test('is answered as the first time and does nothing', async () => {
      const { run, count, reopen } = await openLibrary(setup);
      const first = await run(clerk, 'book/add', { title: 'once' }, key);
      expect(first.replayed).toBe(false);
      expect(await run(clerk, 'book/add', { title: 'once' }, key)).toEqual({ ...first, replayed: true });
      await reopen();
      expect(await run(clerk, 'book/add', { title: 'once' }, key)).toEqual({ ...first, replayed: true });
      expect(await count('books', '_spine_invocations')).toEqual([1, 1]);
    });

    test('is one effect, however many arrive at once', async () => {
      const { run, count } = await openLibrary(setup);
      const all = await Promise.all(
        Array.from({ length: 12 }, () => run(clerk, 'book/add', { title: 'x' }, key)),
      );
      expect(all.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(all.map(({ invocation }) => invocation)).size).toBe(1);
      expect(await count('books')).toEqual([1]);
    });

    test('and another input is a conflict; of another caller or of another operation it is another key', async () => {
      const { run, count } = await openLibrary(setup);
      await run(clerk, 'book/add', { title: 'one' }, key);
      await expect(run(clerk, 'book/add', { title: 'two' }, key)).rejects.toMatchObject({
        code: 'conflict',
        reason: 'idempotency_key_reused',
      });
      expect((await run(librarian, 'book/add', { title: 'two' }, key)).replayed).toBe(false);
      expect(
        (await run(clerk, 'place/put', { what: { type: 'book', id: 'b' }, into: null }, key)).replayed,
      ).toBe(false);
      expect(await count('books')).toEqual([2]);
    });

    test('is for whom the operation would be allowed now', async () => {
      const { run, scope } = await openLibrary(setup);
      const first = await run(clerk, 'book/add', { title: 'x' }, key);
      await scope.setRoles({ principal: clerk, roles: ['visitor'], by: 'platform' });
      await expect(run(clerk, 'book/add', { title: 'x' }, key)).rejects.toMatchObject({
        code: 'permission_denied',
      });
      await scope.setRoles({ principal: clerk, roles: ['clerk'], by: 'platform' });
      expect(await run(clerk, 'book/add', { title: 'x' }, key)).toEqual({ ...first, replayed: true });
    });

    test('after a refusal or a failure is a first time', async () => {
      const { run, scope, count } = await openLibrary(setup);
      await expect(run(visitor, 'book/add', { title: 'x' }, key)).rejects.toMatchObject({
        code: 'permission_denied',
      });
      await expect(run(visitor, 'test/throw', { how: 'an error' }, key)).rejects.toMatchObject({
        code: 'internal',
      });
      await scope.assignRole({ principal: visitor, role: 'clerk', by: 'platform' });
      expect((await run(visitor, 'book/add', { title: 'other' }, key)).replayed).toBe(false);
      expect(await count('books')).toEqual([1]);
    });

    test.each(['', 'a b', 'a\n', 'é', 'x'.repeat(256)])('is refused when the key is %j', async (bad) => {
      const { run, count } = await openLibrary(setup);
      await expect(run(clerk, 'book/add', { title: 'x' }, { idempotencyKey: bad })).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'idempotency_key_malformed',
      });
      expect(await count('books')).toEqual([0]);
    });
  });

  describe('If-Match', () => {
    test('lets the version through that is the present one, and no other', async () => {
      const { run, add, count } = await openLibrary(setup);
      const book = await add();
      const { version } = await run(librarian, 'book/read', { book });
      const lent = await run(librarian, 'book/lend', { book }, { ifMatch: version as string });
      expect(lent.version).not.toBe(version);
      const stale = run(librarian, 'book/lend', { book }, { ifMatch: version as string });
      await expect(stale).rejects.toMatchObject({ code: 'precondition_failed' });
      await run(librarian, 'book/lend', { book }, { ifMatch: '*' });
      await expect(run(librarian, 'book/lend', { book: 'none' }, { ifMatch: '*' })).rejects.toMatchObject({
        code: 'precondition_failed',
      });
      expect(await count('_spine_invocations')).toEqual([5]);
    });

    test('of many that saw one version lets exactly one through', async () => {
      const { run, add } = await openLibrary(setup);
      const book = await add();
      const { version } = await run(librarian, 'book/read', { book });
      const all = await Promise.allSettled(
        Array.from({ length: 8 }, () =>
          run(librarian, 'book/lend', { book }, { ifMatch: version as string }),
        ),
      );
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    test('loses against a repeat, and tells nothing to a caller without the permission', async () => {
      const { run, add } = await openLibrary(setup);
      const book = await add();
      const { version } = await run(librarian, 'book/read', { book });
      const extra = { ...key, ifMatch: version as string };
      const first = await run(librarian, 'book/lend', { book }, extra);
      expect(await run(librarian, 'book/lend', { book }, extra)).toEqual({ ...first, replayed: true });
      await expect(run(visitor, 'book/lend', { book }, { ifMatch: 'evt_x' })).rejects.toMatchObject({
        code: 'permission_denied',
      });
    });

    test('has nothing to name where an operation is about no record', async () => {
      const { run } = await openLibrary(setup);
      await expect(run(clerk, 'book/add', { title: 'x' }, { ifMatch: '*' })).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'no_version',
      });
    });
  });
}
