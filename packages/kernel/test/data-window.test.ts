/** Looking into a scope's tables: every row once, in order, bounded, whatever is in it (spec C-05). */
import type { TableFilter, TablePage } from '@freehold/contracts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineVertical } from '../src/index.ts';
import { onScenario, openShop, owner, shop } from './shop.ts';

const ODD = 'we"ird; DROP TABLE boxes --';
const vertical = defineVertical({
  ...shop,
  migrations: [
    ...shop.migrations,
    {
      version: 2,
      name: 'tables of all kinds',
      sql: `
CREATE TABLE plain (n INTEGER PRIMARY KEY, label TEXT, weight REAL, raw BLOB);
CREATE TABLE loose (a, b);
CREATE TABLE pairs (left_key TEXT, right_key BLOB, note TEXT, PRIMARY KEY (left_key, right_key)) WITHOUT ROWID;
CREATE TABLE reals (r REAL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE shadowed (rowid TEXT, value INTEGER);
CREATE TABLE "${ODD.replaceAll('"', '""')}" ("col""umn" TEXT);
CREATE TABLE wide (${Array.from({ length: 120 }, (_, i) => `c${i}`).join(', ')});
CREATE VIEW heavy AS SELECT n, label FROM plain WHERE weight > 10 ORDER BY n;
`,
    },
  ],
});

const openWindow = () => openShop({ vertical });
type Window = Awaited<ReturnType<typeof openWindow>>;
let count = 0;
const act = (window: Window, work: Parameters<typeof onScenario>[1]) =>
  window.run(owner, 'test/run', { what: onScenario(`window-${count++}`, work) });

type Query = {
  table: string;
  filters?: TableFilter[];
  order?: 'asc' | 'desc';
  limit?: number;
  cursor?: string;
};
const page = (window: Window, query: Query): Promise<TablePage> =>
  window.scope.table({ filters: [], order: 'asc', limit: 20, ...query });

async function allRows(window: Window, query: Query): Promise<TablePage['rows']> {
  const rows: TablePage['rows'] = [];
  let cursor: string | null = null;
  do {
    const next: TablePage = await page(window, { ...query, ...(cursor === null ? {} : { cursor }) });
    rows.push(...next.rows);
    cursor = next.nextCursor;
  } while (cursor !== null);
  return rows;
}

test('every table is listed with its columns and its number of rows, the platform’s own too', async () => {
  await using window = await openWindow();
  await act(window, (ctx) => ctx.sql.run(`INSERT INTO plain (n, label) VALUES (1, 'x'), (2, 'y')`));
  const tables = await window.scope.tables({});
  const named = (name: string) => tables.find((table) => table.name === name);
  expect(named('plain')).toEqual({
    name: 'plain',
    kind: 'vertical',
    type: 'table',
    columns: [
      { name: 'n', type: 'INTEGER', notNull: false, primaryKey: 1 },
      { name: 'label', type: 'TEXT', notNull: false, primaryKey: 0 },
      { name: 'weight', type: 'REAL', notNull: false, primaryKey: 0 },
      { name: 'raw', type: 'BLOB', notNull: false, primaryKey: 0 },
    ],
    rows: 2,
  });
  expect(named('_spine_events')).toMatchObject({ kind: 'spine', rows: 0 });
  expect(named('heavy')).toMatchObject({ type: 'view', rows: null });
  expect(named(ODD)).toMatchObject({ rows: 0 });
  expect(tables.some(({ name }) => name.startsWith('sqlite_'))).toBe(false);
});

test.each(['asc', 'desc'] as const)('rows come page by page, %s, each once', async (order) => {
  await using window = await openWindow();
  await act(window, (ctx) => {
    for (let n = 1; n <= 45; n++)
      ctx.sql.run('INSERT INTO plain (n, label) VALUES (?, ?)', n * 7, `row ${n}`);
  });
  const rows = await allRows(window, { table: 'plain', order, limit: 10 });
  const ns = rows.map(([n]) => n);
  const expected = Array.from({ length: 45 }, (_, i) => (i + 1) * 7);
  expect(ns).toEqual(order === 'asc' ? expected : expected.reverse());
});

test('a row that is written meanwhile moves no page', async () => {
  await using window = await openWindow();
  await act(window, (ctx) => ctx.sql.run('INSERT INTO plain (n) VALUES (10), (20), (30), (40)'));
  const first = await page(window, { table: 'plain', limit: 2 });
  await act(window, (ctx) => {
    ctx.sql.run('INSERT INTO plain (n) VALUES (5), (25)');
    ctx.sql.run('DELETE FROM plain WHERE n = 20');
  });
  const second = await page(window, { table: 'plain', limit: 5, cursor: first.nextCursor as string });
  expect(second.rows.map(([n]) => n)).toEqual([25, 30, 40]);
});

const key = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('', 'a', 'A', 'ä', "'", '"'));
test('tables without a rowid page by their key, whatever it is made of', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(key, fc.uint8Array({ maxLength: 3 })), {
        maxLength: 12,
        selector: ([text, bytes]) => `${text}\u0000${Buffer.from(bytes).toString('hex')}`,
      }),
      fc.uniqueArray(
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((r) => r + 0),
        { maxLength: 12 },
      ),
      fc.integer({ min: 1, max: 4 }),
      async (pairs, reals, limit) => {
        await using window = await openWindow();
        await act(window, (ctx) => {
          for (const [text, bytes] of pairs)
            ctx.sql.run('INSERT INTO pairs (left_key, right_key) VALUES (?, ?)', text, new Uint8Array(bytes));
          for (const real of reals) ctx.sql.run('INSERT OR IGNORE INTO reals (r) VALUES (?)', real);
        });
        expect(await allRows(window, { table: 'pairs', limit })).toHaveLength(pairs.length);
        const shown = (await allRows(window, { table: 'reals', limit })).map(([r]) => Number(r));
        expect(shown).toEqual([...new Set(reals)].sort((a, b) => a - b));
      },
    ),
    { numRuns: 15 },
  );
}, 30_000);

