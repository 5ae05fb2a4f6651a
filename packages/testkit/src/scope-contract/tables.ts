/** The contract of the window into a scope's tables (design: kernel, "Looking inside"). */
import type { TableFilter } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { allPages, type Library, librarian, openLibrary } from './world.ts';

type Query = {
  table: string;
  filters?: TableFilter[];
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
};

const page = ({ host, ref }: Library, query: Query) =>
  host.introspectScopeTable({ ...ref, filters: [], order: 'asc', limit: 20, ...query });
const rows = (opened: Library, query: Query) =>
  allPages(async (cursor) => {
    const found = await page(opened, { ...query, ...cursor });
    return { items: found.rows, nextCursor: found.nextCursor };
  });
/** Runs a statement of the vertical's. */
const sql = ({ run }: Library, statement: string) =>
  run(librarian, 'test/sql', { sql: statement, how: 'run' });

export function tableContract(setup: ScopeHostSetup): void {
  describe('the tables of a scope', () => {
    test('are listed with their columns and how many rows they have, the platform’s own beside the vertical’s', async () => {
      const { host, ref, add } = await openLibrary(setup);
      await add();
      const tables = await host.introspectScopeTables(ref);
      const named = (name: string) => tables.find((table) => table.name === name);
      expect(named('books')).toEqual({
        name: 'books',
        kind: 'vertical',
        type: 'table',
        columns: [
          { name: 'id', type: 'TEXT', notNull: expect.any(Boolean), primaryKey: 1 },
          { name: 'title', type: 'TEXT', notNull: true, primaryKey: 0 },
          { name: 'state', type: 'TEXT', notNull: true, primaryKey: 0 },
        ],
        rows: 1,
      });
      expect(named('lent')).toMatchObject({ type: 'view', rows: null });
      expect(named('_spine_events')).toMatchObject({ kind: 'spine', rows: 1 });
      const own = tables.filter(({ kind }) => kind === 'vertical').map(({ name }) => name);
      expect(own.toSorted()).toEqual(['books', 'lent', 'loose', 'notes', 'pages']);
    });

    test.each(['asc', 'desc'] as const)('are read page by page, %s, each row once', async (order) => {
      const opened = await openLibrary(setup);
      await sql(
        opened,
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45)
         INSERT INTO loose (n, value) SELECT i * 7, 'row ' || i FROM n`,
      );
      const found = await rows(opened, { table: 'loose', order, limit: 10 });
      const expected = Array.from({ length: 45 }, (_, i) => [(i + 1) * 7, null, `row ${i + 1}`]);
      expect(found).toEqual(order === 'asc' ? expected : expected.toReversed());
    });

    test('move no page when a row is written meanwhile', async () => {
      const opened = await openLibrary(setup);
      await sql(opened, 'INSERT INTO loose (n) VALUES (10), (20), (30), (40)');
      const first = await page(opened, { table: 'loose', limit: 2 });
      await sql(opened, 'INSERT INTO loose (n) VALUES (5), (25)');
      await sql(opened, 'DELETE FROM loose WHERE n = 20');
      const rest = await page(opened, { table: 'loose', cursor: first.nextCursor as string });
      expect(rest.rows.map(([n]) => n)).toEqual([25, 30, 40]);
    });

    test('without a rowid are read by their key, whatever it is made of', async () => {
      const opened = await openLibrary(setup);
      await sql(
        opened,
        `INSERT INTO pages (book, page, content) VALUES ('a', 1, 'x'), ('a', 2, 'x'), ('', 1, 'x'), ('ä', -1, 'x'), ('''"', 3, 'x')`,
      );
      const found = await rows(opened, { table: 'pages', limit: 1 });
      expect(found.map(([book, n]) => [book, n])).toEqual([
        ['', 1],
        [`'"`, 3],
        ['a', 1],
        ['a', 2],
        ['ä', -1],
      ]);
    });

    test('show values as what they are, and say where they show less', async () => {
      const opened = await openLibrary(setup);
      await sql(
        opened,
        `INSERT INTO loose (value) VALUES (NULL), (1.5), ('text'), (x'00ff'), (9223372036854775807),
         (replace(hex(zeroblob(2500)), '0', 'x')), (zeroblob(300)), (-9007199254740991), (1e999)`,
      );
      const { rows: found, truncated } = await page(opened, { table: 'loose' });
      expect(truncated).toBe(true);
      expect(found.slice(0, 8).map(([, , value]) => value)).toEqual([
        null,
        1.5,
        'text',
        { $bytes: 'AP8', length: 2 },
        { $integer: '9223372036854775807' },
        { $text: 'x'.repeat(4_096), length: 5_000 },
        { $bytes: 'A'.repeat(342), length: 300 },
        -9_007_199_254_740_991,
      ]);
      expect((await page(opened, { table: 'books' })).truncated).toBe(false);
    });

    test('are narrowed by any number of conditions', async () => {
      const opened = await openLibrary(setup);
      await sql(opened, `INSERT INTO loose (n, value) VALUES (1, 'ax'), (2, 'bx'), (3, NULL), (4, 'ay')`);
      const ns = async (...filters: TableFilter[]) =>
        (await page(opened, { table: 'loose', filters })).rows.map(([n]) => n);
      expect(await ns({ column: 'n', op: '>=', value: 2 }, { column: 'n', op: '<', value: 4 })).toEqual([
        2, 3,
      ]);
      expect(await ns({ column: 'value', op: 'like', value: 'a%' })).toEqual([1, 4]);
      expect(await ns({ column: 'value', op: 'is null' })).toEqual([3]);
      expect(await ns({ column: 'value', op: '!=', value: "x' OR 1=1 --" })).toEqual([1, 2, 4]);
    });

    test.each<[string, Query, object]>([
      ['one that is none', { table: 'lost' }, { code: 'not_found', reason: 'unknown_table' }],
      ['SQLite’s own', { table: 'sqlite_master' }, { code: 'not_found' }],
      [
        'a column that is none',
        { table: 'books', filters: [{ column: 'lost', op: '=', value: 1 }] },
        { reason: 'unknown_column' },
      ],
      [
        'a missing value',
        { table: 'books', filters: [{ column: 'id', op: '=' }] },
        { reason: 'filter_value' },
      ],
      ['a cursor that is none', { table: 'books', cursor: 'bm9uZQ' }, { code: 'validation_failed' }],
    ])('refuse %s', async (_name, query, refusal) => {
      await expect(page(await openLibrary(setup), query)).rejects.toMatchObject(refusal);
    });
  });
}
