/** Every declared form of a list is read from an index, in the order of the index (issue: flat in a million records). */
import { DatabaseSync } from 'node:sqlite';
import { encodeCursor } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { expect, test } from 'vitest';
import { animal, keeper } from '../../test/clinic.ts';
import { listRows, listStatement } from './list.ts';
import type { AnyRecords } from './records.ts';
import { HITS_MAX, type Reach } from './search.ts';
import { statementsOf, uniqueCondition } from './tables.ts';
import { endOfPrefix, searchedWords, wordsOf } from './words.ts';

function openTables(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const { table } of [keeper, animal]) for (const statement of statementsOf(table)) db.exec(statement);
  return db;
}

const plansOf = (db: DatabaseSync, sql: string, params: readonly unknown[]): string[] =>
  (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(params as never[])) as { detail: string }[]).map(
    ({ detail }) => detail,
  );

const fieldOf = ({ table }: AnyRecords, name: string) => {
  const field = table.fields.find((each) => each.name === name);
  if (!field) throw new TypeError(name);
  return field;
};

const FILTERS = [[], ['kind'], ['keeper'], ['kind', 'insured']];
const SORTS = ['name', 'fee', null];

test.each(
  FILTERS.flatMap((filters) =>
    SORTS.flatMap((sort) => [true, false].map((isDescending) => ({ filters, sort, isDescending }))),
  ),
)(
  'narrowed by $filters and sorted by $sort (descending: $isDescending), it is a search of an index',
  ({ filters, sort, isDescending }) => {
    const db = openTables();
    const name = `${isDescending ? '-' : ''}${sort ?? 'createdAt'}`;
    const field = sort === null ? null : fieldOf(animal, sort);
    const cursor = encodeCursor(JSON.stringify(field === null ? [name, 'x'] : [name, 'x', 'x']));
    for (const at of [undefined, cursor]) {
      const { text, params } = listStatement(
        animal.table,
        {
          archived: false,
          filters: new Map(filters.map((each) => [fieldOf(animal, each), 'x'])),
          reach: 'all',
          q: undefined,
          sort: { field, isDescending, name },
          limit: 20,
          cursor: at,
        },
        null,
      );
      const plan = plansOf(db, text, params);
      expect(plan, text).toHaveLength(1);
      const columns = ['archived', ...filters.map((each) => fieldOf(animal, each).column)];
      const index = `animals_by_${[...columns, field?.column ?? 'id'].join('_')}`;
      expect(plan[0]).toMatch(new RegExp(`^SEARCH t USING INDEX ${index} \\(archived=\\?`));
      for (const column of columns) expect(plan[0]).toContain(`${column}=?`);
    }
    db.close();
  },
);

test('of some ids, the ids lead to the records', () => {
  const db = openTables();
  const query = {
    archived: false,
    filters: new Map([[fieldOf(animal, 'kind'), 'cat']]),
    reach: 'all' as const,
    q: undefined,
    sort: { field: fieldOf(animal, 'name'), isDescending: false, name: 'name' },
    limit: 20,
    cursor: undefined,
  };
  const { text, params } = listStatement(animal.table, query, []);
  const plan = plansOf(db, text, params);
  expect(plan[0]).toMatch(/^SCAN h VIRTUAL TABLE/);
  expect(plan[1]).toMatch(/^SEARCH t USING PRIMARY KEY \(id=\?\)/);
  db.close();
});