test('values are shown as what they are, and what is shortened says so', async () => {
  await using window = await openWindow();
  await act(window, (ctx) => {
    ctx.sql.run(
      'INSERT INTO loose (a, b) VALUES (?, ?), (?, ?), (9223372036854775807, 1e999)',
      'x'.repeat(5_000),
      new Uint8Array(300).fill(7),
      null,
      1.5,
    );
  });
  const { rows, truncated } = await page(window, { table: 'loose' });
  expect(truncated).toBe(true);
  expect(rows[0]).toEqual([
    { $text: 'x'.repeat(4_096), length: 5_000 },
    { $bytes: Buffer.alloc(256, 7).toString('base64url'), length: 300 },
  ]);
  expect(rows[1]).toEqual([null, 1.5]);
  expect(rows[2]?.[0]).toEqual({ $integer: '9223372036854775807' });
  expect((await page(window, { table: 'plain' })).truncated).toBe(false);
});

test('of a very wide table as many columns are shown as every engine answers, and it says so', async () => {
  await using window = await openWindow();
  await act(window, (ctx) => ctx.sql.run(`INSERT INTO wide (c0, c79, c119) VALUES (1, 2, 3)`));
  const { rows, columns, truncated } = await page(window, { table: 'wide' });
  expect([columns.length, rows[0]?.length, rows[0]?.[79], truncated]).toEqual([80, 80, 2, true]);
  expect((await window.scope.tables({})).find(({ name }) => name === 'wide')?.columns).toHaveLength(120);
});

test('a column named rowid hides nothing, and odd names are only names', async () => {
  await using window = await openWindow();
  await act(window, (ctx) => {
    ctx.sql.run(`INSERT INTO shadowed VALUES ('same', 1), ('same', 2), ('same', 3)`);
    ctx.sql.run(`INSERT INTO "${ODD.replaceAll('"', '""')}" VALUES ('here')`);
  });
  expect((await allRows(window, { table: 'shadowed', limit: 1 })).map(([, value]) => value)).toEqual([
    1, 2, 3,
  ]);
  const filters: TableFilter[] = [{ column: 'col"umn', op: '=', value: 'here' }];
  expect((await page(window, { table: ODD, filters })).rows).toEqual([['here']]);
});

test('rows are narrowed by any number of conditions', async () => {
  await using window = await openWindow();
  await act(window, (ctx) =>
    ctx.sql.run(
      `INSERT INTO plain (n, label, weight) VALUES (1, 'ax', 1), (2, 'bx', 20), (3, NULL, 30), (4, 'ay', 40)`,
    ),
  );
  const ns = async (...filters: TableFilter[]) =>
    (await page(window, { table: 'plain', filters })).rows.map(([n]) => n);
  expect(await ns({ column: 'n', op: '>=', value: 2 }, { column: 'n', op: '<', value: 4 })).toEqual([2, 3]);
  expect(await ns({ column: 'label', op: 'like', value: 'a%' })).toEqual([1, 4]);
  expect(await ns({ column: 'label', op: 'is null' })).toEqual([3]);
  expect(await ns({ column: 'label', op: 'is not null' }, { column: 'weight', op: '>', value: 10 })).toEqual([
    2, 4,
  ]);
  expect((await allRows(window, { table: 'heavy', limit: 2 })).map(([n]) => n)).toEqual([2, 3, 4]);
});

const tableCursor = (place: string) => `table~${Buffer.from(place).toString('base64url')}`;

test.each<[string, Query, object]>([
  ['a table that is none', { table: 'lost' }, { code: 'not_found', reason: 'unknown_table' }],
  ['SQLite’s own table', { table: 'sqlite_master' }, { code: 'not_found' }],
  [
    'a column that is none',
    { table: 'plain', filters: [{ column: 'lost', op: '=', value: 1 }] },
    { reason: 'unknown_column' },
  ],
  ['a missing value', { table: 'plain', filters: [{ column: 'n', op: '=' }] }, { reason: 'filter_value' }],
  [
    'a value too many',
    { table: 'plain', filters: [{ column: 'n', op: 'is null', value: 1 }] },
    { reason: 'filter_value' },
  ],
  [
    'a pattern that is too long',
    { table: 'plain', filters: [{ column: 'label', op: 'like', value: 'x'.repeat(51) }] },
    { reason: 'filter_value' },
  ],
  ['a cursor that is none', { table: 'plain', cursor: 'bm9uZQ' }, { code: 'validation_failed' }],
  [
    'another table’s cursor',
    { table: 'pairs', cursor: tableCursor('["plain",[["integer","1"],["integer","1"]]]') },
    { reason: 'cursor_malformed' },
  ],
  [
    'a cursor of another key',
    { table: 'pairs', cursor: tableCursor('["pairs",[["integer","1"]]]') },
    { reason: 'cursor_malformed' },
  ],
  [
    'another list’s cursor',
    { table: 'plain', cursor: tableCursor('["plain",[["integer","1"]]]').replace('table', 'history') },
    { code: 'validation_failed', errors: [{ path: 'cursor' }] },
  ],
  ['a page too large', { table: 'plain', limit: 201 }, { code: 'validation_failed' }],
])('%s is refused', async (_name, query, refusal) => {
  await using window = await openWindow();
  await expect(page(window, query)).rejects.toMatchObject(refusal);
});
