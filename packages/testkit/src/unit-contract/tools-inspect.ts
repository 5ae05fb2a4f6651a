/** The contract of inspection: one statement that cannot write, cannot reach outside, and cannot run for ever. */
import { describe, expect, test } from 'vitest';
import type { InspectRequest } from '../../../store/src/tools.ts';
import type { OpenUnit, ToolsContractSetup } from './tools.ts';
import { toolsUnit } from './tools-units.ts';

const LIMITS = { rowsMax: 100, bytesMax: 100_000, timeMs: 5_000 };
const request = (sql: string, more: Partial<InspectRequest> = {}): InspectRequest => ({
  sql,
  params: [],
  ...LIMITS,
  ...more,
});
const refused = { code: 'validation_failed', reason: 'statement_refused' };
const invalid = { code: 'validation_failed', reason: 'statement_invalid' };

export function inspectContract({ stopsStatements }: ToolsContractSetup, openUnit: OpenUnit): void {
  describe('a statement from outside', () => {
    test('reads every table with its values, the platform’s own too', async () => {
      const { tools, unit } = await openUnit();
      const result = await tools.inspect(
        request('SELECT id, name, price, data FROM item WHERE id < ? OR name = ?2 ORDER BY id', {
          params: [1, 'largest'],
        }),
      );
      expect(result).toMatchObject({
        columns: ['id', 'name', 'price', 'data'],
        rows: [
          [-7, null, 0.1, new Uint8Array(3)],
          [9223372036854775807n, 'largest', Number.POSITIVE_INFINITY, null],
        ],
        truncated: null,
      });
      expect(result.durationMs).toBeGreaterThanOrEqual(0);
      const asked = unit.run({ sql: "INSERT INTO _spine_events (note) VALUES ('asked before')" });
      const events = tools.inspect(request('SELECT note FROM _spine_events ORDER BY id DESC'));
      await asked;
      expect((await events).rows[0]).toEqual(['asked before']);
      const names = await tools.inspect(request("SELECT count(*) FROM sqlite_master WHERE type = 'table'"));
      expect(names.rows[0]?.[0]).toBeGreaterThan(5);
    });

    test('gives names to columns that share one, and no rows when there are none', async () => {
      const { tools } = await openUnit();
      expect((await tools.inspect(request('SELECT 1 AS a, 2 AS a'))).rows).toEqual([[1, 2]]);
      expect(await tools.inspect(request('SELECT note FROM _spine_events WHERE id = 77'))).toMatchObject({
        columns: ['note'],
        rows: [],
        truncated: null,
      });
    });

    test('is cut at the number of rows and of bytes, and says so', async () => {
      const { tools } = await openUnit();
      const many =
        'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT x FROM c';
      const rows = await tools.inspect(request(many));
      expect(rows).toMatchObject({ truncated: 'rows', rows: expect.objectContaining({ length: 100 }) });
      expect((await tools.inspect(request(many, { rowsMax: 5000 }))).truncated).toBeNull();
      const wide = await tools.inspect(
        request(`SELECT hex(zeroblob(400)) FROM (${many})`, { rowsMax: 1_000 }),
      );
      expect(wide.truncated).toBe('bytes');
      expect(wide.rows.length).toBeGreaterThan(50);
      expect(wide.rows.length).toBeLessThanOrEqual(125);
      expect(await tools.inspect(request('SELECT zeroblob(200000)'))).toMatchObject({
        truncated: 'bytes',
        rows: [],
      });
    });

    test.each([
      "INSERT INTO item (name) VALUES ('x')",
      "UPDATE item SET name = 'x'",
      'DELETE FROM item',
      'REPLACE INTO item (id) VALUES (1)',
      "INSERT INTO _spine_events (note) VALUES ('forged')",
      "UPDATE sqlite_master SET sql = ''",
      'DELETE FROM sqlite_sequence',
      'CREATE TABLE more (x)',
      'CREATE TEMP TABLE more (x)',
      'DROP TABLE item',
      'ALTER TABLE item RENAME TO things',
      "WITH x AS (SELECT 1) INSERT INTO item (name) SELECT 'x'",
      'WITH x AS (SELECT 1) DELETE FROM item',
      "WITH x AS (INSERT INTO item (name) VALUES ('x') RETURNING id) SELECT * FROM x",
      "INSERT INTO item (name) VALUES ('x') RETURNING id",
      'SELECT * FROM (DELETE FROM item RETURNING id)',
      "ATTACH ':memory:' AS other",
      "ATTACH '/etc/passwd' AS other",
      'DETACH main',
      'PRAGMA user_version',
      'PRAGMA query_only = OFF',
      'PRAGMA writable_schema = ON',
      "SELECT * FROM pragma_table_info('item')",
      'SELECT * FROM pragma_database_list',
      'VACUUM',
      "VACUUM INTO '/tmp/stolen'",
      'BEGIN',
      'COMMIT',
      'ROLLBACK',
      'SAVEPOINT s',
      'ANALYZE',
      'REINDEX',
      "SELECT load_extension('x')",
      'EXPLAIN DELETE FROM item; DELETE FROM item',
      'SELECT 1; DELETE FROM item',
      'SELECT 1; SELECT 2',
      '',
      '-- nothing',
    ])('is refused: %s', async (sql) => {
      const { tools, unit } = await openUnit();
      const before = await unit.contents();
      await expect(tools.inspect(request(sql))).rejects.toMatchObject(refused);
      expect(await unit.contents()).toEqual(before);
    });

    test.each<readonly [sql: string, params: InspectRequest['params']]>([
      ['SELECT nothing FROM item', []],
      ['SELECT * FROM absent', []],
      ['SELEC 1', []],
      ['SELECT ?', []],
      ['SELECT 1', [1]],
      ["SELECT readfile('/etc/passwd')", []],
      ["SELECT writefile('/tmp/x', 'x')", []],
      ["SELECT edit('x')", []],
      ['SELECT abs(-9223372036854775807 - 1)', []],
    ])('that is wrong is told so: %s', async (sql, params) => {
      const { tools } = await openUnit();
      await expect(tools.inspect(request(sql, { params }))).rejects.toMatchObject({
        code: 'validation_failed',
      });
    });

    test.each([
      'SELECT length(zeroblob(1000000000))',
      "SELECT length(printf('%1000000000d', 1))",
      "SELECT length(replace(hex(zeroblob(10000000)), '0', hex(zeroblob(1000))))",
      'SELECT length(group_concat(hex(zeroblob(10000000)))) FROM (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) SELECT x FROM c)',
    ])('that asks for too much memory fails alone: %s', async (sql) => {
      const { tools, unit } = await openUnit();
      // The memory is to run out first, on a busy machine too.
      await expect(tools.inspect(request(sql, { timeMs: 30_000 }))).rejects.toMatchObject(invalid);
      expect((await tools.inspect(request('SELECT 1'))).rows).toEqual([[1]]);
      await unit.run({ sql: 'INSERT INTO loose VALUES (1, 1)' });
    });

    test.each([
      'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c',
      'WITH RECURSIVE d (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM d LIMIT 10000) SELECT count(*) FROM d a, d b, d c',
      'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0',
    ])('that never ends is stopped, and the unit goes on meanwhile: %s', async (sql) => {
      const { tools, unit } = await openUnit();
      if (stopsStatements !== true) {
        expect(stopsStatements.length).toBeGreaterThan(0);
        return;
      }
      const running = tools.inspect(request(sql, { timeMs: 200 }));
      const stopped = expect(running).rejects.toMatchObject({
        code: 'validation_failed',
        reason: 'time_limit',
      });
      for (let i = 0; i < 20; i++) await unit.run({ sql: 'INSERT INTO loose VALUES (1, 1)' });
      await stopped;
      expect((await tools.inspect(request('SELECT count(*) FROM loose'))).rows).toEqual([[23]]);
    });

    test('into a unit that was never created is refused', async () => {
      const { engine } = await openUnit();
      await expect(engine.tools(toolsUnit, 'absent').inspect(request('SELECT 1'))).rejects.toMatchObject({
        reason: 'unknown_unit',
      });
    });
  });
}
