/** The contract of a handler gone wrong: it costs its own call and nothing else, and says nothing of what went wrong. */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { ANSWERED, EMITTED, THROWN } from './misbehaviour.ts';
import { librarian, observed, openLibrary, TRACES, visitor } from './world.ts';

const NONE = TRACES.map(() => 0);

export function hostileContract(setup: ScopeHostSetup): void {
  describe('a handler', () => {
    test.each(Object.keys(THROWN))('that throws %s costs its own call', async (how) => {
      const { run, count } = await openLibrary(setup);
      const [before, failed, after] = await Promise.allSettled([
        run(librarian, 'book/add', { title: 'before' }),
        run(librarian, 'test/throw', { how }),
        run(librarian, 'book/add', { title: 'after' }),
      ]);
      expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
      expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
      const error = (failed as PromiseRejectedResult).reason;
      expect(`${error.message} ${error.reason} ${JSON.stringify(error)}`).not.toContain('secret');
      expect(await count('books', 'notes')).toEqual([2, 0]);
      expect(observed.incidents).toHaveLength(1);
    });

    test('that refuses in so many words is passed on word by word, without its cause', async () => {
      const { run, count } = await openLibrary(setup);
      const error = await run(librarian, 'test/refuse', {}).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'invalid_transition',
        message: 'Not from here.',
        reason: 'is_done',
        errors: [{ path: 'book', message: 'is done' }],
      });
      expect(String((error as Error).cause ?? '')).not.toContain('secret');
      expect(await count(...TRACES)).toEqual(NONE);
      expect(observed.incidents).toEqual([]);
    });

    test.each(Object.keys(ANSWERED))(
      'that answers %s has answered nothing, and done nothing',
      async (how) => {
        const { run, count } = await openLibrary(setup);
        await expect(run(librarian, 'test/answer', { how })).rejects.toMatchObject({ code: 'internal' });
        expect(await count(...TRACES)).toEqual(NONE);
        expect(String(observed.incidents[0]?.error)).toContain('operation test/answer');
      },
    );

    test.each(Object.keys(EMITTED))('that emits an event %s fails', async (how) => {
      const { run, count } = await openLibrary(setup);
      await expect(run(librarian, 'test/emit', { how })).rejects.toMatchObject({ code: 'internal' });
      expect(await count(...TRACES)).toEqual(NONE);
      expect(String(observed.incidents[0]?.error)).toContain('operation test/emit');
    });

    test.each([null, 7, 'b', {}, { type: 'boat', id: 'b' }, { type: 'constructor', id: 'b' }])(
      'whose record would be %j is a bug, and no caller gets through',
      async (what) => {
        const { run, count } = await openLibrary(setup);
        await expect(run(librarian, 'test/about', { what })).rejects.toMatchObject({ code: 'internal' });
        expect(await count(...TRACES)).toEqual(NONE);
      },
    );

    test('whose record has an id that can be none tells its caller so', async () => {
      const { run } = await openLibrary(setup);
      for (const id of ['', 'x'.repeat(129)])
        await expect(run(librarian, 'test/about', { what: { type: 'book', id } })).rejects.toMatchObject({
          code: 'validation_failed',
          reason: 'entity_id_malformed',
        });
    });

    test('that keeps its context finds it closed, in every call that comes after', async () => {
      const { run, ask, count } = await openLibrary(setup);
      await run(librarian, 'test/keep', {});
      const uses = await ask<Record<string, string>>(librarian, 'test/use-kept', {});
      expect(Object.keys(uses).length).toBeGreaterThan(5);
      for (const [use, ended] of Object.entries(uses)) expect(`${use}: ${ended}`).toContain('it is closed');
      expect(await count('books', 'notes', '_spine_events', '_spine_grants')).toEqual([0, 0, 0, 0]);
    });
  });

  describe('the SQL of a handler', () => {
    test.each([
      `DELETE FROM _spine_events`,
      `UPDATE "_SPINE_grants" SET permission = 'x'`,
      `INSERT INTO _spine_assignments VALUES ('prn_x', 'librarian', 'platform', 0)`,
      `CREATE TRIGGER forge AFTER INSERT ON books BEGIN DELETE FROM _spine_events; END`,
      `PRAGMA foreign_keys = off`,
      `ATTACH DATABASE ':memory:' AS other`,
      `COMMIT`,
      `SELECT 1; SELECT 2`,
    ])('reaches its own tables only: %s', async (sql) => {
      const { run, add, count } = await openLibrary(setup);
      await add();
      for (const how of ['run', 'all'])
        await expect(run(visitor, 'test/sql', { sql, how })).rejects.toMatchObject({ code: 'internal' });
      expect(await count('books', '_spine_events')).toEqual([1, 1]);
      await run(visitor, 'book/list', {});
    });

    test('reads the platform’s tables, and writes nothing where the operation only reads', async () => {
      const { ask, run, add, count } = await openLibrary(setup);
      await add();
      const sql = 'SELECT type FROM _spine_events';
      expect(await ask(visitor, 'test/read-sql', { sql })).toEqual([{ type: 'book.added' }]);
      await expect(run(visitor, 'test/read-sql', { sql: 'DELETE FROM books' })).rejects.toMatchObject({
        code: 'internal',
      });
      expect(await count('books')).toEqual([1]);
    });
  });
}
