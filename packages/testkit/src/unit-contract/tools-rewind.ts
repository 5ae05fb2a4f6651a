/** The contract of history: a unit can be rewound to every commit, and back. An engine without history says so. */
import { describe, expect, test } from 'vitest';
import type { Bookmark, UnitTools } from '../../../store/src/tools.ts';
import type { OpenUnit } from './tools.ts';
import { bodyOf, bytesOf } from './tools-bytes.ts';
import { refuseAdmission, toolsUnit } from './tools-units.ts';

const engineCannot = { code: 'unsupported', reason: 'engine_cannot' };
const unknown = { code: 'not_found', reason: 'unknown_bookmark' };
const note = (text: string) => ({ sql: 'INSERT INTO _spine_events (note) VALUES (?)', params: [text] });

export function rewindContract(openUnit: OpenUnit): void {
  describe('history', () => {
    test('takes the unit to any commit, and back', async () => {
      const { unit, tools, engine } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      const states = new Map<string, string[]>();
      for (let i = 0; i < 5; i++) {
        await unit.run(note(`number ${i}`));
        states.set((await current(tools)).bookmark, await unit.contents());
      }
      expect([...states.keys()].toSorted()).toEqual([...states.keys()]);
      const newest = await current(tools);
      const undos: string[] = [];
      for (const [bookmark, contents] of states) {
        const reached = await tools.rewind({ bookmark });
        expect(reached.bookmark).toBe(bookmark);
        expect(await unit.contents()).toEqual(contents);
        undos.push(reached.undo);
      }
      expect(undos[0]).toBe(newest.bookmark);
      await tools.rewind({ bookmark: undos[0] ?? '' });
      expect(await unit.contents()).toEqual(states.get(newest.bookmark));
    });

    test('lists its commits newest first, page by page, and from a moment on', async () => {
      const { unit, tools, engine } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      for (let i = 0; i < 7; i++) await unit.run(note(`number ${i}`));
      const all = await tools.bookmarks({ limit: 1_000 });
      expect(all.nextCursor).toBeNull();
      expect(all.items[0]).toEqual(all.current);
      expect(all.items.at(-1)).toEqual(all.earliest);
      const names = all.items.map(({ bookmark }) => bookmark);
      expect(names.toSorted().reverse()).toEqual(names);
      expect(new Set(names).size).toBe(names.length);
      const times = all.items.map(({ atMs }) => atMs);
      expect(times.toSorted((a, b) => b - a)).toEqual(times);
      const paged: Bookmark[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await tools.bookmarks({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(3);
        paged.push(...page.items);
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(paged).toEqual(all.items);
      const atMs = all.items[4]?.atMs ?? 0;
      const until = await tools.bookmarks({ limit: 1_000, atMs });
      expect(until.items).toEqual(all.items.filter((item) => item.atMs <= atMs));
      expect((await tools.rewind({ atMs })).bookmark).toBe(until.items[0]?.bookmark);
      await expect(tools.rewind({ atMs: (all.earliest?.atMs ?? 0) - 1 })).rejects.toMatchObject(unknown);
      await expect(tools.bookmarks({ limit: 3, cursor: 'made up' })).rejects.toMatchObject({
        code: 'validation_failed',
      });
    });

    test('knows no bookmark that it did not give out', async () => {
      const { unit, tools, engine } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      const before = await unit.contents();
      const { bookmark } = await current(tools);
      const forged = bookmark.slice(0, -1) + (bookmark.endsWith('0') ? '1' : '0');
      for (const each of ['', 'bmk_', 'made up', forged, `${bookmark}0`])
        await expect(tools.rewind({ bookmark: each })).rejects.toMatchObject(unknown);
      expect(await unit.contents()).toEqual(before);
    });

    test('stands in line with the calls, and a read makes no commit', async () => {
      const { unit, tools, engine } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      const { bookmark } = await current(tools);
      await unit.contents();
      await unit.all({ sql: 'SELECT 1 AS x' });
      expect((await current(tools)).bookmark).toBe(bookmark);
      const before = unit.run(note('before'));
      const page = tools.bookmarks({ limit: 10 });
      await before;
      expect((await page).items[1]?.bookmark).toBe(bookmark);
    });

    test('is judged by those who admit, and goes on after a refusal', async () => {
      const { unit, tools, engine } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      const { bookmark } = await current(tools);
      await unit.run(note('later'));
      const before = await unit.contents();
      await expect(tools.rewind({ bookmark }, refuseAdmission)).rejects.toMatchObject({
        reason: 'not_wanted',
      });
      expect(await unit.contents()).toEqual(before);
      await tools.rewind({ bookmark }, (staged) => staged.run("INSERT INTO loose VALUES ('admitted', 1)"));
      expect(await unit.all({ sql: "SELECT a FROM loose WHERE a = 'admitted'" })).toEqual([
        { a: 'admitted' },
      ]);
    });

    test('outlives everything in memory', async () => {
      const { unit, tools, engine, key, reopen } = await openUnit();
      if (!engine.capabilities.rewind) return refuses(tools);
      const before = await unit.contents();
      const { bookmark } = await current(tools);
      await unit.run(note('later'));
      const all = await tools.bookmarks({ limit: 1_000 });
      const reopened = await reopen();
      const again = reopened.tools(toolsUnit, key);
      expect(await again.bookmarks({ limit: 1_000 })).toEqual(all);
      const { undo } = await again.rewind({ bookmark });
      expect(await reopened.unit(toolsUnit, key).contents()).toEqual(before);
      expect(undo).toBe(all.current?.bookmark);
    });

    test('holds what a restored copy replaced, and names the commit of a copy', async () => {
      const { unit, tools, engine } = await openUnit();
      const copy = await tools.export('ndjson');
      const then = await unit.contents();
      const bytes = await bytesOf(copy);
      await unit.run(note('later'));
      const before = await unit.contents();
      if (!engine.capabilities.rewind) {
        expect(copy.bookmark).toBeNull();
        expect((await tools.restore('ndjson', bodyOf(bytes))).undo).toBeNull();
        return;
      }
      const { undo } = await tools.restore('ndjson', bodyOf(bytes));
      await tools.rewind({ bookmark: undo ?? '' });
      expect(await unit.contents()).toEqual(before);
      await tools.rewind({ bookmark: copy.bookmark ?? '' });
      expect(await unit.contents()).toEqual(then);
    });

    test('of a unit that was never created is refused', async () => {
      const { engine } = await openUnit();
      const absent = engine.tools(toolsUnit, 'absent');
      const refusal = engine.capabilities.rewind ? { reason: 'unknown_unit' } : engineCannot;
      await expect(absent.bookmarks({ limit: 1 })).rejects.toMatchObject(refusal);
      await expect(absent.rewind({ atMs: 0 })).rejects.toMatchObject(refusal);
    });
  });
}

async function current(tools: UnitTools): Promise<Bookmark> {
  const page = await tools.bookmarks({ limit: 1 });
  if (!page.current) throw new Error('there is no present commit');
  return page.current;
}

async function refuses(tools: UnitTools): Promise<void> {
  await expect(tools.bookmarks({ limit: 1 })).rejects.toMatchObject(engineCannot);
  await expect(tools.rewind({ atMs: 0 })).rejects.toMatchObject(engineCannot);
}
