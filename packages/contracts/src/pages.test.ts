import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cutPage, decodeCursor, encodeCursor, LIMIT_DEFAULT, LIMIT_MAX, pageOf, pageQuery } from './pages.ts';

describe('a cursor', () => {
  test('gives back any key, and is safe in a query', () => {
    const key = fc.oneof(fc.string({ unit: 'binary' }), fc.constant('\uFEFFmark'));
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
  expect(query.safeParse({ cursor: 'x'.repeat(513) }).success).toBe(false);
});
