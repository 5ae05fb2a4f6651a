/** The contract of a query into a scope: it reads, it cannot run away, and it says what it left out. */
import { expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { type Library, librarian, openLibrary, TRACES, withCapability } from './world.ts';

const ask = ({ host, ref }: Library, sql: string, params: (string | number | null)[] = []) =>
  host.introspectScopeQuery({ ...ref, sql, params });

/** Adds so many rows to `loose`. */
const grow = ({ run }: Library, rows: number, value = `'x'`) =>
  run(librarian, 'test/sql', {
    how: 'run',
    sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) INSERT INTO loose (value) SELECT ${value} FROM n`,
  });

export function inspectContract(setup: ScopeHostSetup): void {
  withCapability(
    'a query',
    { capability: setup.capabilities.inspect, on: setup.name },
    () => {
      test('answers columns and rows, with its parameters bound', async () => {
        const opened = await openLibrary(setup);
        const book = await opened.add('Emma');
        const sql = 'SELECT id, title AS "the title", ? AS given, NULL AS none FROM books WHERE title = ?';
        expect(await ask(opened, sql, [`it's`, 'Emma'])).toEqual({
          columns: ['id', 'the title', 'given', 'none'],
          rows: [[book, 'Emma', `it's`, null]],
          truncated: null,
          limits: { rows: 1_000, bytes: 4_194_304, timeMs: 5_000 },
          // At most three decimals.
          durationMs: expect.toSatisfy(
            (ms: unknown) => typeof ms === 'number' && /^\d+(?:\.\d{1,3})?$/.test(String(ms)),
          ),
        });
        expect((await ask(opened, 'SELECT type FROM _spine_events')).rows).toEqual([['book.added']]);
        expect((await ask(opened, 'WITH t (a) AS (VALUES (1), (2)) SELECT sum(a) FROM t')).rows).toEqual([
          [3],
        ]);
        expect((await ask(opened, 'SELECT 1 WHERE 0')).rows).toEqual([]);
      });

      test('shows values as what they are', async () => {
        const opened = await openLibrary(setup);
        const sql = `SELECT 9223372036854775807, -9007199254740993, x'00ff', 0.5, '', 9007199254740991, 1e300`;
        expect((await ask(opened, sql)).rows).toEqual([
          [
            { $integer: '9223372036854775807' },
            { $integer: '-9007199254740993' },
            { $bytes: 'AP8', length: 2 },
            0.5,
            '',
            9_007_199_254_740_991,
            1e300,
          ],
        ]);
      });

      test('of two columns of one name keeps both', async () => {
        const { columns, rows } = await ask(await openLibrary(setup), 'SELECT 1 AS a, 2 AS a');
        expect({ columns, rows }).toEqual({ columns: ['a', 'a'], rows: [[1, 2]] });
      });

      test('leaves closed what is sealed', async () => {
        const opened = await openLibrary(setup);
        await opened.run(librarian, 'reader/note', { reader: 'rdr_ada', text: 'Ada lives here' });
        const { rows } = await ask(
          opened,
          'SELECT payload FROM _spine_events UNION ALL SELECT text FROM notes',
        );
        expect(rows).toHaveLength(2);
        expect(JSON.stringify(rows)).not.toContain('Ada lives');
      });

      test('of many rows answers the first thousand, and says so', async () => {
        const opened = await openLibrary(setup);
        await grow(opened, 1_001);
        const all = await ask(opened, 'SELECT n FROM loose ORDER BY n');
        expect([all.rows.length, all.rows.at(-1), all.truncated]).toEqual([1_000, [1_000], 'rows']);
        const exactly = await ask(opened, 'SELECT n FROM loose WHERE n <= 1000');
        expect([exactly.rows.length, exactly.truncated]).toEqual([1_000, null]);
      });

      test('of many bytes answers what fits, and says so', async () => {
        const opened = await openLibrary(setup);
        await grow(opened, 12, 'hex(zeroblob(250000))');
        const { rows, truncated } = await ask(opened, 'SELECT value FROM loose');
        expect(truncated).toBe('bytes');
        expect(rows.length).toBeLessThan(12);
      });

      test.each([
        `INSERT INTO books VALUES ('a', 'b', 'c')`,
        'DELETE FROM books',
        'DELETE FROM _spine_events RETURNING id',
        `UPDATE _spine_grants SET permission = 'book.add'`,
        `INSERT INTO _spine_assignments VALUES ('prn_x', 'librarian', 'platform', 0)`,
        'WITH x AS (DELETE FROM books RETURNING id) SELECT * FROM x',
        'EXPLAIN DELETE FROM books; DELETE FROM books',
        `SELECT * FROM pragma_table_info('books')`,
        `VACUUM INTO '/tmp/stolen'`,
        'UPDATE books SET title = 1',
        'WITH x AS (SELECT 1) DELETE FROM books',
        'CREATE TABLE mine (id)',
        'DROP TABLE books',
        'PRAGMA user_version = 7',
        `ATTACH DATABASE 'x' AS y`,
        'SELECT 1; DELETE FROM books',
        'COMMIT',
        'VACUUM',
        '',
        '-- nothing',
        `SELECT load_extension('x')`,
      ])('that does more than read is refused: %j', async (sql) => {
        const opened = await openLibrary(setup);
        await opened.add();
        const before = await opened.count(...TRACES);
        await expect(ask(opened, sql)).rejects.toMatchObject({
          code: 'validation_failed',
          reason: 'statement_refused',
        });
        expect(await opened.count(...TRACES)).toEqual(before);
      });

      test.each<[string, (string | number)[]]>([
        ['SELEC 1', []],
        ['SELECT FROM', []],
        ['SELECT * FROM nowhere', []],
        ['SELECT lost FROM books', []],
        ['SELECT nonsense(1)', []],
        ['SELECT ?', []],
        ['SELECT 1', [1]],
        [`SELECT abs(-9223372036854775807 - 1)`, []],
      ])('that cannot be run is said to be so: %j with %j', async (sql, params) => {
        await expect(ask(await openLibrary(setup), sql, params)).rejects.toMatchObject({
          code: 'validation_failed',
          reason: expect.stringMatching(/^statement_(?:invalid|refused)$/),
        });
      });

      test('that would never end is ended, or not begun', { timeout: 30_000 }, async () => {
        const opened = await openLibrary(setup);
        await grow(opened, 2_000);
        for (const sql of [
          'SELECT count(*) FROM loose a, loose b, loose c, loose d',
          'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n',
        ])
          await expect(ask(opened, sql), sql).rejects.toMatchObject({
            code: 'validation_failed',
            reason: expect.stringMatching(/^(?:time_limit|statement_refused)$/),
          });
        await opened.add('the scope works on');
      });
    },
    () => {
      test('is answered with unsupported', async () => {
        await expect(ask(await openLibrary(setup), 'SELECT 1')).rejects.toMatchObject({
          code: 'unsupported',
          reason: 'engine_cannot',
        });
      });
    },
  );
}
