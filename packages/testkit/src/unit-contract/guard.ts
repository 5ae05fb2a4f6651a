/** The contract of a guarded view: the platform's tables are read and never written, in every form of SQL. */
import { describe, expect, test } from 'vitest';
import type { NewKey, UnitContractSetup } from './index.ts';
import { guardedUnit } from './units.ts';

/** Refused however it is run. */
const REFUSED = [
  // In plain form.
  "INSERT INTO _spine_events (note) VALUES ('forged')",
  'INSERT INTO _spine_events (note) SELECT note FROM mine',
  'INSERT INTO _spine_events DEFAULT VALUES',
  "REPLACE INTO _spine_events (id, note) VALUES (1, 'forged')",
  "INSERT OR REPLACE INTO _spine_events (id, note) VALUES (1, 'forged')",
  "INSERT INTO _spine_events (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET note = 'forged'",
  "UPDATE _spine_events SET note = 'forged'",
  "UPDATE OR IGNORE _spine_events SET note = 'forged'",
  'DELETE FROM _spine_events',
  'DELETE FROM _spine_events RETURNING id',
  'DELETE FROM _spine_migrations',
  'DROP TABLE _spine_events',
  'DROP TABLE IF EXISTS _spine_events',
  'ALTER TABLE _spine_events RENAME TO mine2',
  'ALTER TABLE _spine_events ADD COLUMN more TEXT',
  'ALTER TABLE _spine_events DROP COLUMN note',
  'CREATE INDEX fast ON _spine_events (note)',
  'CREATE TRIGGER forge AFTER INSERT ON _spine_events BEGIN SELECT 1; END',
  // With other names, letter case, quotes and comments.
  'DELETE FROM _SPINE_Events',
  'DELETE FROM "_spine_events"',
  'DELETE FROM [_spine_events]',
  'DELETE FROM `_spine_events`',
  "DELETE FROM '_spine_events'",
  'DELETE FROM main._spine_events',
  'DELETE FROM main . "_spine_events"',
  'DELETE FROM "main"._spine_events',
  '/* mine */ DELETE -- mine\n FROM /**/ _spine_events',
  'DELETE\tFROM\f_spine_events',
  'DELETE FROM _spine_mixed',
  "UPDATE main.[_Spine_Events] AS mine SET note = 'forged'",
  // With other statements around it.
  "WITH mine AS (SELECT 1) INSERT INTO _spine_events (note) SELECT 'forged' FROM mine",
  "WITH mine (a) AS (VALUES (1)) UPDATE _spine_events SET note = 'forged'",
  'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) DELETE FROM _spine_events',
  'WITH "insert" AS (SELECT 1) DELETE FROM _spine_events',
  // Through something that runs later.
  "CREATE TRIGGER forge AFTER INSERT ON mine BEGIN INSERT INTO _spine_events (note) VALUES ('forged'); END",
  'CREATE TRIGGER forge AFTER DELETE ON mine BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM "_spine_events"; END',
  'CREATE TABLE anchor (id INTEGER REFERENCES _spine_events (id))',
  'CREATE TABLE anchor (id INTEGER, FOREIGN KEY (id) REFERENCES "_spine_events" (id))',
  'ALTER TABLE mine ADD COLUMN event INTEGER REFERENCES _spine_events (id)',
  // Taking a name that the platform may need.
  'CREATE TABLE _spine_later (id)',
  'CREATE TABLE IF NOT EXISTS main._spine_later (id)',
  'CREATE TABLE _spine_later AS SELECT 1',
  'CREATE VIEW _spine_later AS SELECT 1',
  'CREATE INDEX _spine_later ON mine (note)',
  'CREATE TRIGGER _spine_later AFTER INSERT ON mine BEGIN SELECT 1; END',
  'ALTER TABLE mine RENAME TO _spine_later',
  // The counters and the schema that SQLite keeps.
  "UPDATE sqlite_sequence SET seq = 0 WHERE name = '_spine_events'",
  'DELETE FROM sqlite_sequence',
  "UPDATE sqlite_master SET sql = 'x'",
  // Outside the transaction, the file or the database.
  'BEGIN',
  'COMMIT',
  'END',
  'ROLLBACK',
  'SAVEPOINT mine',
  'RELEASE mine',
  'ROLLBACK TO mine',
  'VACUUM',
  "VACUUM INTO 'elsewhere.sqlite'",
  "ATTACH 'elsewhere.sqlite' AS elsewhere",
  'DETACH main',
  'PRAGMA user_version',
  'PRAGMA writable_schema = ON',
  'PRAGMA foreign_keys = OFF',
  "SELECT name FROM pragma_table_info('mine')",
  'SELECT * FROM "pragma_database_list"',
  "SELECT load_extension('x')",
  `SELECT "load_extension"('x')`,
  'REINDEX',
  'ANALYZE',
  'CREATE TEMP TABLE mine2 (id)',
  'CREATE TEMPORARY TRIGGER t AFTER INSERT ON mine BEGIN SELECT 1; END',
  'CREATE VIRTUAL TABLE words USING fts5 (word)',
  'EXPLAIN DELETE FROM _spine_events',
  'EXPLAIN CREATE TABLE mine2 (id)',
  // Statements that would end or fail the transaction of the whole group.
  "INSERT OR ROLLBACK INTO mine (id, note) VALUES (1, 'x')",
  "UPDATE OR ROLLBACK mine SET note = 'x'",
  'CREATE TABLE mine2 (id INTEGER UNIQUE ON CONFLICT ROLLBACK)',
  "CREATE TRIGGER stop AFTER INSERT ON mine BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
  'CREATE TABLE mine2 (id INTEGER REFERENCES mine (id) DEFERRABLE INITIALLY DEFERRED)',
  // Text that the check and SQLite might read differently.
  "SELECT $a('), 1; DELETE FROM _spine_events --')",
  'SELECT :name',
  'SELECT @name',
  'SELECT 1\0; DELETE FROM _spine_events',
  '\uFEFFDELETE FROM _spine_events',
  "SELECT 'open",
];

