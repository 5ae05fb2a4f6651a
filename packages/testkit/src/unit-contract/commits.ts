/** The contract of group commit: what is stored when one call of many fails, and that acknowledged writes stay. */
import { describe, expect, test } from 'vitest';
import type { NewKey, UnitContractSetup } from './index.ts';
import { notesUnit, observed } from './units.ts';

export function commitContract({ open }: UnitContractSetup, newKey: NewKey): void {
  describe('a group of calls', () => {
    test('keeps all of the good ones and nothing of the failing ones', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      const settled = await Promise.allSettled([
        notes.add({ text: 'a' }),
        notes.addThenThrow({ text: 'b' }),
        notes.add({ text: 'c' }),
        notes.addThenRefuse({ text: 'd' }),
        notes.addThenWait({ text: 'e' }),
        notes.breakStatement(),
        notes.addThenAnswerMap({ text: 'g' }),
        notes.add({ text: 'h' }),
      ]);
      const stored = settled.map((each) => each.status === 'fulfilled');
      expect(stored).toEqual([true, false, true, false, false, false, false, true]);
      expect(await notes.list()).toEqual(['a', 'c', 'h']);
      expect(await (await reopen()).unit(notesUnit, key).list()).toEqual(['a', 'c', 'h']);
    });

    test('keeps what a failing call wrote after it rolled itself back', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      const settled = await Promise.allSettled([
        notes.add({ text: 'a' }),
        notes.addThenWriteInstead({ text: 'b', instead: 'refused b' }),
        notes.add({ text: 'c' }),
      ]);
      expect(settled.map((each) => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(settled[1]).toMatchObject({ reason: { code: 'validation_failed', reason: 'bad_note' } });
      expect(observed.incidents).toEqual([]);
      expect(await (await reopen()).unit(notesUnit, key).list()).toEqual(['a', 'refused b', 'c']);
    });

    test('goes on when what was to be written instead fails too', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const settled = await Promise.allSettled([
        notes.add({ text: 'a' }),
        notes.addThenFailInstead({ text: 'b' }),
        notes.add({ text: 'c' }),
      ]);
      expect(settled.map((each) => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(settled[1]).toMatchObject({ reason: { code: 'internal' } });
      expect(String(observed.incidents[0]?.error)).toContain('the second write failed');
      expect(await notes.list()).toEqual(['a', 'c']);
    });

    test('has every acknowledged write after the engine went away', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      const acknowledged: string[] = [];
      for (let round = 0; round < 4; round++) {
        const texts = Array.from({ length: 25 }, (_, i) => `${round}-${i}`);
        await Promise.all(texts.map((text) => notes.add({ text }).then(() => acknowledged.push(text))));
      }
      const stored = await (await reopen()).unit(notesUnit, key).list();
      expect(stored).toEqual(acknowledged);
      expect(stored).toHaveLength(100);
    });

    test('undoes a savepoint alone, however deep', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      expect(await engine.unit(notesUnit, key, { create: true }).nested()).toEqual(['outer', 'kept']);
      expect(await (await reopen()).unit(notesUnit, key).list()).toEqual(['outer', 'kept']);
    });
  });

  describe('a task for after the commit', () => {
    test('runs once its call is committed, and never when it was rolled back', async () => {
      const { engine } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      await Promise.allSettled([
        notes.addAndTell({ text: 'a', fail: null }),
        notes.addAndTell({ text: 'b', fail: 'call' }),
        notes.addAndTell({ text: 'c', fail: null }),
      ]);
      expect(observed.committed).toEqual([`${key}: a`, `${key}: c`]);
    });

    test('that fails is reported, and its call and the other tasks are not touched', async () => {
      const { engine } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      await Promise.all([
        notes.addAndTell({ text: 'a', fail: 'task' }),
        notes.addAndTell({ text: 'b', fail: null }),
      ]);
      expect(await notes.list()).toEqual(['a', 'b']);
      expect(observed.committed).toEqual([`${key}: a`, `${key}: b`]);
      expect(observed.incidents).toMatchObject([{ method: 'afterCommit' }]);
    });
  });

  test('what a unit cached of rows that were rolled back is dropped', async () => {
    const { engine } = await open();
    const notes = engine.unit(notesUnit, newKey(), { create: true });
    await notes.add({ text: 'a' });
    await Promise.allSettled([notes.add({ text: 'b' }), notes.addAndTell({ text: 'c', fail: 'call' })]);
    expect(await notes.count()).toEqual({ counted: 2, stored: 2 });
    await notes.add({ text: 'd' });
    expect(await notes.count()).toEqual({ counted: 3, stored: 3 });
  });
}
