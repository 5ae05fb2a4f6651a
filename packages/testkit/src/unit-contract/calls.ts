/** The contract of one call: its order, its failure, and the unit that it reaches. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { NewKey, UnitContractSetup } from './index.ts';
import { notesUnit, observed } from './units.ts';

export function callContract({ open }: UnitContractSetup, newKey: NewKey): void {
  describe('a call', () => {
    test('runs in the order in which it was made, queries included', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const made: Promise<unknown>[] = [];
      for (let i = 1; i <= 600; i++) {
        made.push(notes.add({ text: `note ${i}` }));
        if (i % 50 === 0) made.push(notes.list().then((texts) => texts.length));
      }
      const expected = Array.from({ length: 600 }, (_, i) =>
        (i + 1) % 50 === 0 ? [i + 1, i + 1] : [i + 1],
      ).flat();
      expect(await Promise.all(made)).toEqual(expected);
    });

    test('sees every write that was acknowledged, also through another stub', async () => {
      const { engine } = await open();
      const key = newKey();
      const writer = engine.unit(notesUnit, key, { create: true });
      for (const text of ['a', 'b', 'c']) {
        await writer.add({ text });
        expect((await engine.unit(notesUnit, key).list()).at(-1)).toBe(text);
      }
    });

    test('of one unit leaves another unit alone', async () => {
      const { engine } = await open();
      const [left, right] = [newKey(), newKey()].map((key) => engine.unit(notesUnit, key, { create: true }));
      await Promise.all([left?.add({ text: 'left' }), right?.add({ text: 'right' })]);
      expect(await left?.list()).toEqual(['left']);
      expect(await right?.list()).toEqual(['right']);
    });

    test('that refuses arrives with its code, reason, errors and headers, and without its cause', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const error = await notes.addThenRefuse({ text: 'x' }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PlatformError);
      expect(error).toMatchObject({
        code: 'validation_failed',
        message: 'The note is not valid.',
        reason: 'bad_note',
        errors: [{ path: 'text', message: 'is too long' }],
        headers: { 'x-hint': 'shorter' },
      });
      expect(JSON.stringify((error as PlatformError).cause ?? null)).not.toContain('stays inside');
      expect(observed.incidents).toEqual([]);
    });

    test.each(['addThenThrow', 'failingQuery'] as const)(
      'that throws something unknown (%s) is internal, says nothing of it, and is reported',
      async (method) => {
        const { engine } = await open();
        const notes = engine.unit(notesUnit, newKey(), { create: true });
        const error = await notes[method]({ text: 'token' }).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'internal', reason: undefined });
        expect(String(error)).not.toContain('secret');
        expect(observed.incidents).toHaveLength(1);
        expect(observed.incidents[0]).toMatchObject({ method });
        expect(String(observed.incidents[0]?.error)).toContain('secret');
      },
    );

    test('that throws what cannot be looked at costs only itself', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const [before, hostile, after] = await Promise.allSettled([
        notes.add({ text: 'before' }),
        notes.addThenThrowHostile({ text: 'lost' }),
        notes.add({ text: 'after' }),
      ]);
      expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
      expect(hostile).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
      expect(await notes.list()).toEqual(['before', 'after']);
      expect(observed.incidents).toHaveLength(1);
    });

    test('that returns a promise is refused, and its writes are gone', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      await notes.add({ text: 'before' });
      await expect(notes.addThenWait({ text: 'lost' })).rejects.toMatchObject({ code: 'internal' });
      expect(await notes.list()).toEqual(['before']);
      expect(String(observed.incidents[0]?.error)).toContain('returned a promise');
    });

    test.each(['nothing', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
      'of a method that is not there (%s) is unsupported',
      async (method) => {
        const { engine } = await open();
        const stub = engine.unit(notesUnit, newKey(), { create: true }) as unknown as Record<
          string,
          (input: unknown) => Promise<unknown>
        >;
        await expect(stub[method]?.({})).rejects.toMatchObject({
          code: 'unsupported',
          reason: 'unknown_method',
        });
      },
    );
  });

  describe('a unit', () => {
    test('that was never created is not found, and asking for it creates nothing', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const absent = { code: 'not_found', reason: 'unknown_unit' };
      await expect(engine.unit(notesUnit, key).add({ text: 'x' })).rejects.toMatchObject(absent);
      await expect(engine.unit(notesUnit, key).list()).rejects.toMatchObject(absent);
      const again = await reopen();
      await expect(again.unit(notesUnit, key).list()).rejects.toMatchObject(absent);
      expect(observed.openings.get(key)).toBeUndefined();
      expect(observed.incidents).toEqual([]);
      await again.unit(notesUnit, key, { create: true }).add({ text: 'x' });
      expect(await again.unit(notesUnit, key).list()).toEqual(['x']);
    });

    test('is opened once, however many first calls arrive at once', async () => {
      const { engine } = await open();
      const key = newKey();
      const calls = Array.from({ length: 40 }, (_, i) =>
        engine.unit(notesUnit, key, { create: true }).add({ text: `${i}` }),
      );
      await Promise.all(calls);
      expect(observed.openings.get(key)).toBe(1);
      const journal = await engine.unit(notesUnit, key).journal();
      expect(journal.map((each) => each.version)).toEqual([1, 3]);
    });

    test('opened again applies no migration again and has everything', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      await engine.unit(notesUnit, key, { create: true }).add({ text: 'kept' });
      const journal = await engine.unit(notesUnit, key).journal();
      const again = await reopen();
      expect(await again.unit(notesUnit, key).journal()).toEqual(journal);
      expect(await again.unit(notesUnit, key).list()).toEqual(['kept']);
      expect(observed.openings.get(key)).toBe(2);
    });

    test.each(['', 'a/b', '../x', 'a.b', 'a b', 'é', 'x'.repeat(129)])(
      'has no such key as %j',
      async (key) => {
        const { engine } = await open();
        expect(() => engine.unit(notesUnit, key)).toThrow(TypeError);
      },
    );

    test('makes ids that increase strictly, in one call, over calls and over openings', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      const ids = (await Promise.all([1, 20, 1].map((howMany) => notes.ids({ howMany })))).flat();
      ids.push(...(await notes.ids({ howMany: 2 })));
      ids.push(...(await (await reopen()).unit(notesUnit, key).ids({ howMany: 3 })));
      expect(ids).toHaveLength(27);
      expect(new Set(ids).size).toBe(27);
      expect([...ids].sort()).toEqual(ids);
    });
  });

  describe('a closed engine', () => {
    test('has kept what it accepted, and refuses everything after', async () => {
      const { engine, reopen } = await open();
      const key = newKey();
      const notes = engine.unit(notesUnit, key, { create: true });
      const accepted = ['a', 'b', 'c'].map((text) => notes.add({ text }));
      const closed = engine.close();
      const late = expect(notes.add({ text: 'late' })).rejects.toMatchObject({ code: 'unavailable' });
      await Promise.all([closed, engine.close(), late]);
      expect(await Promise.all(accepted)).toEqual([1, 2, 3]);
      await expect(notes.list()).rejects.toMatchObject({ code: 'unavailable' });
      expect(await (await reopen()).unit(notesUnit, key).list()).toEqual(['a', 'b', 'c']);
    });
  });
}
