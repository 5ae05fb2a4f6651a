import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  CURSOR_LENGTH_MAX,
  cutPage,
  decodeCursor,
  encodeCursor,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  nameCursors,
  pageOf,
  pageQuery,
} from './pages.ts';

describe('a cursor', () => {
  test('gives back any key, and is safe in a query', () => {
    const key = fc.oneof(fc.string({ unit: anyCharacter }), fc.constant('\uFEFFmark'));
    fc.assert(
      fc.property(key, (text) => {
        const cursor = encodeCursor(text);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]*$/);
        expect(decodeCursor(cursor)).toBe(text);
      }),
    );
  });

  test.each(['!', 'a', '____', '%00', 'é'])(
    'that no list gave out (%s) is refused at its field',
    (cursor) => {
      expect(() => decodeCursor(cursor)).toThrow(
        expect.objectContaining({
          code: 'validation_failed',
          errors: [{ path: 'cursor', message: 'is not one that this list gave out' }],
        }),
      );
    },
  );
});

describe('a page', () => {
  const rows = [1, 2, 3, 4];
  const cut = (howMany: number, limit: number) =>
    cutPage(rows.slice(0, howMany), limit, String, (row) => ({ row }));

  test('ends with the key of the last row that is shown when there are more', () => {
    const page = cut(4, 3);
    expect(page.items).toEqual([{ row: 1 }, { row: 2 }, { row: 3 }]);
    expect(decodeCursor(page.nextCursor ?? '')).toBe('3');
  });

  test.each([
    [3, 3],
    [2, 3],
    [0, 3],
  ])('of %i rows under a limit of %i is the last', (howMany, limit) => {
    expect(cut(howMany, limit).nextCursor).toBeNull();
    expect(cut(howMany, limit).items).toHaveLength(howMany);
  });

  test('has the schema that it is', () => {
    expect(pageOf(z.object({ row: z.int() })).parse(cut(4, 3)).items).toHaveLength(3);
  });
});

test('the query of a list has a default and a bound', () => {
  const query = z.object(pageQuery);
  expect(query.parse({})).toEqual({ limit: LIMIT_DEFAULT });
  expect(query.safeParse({ limit: LIMIT_MAX }).success).toBe(true);
  for (const limit of [0, LIMIT_MAX + 1, 1.5, '20']) expect(query.safeParse({ limit }).success).toBe(false);
  expect(query.safeParse({ cursor: 'x'.repeat(CURSOR_LENGTH_MAX + 1) }).success).toBe(false);
});

describe('a named list', () => {
  const numbers = ({ cursor }: { readonly cursor?: string }) => ({
    items: [cursor],
    nextCursor: encodeCursor('2'),
  });
  const methods = nameCursors({ odd: numbers, even: numbers, plain: numbers }, ['odd', 'even']);

  test('goes on from its own cursor, and refuses one of another list, or of none', () => {
    const { nextCursor } = methods.odd({});
    expect(nextCursor).toBe(`odd~${encodeCursor('2')}`);
    expect(methods.odd({ cursor: nextCursor }).items).toEqual([encodeCursor('2')]);
    for (const cursor of [
      methods.even({}).nextCursor,
      encodeCursor('2'),
      '',
      '~',
      'odd',
      `odd${encodeCursor('2')}`,
    ])
      expect(() => methods.odd({ cursor }), cursor).toThrow(
        expect.objectContaining({
          code: 'validation_failed',
          errors: [{ path: 'cursor', message: expect.any(String) }],
        }),
      );
  });

  test('other methods, the last page and calls without a query stay as they are', () => {
    expect(methods.plain({ cursor: 'x' }).items).toEqual(['x']);
    const last = nameCursors({ list: (_query?: object) => ({ items: [], nextCursor: null }) }, ['list']);
    expect(last.list()).toEqual({ items: [], nextCursor: null });
  });
});