test('a list of shown imports reads both parts from the index, and only the first of each are sorted', () => {
  const db = openTables();
  const query = {
    archived: false,
    isImportShown: true,
    filters: new Map([[fieldOf(animal, 'kind'), 'cat']]),
    reach: 'all' as const,
    q: undefined,
    sort: { field: fieldOf(animal, 'name'), isDescending: false, name: 'name' },
    limit: 20,
    cursor: undefined,
  };
  const { text, params } = listStatement(animal.table, query, null);
  const plan = plansOf(db, text, params);
  const index = 'SEARCH t USING INDEX animals_by_archived_kind_name (archived=? AND kind=?)';
  expect(plan.filter((step) => step === index)).toHaveLength(2);
  expect(plan.filter((step) => /^SCAN (?!t$|\(subquery)/.test(step))).toEqual([]);
  db.close();
});

test('a value that must differ, and the hidden records of an import, are found by an index', () => {
  const db = openTables();
  const unique = uniqueCondition(animal.table);
  const values = [
    `SELECT 1 FROM animals WHERE ${unique} AND name = ? AND keeper = ? AND id <> ?`,
    `SELECT id FROM animals WHERE archived = 2 LIMIT 200`,
  ].map((sql) => plansOf(db, sql, sql.includes('?') ? ['x', 'x', 'x'] : []).join());
  expect(values[0]).toMatch(/^SEARCH animals USING INDEX animals_one_name_keeper \(name=\? AND keeper=\?/);
  expect(values[1]).toMatch(/^SEARCH animals USING COVERING INDEX animals_by_archived_/);
  db.close();
});

/** A database in memory with so many animals of one name. */
function openNamesakes(count: number): { readonly db: DatabaseSync; readonly sql: SqlDatabase } {
  const db = openTables();
  db.prepare(
    `INSERT INTO animals (id, created_at, updated_at, name, kind, fee, insured)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     SELECT printf('anm_%06d', i), i, i, 'Tom Cat', 'cat', 0, 0 FROM n`,
  ).run(count);
  db.exec(`INSERT INTO animals_words SELECT 0, 'tom', id FROM animals`);
  db.exec(`INSERT INTO animals_words SELECT 0, 'cat', id FROM animals`);
  const all = (text: string, ...params: never[]) => db.prepare(text).all(...params);
  const get = (text: string, ...params: never[]) => db.prepare(text).get(...params);
  return { db, sql: { all, get } as never };
}

const SEARCH = {
  archived: false,
  filters: new Map(),
  reach: 'all' as const,
  sort: { field: null, isDescending: false, name: 'createdAt' },
  limit: 200,
  cursor: undefined,
};

test.each([
  ['one word', 'tom', HITS_MAX, false],
  ['one word', 'tom', HITS_MAX + 1, true],
  ['two words', 'tom cat', HITS_MAX, false],
  ['two words', 'tom cat', HITS_MAX + 1, true],
])('a search of %s (%s) among %i hits says whether it was cut: %s', (_title, q, count, isCut) => {
  const { db, sql } = openNamesakes(count);
  const { rows, cut } = listRows(sql, animal.table, { ...SEARCH, q });
  expect([cut, rows.length]).toEqual([isCut, 201]);
  // Of three, the others are not counted: it would say that there are more.
  const ids = ['anm_000001', 'anm_000002', 'anm_000003'];
  expect(listRows(sql, animal.table, { ...SEARCH, q, reach: ids })).toMatchObject({
    cut: false,
    rows: ids.map((id) => ({ id })),
  });
  db.close();
});

/** The plan of a scan of a table: not of ids that were given, nor of those that another statement found. */
const SCAN_OF_A_TABLE = /^SCAN (?!(?:h|k|r|json_each|CONSTANT)\b|\(subquery-\d+\))/;

test.each<readonly [string, Reach]>([
  ['all', 'all'],
  ['some', ['kpr_000001']],
])(
  'no statement of a search reads a whole table, of a caller who may read %s keepers',
  (_title, ofKeepers) => {
    const { db, sql } = openNamesakes(3);
    const plans: string[] = [];
    const watched =
      (run: 'all' | 'get') =>
      (text: string, ...params: never[]): unknown => {
        plans.push(...plansOf(db, text, params));
        return sql[run](text, ...params);
      };
    const watchedSql = { all: watched('all'), get: watched('get') };
    for (const isImportShown of [false, true])
      for (const reach of ['all' as const, ['anm_000001']])
        for (const q of ['tom', 'tom cat'])
          listRows(watchedSql as never, animal.table, {
            ...SEARCH,
            q,
            reach,
            isImportShown,
            related: new Map([[fieldOf(animal, 'keeper'), { reach: ofKeepers, isImportShown }]]),
          });
    expect(plans.filter((plan) => /^SEARCH t USING .*\(archived=\? AND keeper=\?\)/.test(plan))).not.toEqual(
      [],
    );
    expect(
      plans.filter((plan) => /^SEARCH w USING .*\((?:archived=\? AND word>|id=\?)/.test(plan)),
    ).not.toEqual([]);
    expect(plans.filter((plan) => SCAN_OF_A_TABLE.test(plan))).toEqual([]);
    db.close();
  },
);

/** Keepers, the first of whom has all of these animals. */
function openKeepers(keepers: number, animals: number) {
  const opened = openNamesakes(animals);
  const { db } = opened;
  db.prepare(
    `INSERT INTO keepers (id, created_at, updated_at, name)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     SELECT printf('kpr_%06d', i), i, i, 'Grace' FROM n`,
  ).run(keepers);
  db.exec(`INSERT INTO keepers_words SELECT 0, 'grace', id FROM keepers`);
  db.exec(`UPDATE animals SET name = id, keeper = 'kpr_000001'`);
  return opened;
}

test.each([
  ['the animals of one keeper', 'grace', 1, HITS_MAX, false],
  ['the animals of one keeper', 'grace', 1, HITS_MAX + 1, true],
  ['the keepers of a name', 'grace', HITS_MAX, 3, false],
  ['the keepers of a name', 'grace', HITS_MAX + 1, 3, true],
  ['both words', 'grace tom', 1, HITS_MAX, false],
  ['both words', 'grace tom', HITS_MAX + 1, HITS_MAX + 1, true],
])(
  'a search by keepers says whether it was cut: %s (%s, %i, %i): %s',
  (_title, q, keepers, animals, isCut) => {
    const { db, sql } = openKeepers(keepers, animals);
    const keeperOf = fieldOf(animal, 'keeper');
    const found = (reach: Reach) =>
      listRows(sql, animal.table, {
        ...SEARCH,
        q,
        related: new Map([[keeperOf, { reach, isImportShown: false }]]),
      });
    const { rows, cut } = found('all');
    expect([cut, rows.length]).toEqual([isCut, Math.min(animals, 201)]);
    // Keepers that the caller may not read are not counted: it would say that there are more.
    expect(found(['kpr_000002'])).toEqual({ rows: [], cut: false });
    expect(listRows(sql, animal.table, { ...SEARCH, q })).toEqual({ rows: [], cut: false });
    db.close();
  },
);

test.each([
  ['Straße 12b', ['straße', '12b']],
  ['Ærø, Ål & Œuf', ['ærø', 'al', 'œuf']],
  ["O'Neill-Brown", ['o', 'neill', 'brown']],
  ['ﬁne №5', ['fine', 'no5']],
  ['', []],
])('the words of %j are %j', (text, words) => {
  expect(wordsOf([text])).toEqual(words);
});

test('a long text has 64 words at most, each of 32 characters; a search has eight, the longest first', () => {
  const words = wordsOf([Array.from({ length: 100 }, (_, n) => `w${n}`).join(' '), 'x'.repeat(99)]);
  expect(words).toHaveLength(64);
  expect(wordsOf(['x'.repeat(99)])).toEqual(['x'.repeat(32)]);
  expect(searchedWords('a bbb cc dd ee ff gg hh ii jj').slice(0, 2)).toEqual(['bbb', 'cc']);
  expect(searchedWords('a bbb cc dd ee ff gg hh ii jj')).toHaveLength(8);
  expect('zebra\u{10fff0}' < endOfPrefix('zebra')).toBe(true);
});
