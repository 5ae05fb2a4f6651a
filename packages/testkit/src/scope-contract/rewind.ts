/** The contract of rewinds: to a commit, exactly, with a way forward again, and never with an erased person. */
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { allPages, anonymous, type Library, librarian, openLibrary, withCapability } from './world.ts';

const ENGINE_CANNOT = { code: 'unsupported', reason: 'engine_cannot' };
const titles = ({ ask }: Library) =>
  ask<{ title: string }[]>(librarian, 'test/read-sql', { sql: 'SELECT title FROM books ORDER BY id' }).then(
    (rows) => rows.map(({ title }) => title),
  );
const current = async ({ host, ref }: Library) => {
  const { current: at } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
  expect(at).not.toBeNull();
  return at?.bookmark as string;
};

export function rewindContract(setup: ScopeHostSetup): void {
  withCapability(
    'a rewind',
    { capability: setup.capabilities.rewind, on: setup.name },
    () => {
      test('leads to the commit that its bookmark names, and back again', async () => {
        const opened = await openLibrary(setup);
        const { host, ref, pass } = opened;
        const marks: string[] = [];
        for (const title of ['one', 'two', 'three']) {
          await opened.add(title);
          marks.push(await current(opened));
          await pass(5);
        }
        expect(marks).toEqual(marks.toSorted());
        const { undo } = await host.rewindScopeLocal({ ...ref, bookmark: marks[0] as string });
        expect(await titles(opened)).toEqual(['one']);
        await opened.reopen();
        expect(await titles(opened)).toEqual(['one']);
        await host.rewindScopeLocal({ ...ref, bookmark: undo });
        expect(await titles(opened)).toEqual(['one', 'two', 'three']);
        await opened.add('four');
      });

      test('leads to the last commit at or before a moment', async () => {
        const opened = await openLibrary(setup);
        const { host, ref, pass } = opened;
        await opened.add('one');
        await pass(50);
        const { current: at } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
        await pass(50);
        await opened.add('two');
        const between = new Date(Date.parse(at?.at as string) + 20).toISOString();
        const reached = await host.rewindScopeLocal({ ...ref, at: between });
        expect(reached.at <= between).toBe(true);
        expect(await titles(opened)).toEqual(['one']);
      });

      test('takes cached settings back as well, and leaves the roles of today', async () => {
        const opened = await openLibrary(setup);
        const { host, ref, scope, run, pass } = opened;
        await scope.projectSettings({ settings: { COLOUR: 'green' } });
        const before = await current(opened);
        await pass(5);
        await scope.assignRole({ principal: anonymous, role: 'librarian', by: 'platform' });
        await scope.projectSettings({ settings: { COLOUR: 'red' } });
        await run(anonymous, 'book/list', {});
        await host.rewindScopeLocal({ ...ref, bookmark: before });
        await run(anonymous, 'book/list', {});
        expect(await opened.ask(librarian, 'platform/told', {})).toMatchObject({
          settings: { COLOUR: 'green' },
        });
      });

      // spec C-20
      test('does not bring an erased person back', async () => {
        const opened = await openLibrary(setup);
        const { host, ref, run, scope, pass } = opened;
        await run(librarian, 'reader/note', { reader: 'rdr_ada', text: 'Ada' });
        const before = await current(opened);
        await pass(5);
        const { shreddedAt } = await host.shredSubjectLocal({ ...ref, subject: 'rdr_ada' });
        await host.rewindScopeLocal({ ...ref, bookmark: before });
        const { items } = await scope.history({ entity: { type: 'reader', id: 'rdr_ada' }, limit: 5 });
        expect(items).toMatchObject([{ payload: { $shredded: { at: shreddedAt } } }]);
        expect(await opened.ask(librarian, 'reader/notes', { reader: 'rdr_ada' })).toEqual([]);
      });

      test('to what no bookmark names changes nothing', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        await opened.add('one');
        for (const target of [{ bookmark: 'nowhere' }, { at: '2001-01-01T00:00:00.000Z' }])
          await expect(host.rewindScopeLocal({ ...ref, ...target })).rejects.toMatchObject({
            code: 'not_found',
            reason: 'unknown_bookmark',
          });
        expect(await titles(opened)).toEqual(['one']);
      });

      test('bookmarks are listed newest first, from where the window begins', async () => {
        const opened = await openLibrary(setup);
        const { host, ref, pass } = opened;
        for (let i = 0; i < 4; i++) {
          await opened.add();
          await pass(5);
        }
        const items = await allPages((cursor) =>
          host.migrationBookmarksLocal({ ...ref, limit: 2, ...cursor }),
        );
        const marks = items.map(({ bookmark }) => bookmark);
        expect(marks).toEqual([...new Set(marks)].toSorted().toReversed());
        const { earliest, current: now } = await host.migrationBookmarksLocal({ ...ref, limit: 1 });
        expect(now?.bookmark).toBe(marks[0]);
        expect((earliest?.bookmark as string) <= (marks.at(-1) as string)).toBe(true);
      });
    },
    () => {
      describe('every way to it', () => {
        test('is answered with unsupported, and changes nothing', async () => {
          const opened = await openLibrary(setup);
          const { host, ref } = opened;
          await opened.add('one');
          await expect(host.migrationBookmarksLocal({ ...ref, limit: 5 })).rejects.toMatchObject(
            ENGINE_CANNOT,
          );
          for (const target of [{ bookmark: 'b' }, { at: '2026-01-01T00:00:00.000Z' }])
            await expect(host.rewindScopeLocal({ ...ref, ...target })).rejects.toMatchObject(ENGINE_CANNOT);
          expect(await titles(opened)).toEqual(['one']);
        });
      });
    },
  );
}
