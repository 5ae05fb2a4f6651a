/** The authorizer alone, without the check of the text that runs before it: each must hold by itself. */
import { constants, DatabaseSync } from 'node:sqlite';
import { checkStatement, StatementRefused } from '@freehold/store';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../testkit/src/index.ts';
import { isRefused } from './guard.ts';

const WRITE = { protectedPrefix: '_spine_', readOnly: false };
const READ = { protectedPrefix: '_spine_', readOnly: true };

type Words = fc.Arbitrary<string>;

let db: DatabaseSync;
/** The actions that SQLite was about to take and the guard refused. */
let refusals: number[];

beforeEach(() => {
  db = new DatabaseSync(':memory:');
  db.exec(`CREATE TABLE _spine_events (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT);
    CREATE TABLE mine (id INTEGER PRIMARY KEY, note TEXT UNIQUE);
    CREATE TRIGGER forge AFTER INSERT ON mine WHEN new.note = 'forge' BEGIN DELETE FROM _spine_events; END`);
  refusals = [];
});

function guardWith(guard: typeof WRITE): void {
  db.setAuthorizer((action, first, second) => {
    if (!isRefused(guard, action, first, second)) return constants.SQLITE_OK;
    refusals.push(action);
    return constants.SQLITE_DENY;
  });
}

test.each([
  "INSERT INTO _spine_events (note) VALUES ('x')",
  "REPLACE INTO '_SPINE_events' (note) VALUES ('x')",
  "WITH x AS (SELECT 1) UPDATE main.[_spine_events] SET note = 'x'",
  'DELETE FROM _spine_events',
  'DROP TABLE _spine_events',
  'ALTER TABLE _spine_events RENAME TO mine2',
  'CREATE INDEX fast ON _spine_events (note)',
  'CREATE TRIGGER t AFTER INSERT ON _spine_events BEGIN SELECT 1; END',
  'CREATE TABLE _spine_more (id)',
  'CREATE VIEW _spine_more AS SELECT 1',
  'CREATE TEMP TABLE mine2 (id)',
  "INSERT INTO mine (note) VALUES ('forge')",
  'PRAGMA user_version',
  "SELECT * FROM pragma_table_info('mine')",
  'BEGIN',
  'SAVEPOINT s',
  "ATTACH ':memory:' AS other",
  'CREATE VIRTUAL TABLE words USING fts5 (word)',
  "SELECT load_extension('x')",
])('the authorizer refuses %s', (sql) => {
  guardWith(WRITE);
  expect(() => db.exec(sql)).toThrow();
  expect(refusals.length).toBeGreaterThan(0);
});

test.each([
  "INSERT INTO mine (note) VALUES ('x')",
  'DELETE FROM mine',
  'CREATE TABLE mine2 (id)',
  'DROP TABLE mine',
])('the authorizer of a read-only view refuses %s', (sql) => {
  guardWith(READ);
  expect(() => db.exec(sql)).toThrow();
  expect(refusals.length).toBeGreaterThan(0);
});

describe('the check of the text and SQLite', () => {
  const OPENINGS = '|EXPLAIN|WITH x AS (SELECT 1)|WITH x AS (SELECT * FROM _spine_events)|/* mine */|;'.split(
    '|',
  );
  const VERBS = [
    'DELETE FROM|INSERT INTO|INSERT OR REPLACE INTO|REPLACE INTO|UPDATE|UPDATE OR IGNORE|SELECT * FROM|DROP TABLE',
    'CREATE TABLE|CREATE TABLE IF NOT EXISTS|CREATE VIEW|ALTER TABLE|CREATE TRIGGER t AFTER INSERT ON',
  ].flatMap((line) => line.split('|'));
  const TABLES = [
    'mine|"mine"|\'mine\'|main.mine|x|fresh|_spine_events|"_spine_events"|[_spine_events]|`_spine_events`',
    "'_spine_events'|_SPINE_EVENTS|main._spine_events|main . [_Spine_events]|_spine_fresh|temp.fresh|mi/**/ne",
  ].flatMap((line) => line.split('|'));
  const ENDINGS = [
    "|SET note = 'x'|(note) VALUES ('x')|DEFAULT VALUES|WHERE id = 1|AS SELECT * FROM _spine_events|RENAME TO fresh",
    'SELECT 1, 2 FROM _spine_events|BEGIN DELETE FROM mine; END|BEGIN DELETE FROM _spine_events; END|RENAME TO _spine_x',
    '(id REFERENCES mine (id))|RETURNING id|; DELETE FROM _spine_events|; COMMIT|(id)|',
  ].flatMap((line) => line.split('|'));
  /** Noise for any place: unclosed quotes and comments, marks, and words that change the meaning. */
  const NOISE = [
    "||||||||;|--|/*|*/|\n|'|\"|[|]|`|$a(|:b|?|\uFEFF|\0|1|x'00'|->>|(|)|,|.|END|BEGIN|COMMIT|REPLACE|UNION",
    "CASE WHEN 1 THEN 2 END|''|PRAGMA user_version|OR ROLLBACK|SELECT|DELETE|\\|\f|\v|\u00a0|#1|@c|AS",
  ].flatMap((line) => line.split('|'));
  const WRITES_TO_FIRST = new Set<number>([
    constants.SQLITE_INSERT,
    constants.SQLITE_UPDATE,
    constants.SQLITE_DELETE,
    constants.SQLITE_DROP_TABLE,
    constants.SQLITE_CREATE_TABLE,
  ]);
  const NEVER = new Set<number>([
    constants.SQLITE_TRANSACTION,
    constants.SQLITE_SAVEPOINT,
    constants.SQLITE_PRAGMA,
    constants.SQLITE_ATTACH,
    constants.SQLITE_DETACH,
  ]);

  test('agree: no text that the check lets through touches what it must not', () => {
    // A trigger like this one could not have been made through the check.
    db.exec('DROP TRIGGER forge');
    let watching = false;
    const touched: string[] = [];
    db.setAuthorizer((action, first, second) => {
      const protectedTable = [first, second].some((name) => name?.toLowerCase().startsWith('_spine_'));
      if (watching && (NEVER.has(action) || (WRITES_TO_FIRST.has(action) && protectedTable)))
        touched.push(`${action} ${first} ${second}`);
      return constants.SQLITE_OK;
    });
    let ran = 0;
    const [opening, verb, table, ending, anything] = [OPENINGS, VERBS, TABLES, ENDINGS, NOISE].map((words) =>
      fc.constantFrom(...words),
    ) as [Words, Words, Words, Words, Words];
    const nothing = fc.constant('');
    const noise = fc.oneof({ weight: 8, arbitrary: nothing }, { weight: 1, arbitrary: anything });
    const more = fc.oneof(nothing, ending);
    const text = fc.tuple(opening, noise, verb, noise, table, noise, ending, noise, more);
    fc.assert(
      fc.property(text, fc.constantFrom(' ', '/**/', '\n'), (pieces, separator) => {
        const sql = pieces.join(separator);
        try {
          checkStatement(sql, WRITE);
        } catch (error) {
          expect(error).toBeInstanceOf(StatementRefused);
          return;
        }
        db.exec('SAVEPOINT before');
        touched.length = 0;
        watching = true;
        try {
          db.exec(sql);
          ran += 1;
        } catch {
          // SQLite has its own reasons to refuse nonsense.
        }
        watching = false;
        db.exec('ROLLBACK TO before; RELEASE before');
        expect(touched, sql).toEqual([]);
      }),
      { numRuns: runs(20_000, 10_000) },
    );
    expect(ran).toBeGreaterThan(100);
  });
});