/** Several statements, which only scripts may have. */
const REFUSED_AS_ONE = [
  'SELECT 1; DELETE FROM _spine_events',
  'SELECT 1; SELECT 2',
  "INSERT INTO mine (note) VALUES ('a'); INSERT INTO mine (note) VALUES ('b')",
  ';',
  '',
];

/** Scripts with one statement that must be refused; nothing of the script may stay. */
const REFUSED_SCRIPTS = [
  "INSERT INTO mine (note) VALUES ('a'); DELETE FROM _spine_events",
  ';; DELETE FROM _spine_events;',
  `CREATE TRIGGER t AFTER INSERT ON mine BEGIN SELECT CASE WHEN 1 THEN 2 END; END; DELETE FROM _spine_events`,
  'CREATE TABLE mine2 (id); COMMIT; CREATE TABLE mine3 (id)',
];

/** Statements that must work, run in this order in one unit. */
const ALLOWED = [
  "INSERT INTO mine (note) VALUES ('_spine_events')",
  'INSERT INTO mine (note) SELECT note FROM _spine_events',
  "INSERT INTO mine (note) VALUES ('first') ON CONFLICT (note) DO UPDATE SET note = note || '!'",
  "INSERT OR IGNORE INTO mine (note) VALUES ('first!')",
  "REPLACE INTO mine (id, note) VALUES (9, 'nine')",
  'UPDATE mine SET note = (SELECT max(note) FROM _spine_events) WHERE id = 9',
  'UPDATE mine SET note = e.note || mine.id FROM _spine_events AS e WHERE e.id = mine.id',
  'DELETE FROM mine WHERE note IN (SELECT note FROM _spine_events)',
  'WITH e AS (SELECT note FROM _spine_events) INSERT INTO mine (note) SELECT note FROM e',
  'DELETE FROM "mine" WHERE id > 100 RETURNING id',
  'CREATE TABLE IF NOT EXISTS copies AS SELECT id, note FROM _spine_events',
  'CREATE VIEW seen AS SELECT note FROM _spine_events',
  'CREATE UNIQUE INDEX copies_id ON copies (id)',
  'CREATE INDEX IF NOT EXISTS main.copies_note ON copies (note)',
  "CREATE TRIGGER copied AFTER UPDATE ON copies BEGIN INSERT INTO mine (note) VALUES (new.note); DELETE FROM mine WHERE note = 'x'; END",
  "UPDATE copies SET note = 'copied'",
  'ALTER TABLE copies ADD COLUMN more TEXT',
  'ALTER TABLE copies RENAME COLUMN more TO less',
  'ALTER TABLE copies RENAME TO copied_events',
  'ALTER TABLE copied_events DROP COLUMN less',
  'CREATE TABLE strict_copies (id INTEGER PRIMARY KEY) STRICT',
  'ALTER TABLE strict_copies ADD COLUMN more TEXT',
  'DROP TABLE strict_copies',
  'DROP TRIGGER copied',
  'DROP VIEW seen',
  'DROP INDEX copies_note',
  'DROP TABLE copied_events',
  'INSERT INTO child (mine) SELECT id FROM mine LIMIT 1',
];

