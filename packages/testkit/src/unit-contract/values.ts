/** The contract of values: a value goes into a column or across the boundary and comes back unchanged. */
import { describe, expect, test } from 'vitest';
import type { SqlValue } from '../../../store/src/sql-database.ts';
import type { NewKey, UnitContractSetup } from './index.ts';
import { notesUnit, observed } from './units.ts';

const COLUMN_VALUES: readonly (readonly [string, SqlValue])[] = [
  ['null', null],
  ['zero', 0],
  ['a negative integer', -42],
  ['the largest safe integer', Number.MAX_SAFE_INTEGER],
  ['the smallest safe integer', Number.MIN_SAFE_INTEGER],
  ['a float', 0.1],
  ['the largest float', Number.MAX_VALUE],
  ['the smallest float', Number.MIN_VALUE],
  ['an empty string', ''],
  ['text in many scripts', 'Grüße, 世界 🌍 e\u0301'],
  ['text with a NUL', 'before\0after'],
  ['a quote', `it's "quoted"; --`],
  ['all bytes', Uint8Array.from({ length: 256 }, (_, i) => i)],
  ['a view into bytes', new Uint8Array([1, 2, 3, 4]).subarray(1, 3)],
  ['no bytes', new Uint8Array()],
];

const ANSWERS: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['false', false],
  ['deep JSON', { a: [1, { b: [null, 'x', [[]]] }], c: {}, '': '', é: 1.5 }],
  ['bytes', { bytes: new Uint8Array([0, 255]) }],
];

export function valueContract({ open }: UnitContractSetup, newKey: NewKey): void {
  describe('a value', () => {
    test.each(COLUMN_VALUES)('goes through a column unchanged: %s', async (_name, value) => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const expected = value instanceof Uint8Array ? value.slice() : value;
      expect(await notes.hold({ value })).toStrictEqual({ get: expected, all: [{ value: expected }] });
    });

    test.each(ANSWERS)('crosses the boundary unchanged: %s', async (_name, value) => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      expect(await notes.echo({ value })).toStrictEqual(value);
    });

    test('that a unit answers is a copy: changing it changes nothing inside', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const value = { list: [1] };
      const answer = (await notes.echo({ value })) as typeof value;
      answer.list.push(2);
      expect(value).toEqual({ list: [1] });
    });

    test('that cannot cross on every engine fails its call, and the writes are gone', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      await expect(notes.addThenAnswerMap({ text: 'x' })).rejects.toMatchObject({ code: 'internal' });
      expect(String(observed.incidents[0]?.error)).toContain('an instance of Map cannot leave a unit');
      expect(await notes.list()).toEqual([]);
    });

    test('is bound to each parameter by its position, numbered ones too', async () => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      const sql = "SELECT ?2 AS b, ?1 AS a, ? AS c, '?' AS mark /* ? */ -- ?";
      expect(await notes.query({ sql, params: ['1', '2', '3'] })).toEqual([
        { a: '1', b: '2', c: '3', mark: '?' },
      ]);
    });

    test.each([
      ['too few values', 'SELECT ?, ?', [1]],
      ['too many values', 'SELECT ?', [1, 2]],
      ['a boolean', 'SELECT ?', [true]],
      ['undefined', 'SELECT ?', [undefined]],
      ['a named parameter', 'SELECT :a', [1]],
      ['two statements', 'SELECT 1; SELECT 2', []],
      ['no statement', ' -- nothing', []],
    ])('or a text that an engine might take in its own way is refused: %s', async (_name, sql, params) => {
      const { engine } = await open();
      const notes = engine.unit(notesUnit, newKey(), { create: true });
      await expect(notes.query({ sql, params: params as SqlValue[] })).rejects.toMatchObject({
        code: 'internal',
      });
      expect(String(observed.incidents[0]?.error)).toMatch(/TypeError|StatementRefused/);
    });
  });
}