const READS = [
  'SELECT note FROM _spine_events',
  'SELECT "note" FROM [_spine_events] AS `e` -- read only;',
  'VALUES (1), (2)',
  "WITH e AS (SELECT note FROM _spine_events) SELECT replace(note, 'f', 'F') FROM e",
  'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n',
  'SELECT e.note, count(*) OVER (PARTITION BY e.id) FROM _spine_events e LEFT JOIN mine m ON m.id = e.id',
  `SELECT json_extract('{"a":1}', '$.a'), '{"a":1}' ->> '$.a'`,
  'EXPLAIN QUERY PLAN SELECT * FROM mine',
  'SELECT 1;',
  'SELECT "update" FROM (SELECT 1 AS "update")',
];

const WRITES = [
  "INSERT INTO mine (note) VALUES ('x')",
  "UPDATE mine SET note = 'x'",
  'DELETE FROM mine',
  'DELETE FROM mine RETURNING note',
  'REPLACE INTO mine (id) VALUES (1)',
  'WITH x AS (SELECT 1) DELETE FROM mine',
  'WITH x AS (SELECT 1) REPLACE INTO mine (id) SELECT 1 FROM x',
  'CREATE TABLE mine2 (id)',
  'DROP TABLE mine',
  'ALTER TABLE mine RENAME TO mine2',
  'EXPLAIN DELETE FROM mine',
  'PRAGMA user_version',
];

const refused = { code: 'forbidden', reason: 'statement_refused' };

export function guardContract({ open }: UnitContractSetup, newKey: NewKey): void {
  const openGuarded = async () => {
    const { engine } = await open();
    const unit = engine.unit(guardedUnit, newKey(), { create: true });
    const execute = (sql: string, how: 'run' | 'get' | 'all' | 'exec', readOnly = false) =>
      unit.execute({ sql, how, readOnly, params: [] });
    return { unit, execute, before: await unit.spine() };
  };

  describe('a guarded view', () => {
    test.each(REFUSED)('refuses %j', async (sql) => {
      const { unit, execute, before } = await openGuarded();
      for (const how of ['run', 'get', 'all', 'exec'] as const)
        await expect(execute(sql, how)).rejects.toMatchObject(refused);
      expect(await unit.spine()).toEqual(before);
    });

    test.each(REFUSED_AS_ONE)('refuses %j as one statement', async (sql) => {
      const { unit, execute, before } = await openGuarded();
      for (const how of ['run', 'get', 'all'] as const)
        await expect(execute(sql, how)).rejects.toMatchObject(refused);
      expect(await unit.spine()).toEqual(before);
      expect(await execute('SELECT note FROM mine', 'all')).toEqual([]);
    });

    test.each(REFUSED_SCRIPTS)('refuses the whole script %j', async (script) => {
      const { unit, execute, before } = await openGuarded();
      await expect(execute(script, 'exec')).rejects.toMatchObject(refused);
      expect(await unit.spine()).toEqual(before);
      expect(await execute('SELECT note FROM mine', 'all')).toEqual([]);
      expect(await execute("SELECT name FROM sqlite_master WHERE name LIKE 'mine2'", 'all')).toEqual([]);
    });

    test('lets its user work with tables of its own, and read the others', async () => {
      const { unit, execute, before } = await openGuarded();
      for (const sql of ALLOWED) await expect(execute(sql, 'run'), sql).resolves.toBeNull();
      expect(await unit.spine()).toEqual(before);
    });

    test('runs a script with a trigger and comments in it', async () => {
      const { execute } = await openGuarded();
      await execute("INSERT INTO mine (note) VALUES ('twice')", 'run');
      expect(await execute('SELECT note FROM mine ORDER BY id', 'all')).toEqual([
        { note: 'once' },
        { note: 'again' },
      ]);
    });

    test.each(READS)('that is read-only reads: %j', async (sql) => {
      const { execute } = await openGuarded();
      expect(Array.isArray(await execute(sql, 'all', true))).toBe(true);
      expect(Array.isArray(await execute(sql, 'all', false))).toBe(true);
    });

    test.each([...WRITES, ...REFUSED])('that is read-only refuses %j', async (sql) => {
      const { unit, execute, before } = await openGuarded();
      for (const how of ['run', 'get', 'all', 'exec'] as const)
        await expect(execute(sql, how, true)).rejects.toMatchObject(refused);
      expect(await unit.spine()).toEqual(before);
    });

    test('guards its own statements only, in whatever savepoints they are', async () => {
      const { unit } = await openGuarded();
      expect(await unit.refuseAndGoOn()).toEqual([{ note: 'own' }]);
    });
  });
}
