/** The next migration, from any declaration to any other: it makes exactly the tables that are declared. */
import { DatabaseSync } from 'node:sqlite';
import { openNodeDatabase } from '@freehold/engine-node';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../testkit/src/index.ts';
import {
  type Consent,
  differenceOf,
  migrationText,
  type PresentSchema,
  presentSchema,
} from './difference.ts';
import { relation } from './fields.ts';
import { fillWords } from './fill-words.ts';
import { listRows } from './list.ts';
import { records } from './records.ts';
import { requireFilled } from './require-filled.ts';
import { type RecordTable, statementsOf } from './tables.ts';

const NO_CONSENT: Consent = { drop: new Set(), rename: new Map(), convert: new Set(), fill: new Map() };
const permissions = { read: 'thing.read', write: 'thing.write' };

const other = records('other', { fields: z.object({ a: z.string() }), permissions });

/** Kinds of fields that a present table can get. */
const KINDS = {
  text: () => z.string().optional(),
  number: () => z.int().default(7),
  flag: () => z.boolean().default(true),
  quoted: () => z.string().default("it's"),
};
const NAMES = ['alpha', 'beta', 'gammaRay', 'delta'] as const;

interface Declared {
  readonly fields: Readonly<Partial<Record<(typeof NAMES)[number], keyof typeof KINDS>>>;
  readonly indexed: readonly string[];
  readonly searched: boolean;
}

const declared: fc.Arbitrary<Declared> = fc.record({
  fields: fc.dictionary(
    fc.constantFrom(...NAMES),
    fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[])),
  ),
  indexed: fc.subarray([...NAMES]),
  searched: fc.boolean(),
}) as never;

function tableOf({ fields, indexed, searched }: Declared): RecordTable {
  const shape = {
    label: z.string(),
    ...Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, KINDS[kind]()])),
  };
  return records('thing', {
    fields: z.object(shape),
    filter: indexed.filter((name) => name in fields) as never,
    sort: ['label', 'createdAt'],
    ...(searched && { search: ['label'] }),
    permissions,
  }).table;
}

const schemaOf = (database: DatabaseSync): PresentSchema =>
  presentSchema((sql, ...params) => database.prepare(sql).all(...params));

/** A schema without the order of its columns, which no statement depends on. */
const comparable = ({ columns, indexes }: PresentSchema) => ({
  columns: Object.fromEntries(
    [...columns].map(([name, each]) => [name, each.toSorted((a, b) => (a.name < b.name ? -1 : 1))]),
  ),
  indexes: Object.fromEntries([...indexes].map(([name, { sql }]) => [name, sql])),
});

function open(tables: readonly RecordTable[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  for (const table of tables) for (const sql of statementsOf(table)) database.exec(sql);
  return database;
}

test('from one declaration to any other, the steps make what is declared, and the rows stay', () => {
  fc.assert(
    fc.property(declared, declared, (before, after) => {
      const [from, to] = [tableOf(before), tableOf(after)];
      using database = open([from]);
      const required = from.fields.filter(({ isOptional, name }) => !isOptional && name !== 'label');
      database.exec(
        `INSERT INTO things (id, created_at, updated_at, label${required.map(({ column }) => `, ${column}`).join('')})
         VALUES ('x', 1, 1, 'kept'${required.map(({ type }) => (type === 'TEXT' ? ", 'x'" : ', 1')).join('')})`,
      );
      const gone = from.fields.filter(({ name }) => !to.fields.some((each) => each.name === name));
      const drop = new Set(gone.map(({ column }) => `things.${column}`));
      // Texts that become numbers are lost where they are none; fields that become required have a default.
      const lossy = to.fields.filter(({ name, type }) =>
        from.fields.some((each) => each.name === name && each.type === 'TEXT' && type === 'INTEGER'),
      );
      const convert = new Set(lossy.map(({ column }) => `things.${column}`));
      const { steps, questions } = differenceOf([to], schemaOf(database), { ...NO_CONSENT, drop, convert });
      expect(questions).toEqual([]);
      expect(steps.filter(({ isDestructive }) => isDestructive)).toHaveLength(gone.length + lossy.length);
      for (const { sql } of steps) database.exec(sql);
      using wanted = open([to]);
      expect(comparable(schemaOf(database))).toEqual(comparable(schemaOf(wanted)));
      expect(database.prepare('SELECT label FROM things').all()).toEqual([{ label: 'kept' }]);
      expect(differenceOf([to], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
    }),
    { numRuns: runs(60) },
  );
});

describe('a question', () => {
  const table = tableOf({ fields: { alpha: 'text' }, indexed: [], searched: false });
  const ask = (to: RecordTable, consent: Partial<Consent> = {}) => {
    using database = open([table]);
    return differenceOf([to], schemaOf(database), { ...NO_CONSENT, ...consent });
  };
  const without = tableOf({ fields: {}, indexed: [], searched: false });
  const withBeta = tableOf({ fields: { beta: 'text' }, indexed: [], searched: false });

  test('a column that is gone is neither dropped nor renamed by a guess', () => {
    expect(ask(without).questions).toEqual([expect.stringContaining('things.alpha is no longer declared')]);
    expect(ask(withBeta).questions).toHaveLength(1);
  });

  test('a renamed column keeps its values', () => {
    const { steps, questions } = ask(withBeta, { rename: new Map([['things.alpha', 'beta']]) });
    expect([questions, steps]).toEqual([
      [],
      [{ sql: 'ALTER TABLE things RENAME COLUMN alpha TO beta', isDestructive: false }],
    ]);
  });

  test('a column is not renamed into a sealed one: its values would stand there in clear', () => {
    const declare = (sealed: boolean) =>
      records('thing', {
        fields: z.object({ name: z.string(), phone: z.string().optional() }),
        permissions,
        ...(sealed ? { sealed: ['phone'] as const } : {}),
      }).table;
    using database = open([declare(false)]);
    const consent = { ...NO_CONSENT, rename: new Map([['things.phone', 'phone_sealed']]) };
    const { steps, questions } = differenceOf([declare(true)], schemaOf(database), consent);
    expect(questions).toEqual([expect.stringContaining('that one is sealed')]);
    expect(steps.map(({ sql }) => sql).join()).not.toContain('RENAME');
  });

  test.each([
    [
      'a new name that is not declared',
      { rename: new Map([['things.alpha', 'gamma']]) },
      /cannot be renamed to gamma/,
    ],
    [
      'a column that there is not',
      { drop: new Set(['things.omega']) },
      /--drop things\.omega answers no question/,
    ],
    [
      'a value that is not missing',
      { fill: new Map([['things.label', 'x']]) },
      /--fill things\.label answers/,
    ],
    ['a type that stays', { convert: new Set(['things.label']) }, /--convert things\.label answers/],
    [
      'a column that is declared',
      { drop: new Set(['things.label']) },
      /--drop things\.label answers no question/,
    ],
  ])('consent to %s is refused', (_title, consent, words) => {
    expect(ask(withBeta, consent).questions.join('\n')).toMatch(words);
  });

  test.each([
    [
      'a required field without a default',
      { label: z.string(), alpha: z.string().optional(), fee: z.int() },
      /no value for it/,
    ],
    [
      'a type that not every value has',
      { label: z.string(), alpha: z.int().optional() },
      /holds TEXT and is declared as INTEGER.*--convert things\.alpha/,
    ],
    ['a field that becomes required', { label: z.string(), alpha: z.string() }, /--fill things\.alpha=value/],
    [
      'a text that becomes a relation',
      { label: z.string(), alpha: relation(other).optional() },
      /things\.alpha holds values and is declared as a relation to others: give the relation another name/,
    ],
    [
      'a new relation that is required',
      { label: z.string(), alpha: z.string().optional(), beta: relation(other) },
      /things\.beta is required.*make it optional, and required once all of them have one/,
    ],
  ])('%s needs a decision', (_title, shape, words) => {
    const to = records('thing', { fields: z.object(shape), sort: ['createdAt'], permissions }).table;
    const { steps, questions } = ask(to);
    expect(questions).toEqual([expect.stringMatching(words)]);
    expect(steps.map(({ sql }) => sql).filter((sql) => sql.startsWith('ALTER'))).toEqual([]);
  });

  test('a value that does not fit the field fills none', () => {
    const shape = { label: z.string(), alpha: z.string().max(3), fee: z.int().min(1) };
    const to = records('thing', { fields: z.object(shape), sort: ['createdAt'], permissions }).table;
    const fill = new Map([
      ['things.alpha', 'long'],
      ['things.fee', '0'],
    ]);
    expect(ask(to, { fill }).questions).toEqual([
      expect.stringContaining('things.alpha does not take the value long'),
      expect.stringContaining('things.fee does not take the value 0'),
    ]);
  });

  test('a table of another kind is not taken for one of records', () => {
    using database = new DatabaseSync(':memory:');
    database.exec('CREATE TABLE things (id TEXT PRIMARY KEY, label TEXT)');
    const { questions } = differenceOf([without], schemaOf(database), NO_CONSENT);
    expect(questions[0]).toMatch(/not one of records: it has no column archived/);
  });
});

test('a column of another type, or of another need, takes its values over', () => {
  const declare = (fields: z.ZodRawShape) =>
    records('thing', { fields: z.object(fields), filter: Object.keys(fields), unique: ['code'], permissions })
      .table;
  const before = declare({
    name: z.string(),
    code: z.string(),
    count: z.string(),
    size: z.number(),
    note: z.string().optional(),
    other: z.int(),
  });
  const after = declare({
    name: z.string(),
    code: z.string().optional(),
    count: z.int(),
    size: z.int().optional(),
    note: z.string(),
    other: z.string(),
    fresh: z.boolean(),
  });
  using database = open([before]);
  const rows = [
    ['a', '12', 1.6, null, 5],
    ['b', ' -3 ', 2, 'x', 6],
    ['c', '12x', 0.4, null, 7],
    ['d', '1.5', 0, '', 8],
    // Beyond what a reader of the column could take.
    ['e', '99999999999999999999', 1e300, '', 9],
  ] as const;
  for (const [id, count, size, note, other] of rows)
    database
      .prepare(
        `INSERT INTO things (id, created_at, updated_at, name, code, count, size, note, other) VALUES (?1, 1, 1, 'n', ?1, ?2, ?3, ?4, ?5)`,
      )
      .run(id, count, size, note, other);
  const consent: Consent = {
    ...NO_CONSENT,
    convert: new Set(['things.count', 'things.size']),
    fill: new Map([
      ['things.count', '0'],
      ['things.note', "it's new"],
      ['things.fresh', 'true'],
    ]),
  };
  const { steps, questions } = differenceOf([after], schemaOf(database), consent);
  expect(questions).toEqual([]);
  expect(steps.filter(({ isDestructive }) => isDestructive).map(({ sql }) => sql.split(' = ')[0])).toEqual([
    'UPDATE things SET count_next',
    'UPDATE things SET size_next',
  ]);
  for (const { sql } of steps) database.exec(sql);
  using wanted = open([after]);
  expect(comparable(schemaOf(database))).toEqual(comparable(schemaOf(wanted)));
  const read = 'SELECT code, count, size, note, other, fresh FROM things ORDER BY id';
  expect(database.prepare(read).all().map(Object.values)).toEqual([
    ['a', 12, 2, "it's new", '5', 1],
    ['b', -3, 2, 'x', '6', 1],
    ['c', 0, 0, "it's new", '7', 1],
    ['d', 0, 0, '', '8', 1],
    ['e', 0, null, '', '9', 1],
  ]);
  expect(differenceOf([after], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
});

test('records that were there before they were searched are found by their words', () => {
  const fields = z.object({ name: z.string(), note: z.string().optional() });
  const plain = records('thing', { fields, sort: ['name'], permissions }).table;
  const searched = records('thing', { fields, sort: ['name'], search: ['name', 'note'], permissions }).table;
  const { db, close } = openNodeDatabase(':memory:');
  for (const sql of statementsOf(plain)) db.exec(sql);
  for (let n = 0; n < 2_500; n++)
    db.run(
      'INSERT INTO things (id, archived, created_at, updated_at, name, note) VALUES (?, ?, 1, 1, ?, ?)',
      `thi_${n}`,
      n % 2,
      `Übung ${n}`,
      n === 7 ? 'rare words' : null,
    );
  const { steps } = differenceOf(
    [searched],
    presentSchema((sql, ...params) => db.all(sql, ...params)),
    NO_CONSENT,
  );
  for (const { sql } of steps) db.exec(sql);
  const made = new Function('fillWords', `return [${migrationText(2, 'search', steps)}]`)(fillWords);
  made[0].fill(db);
  const found = (q: string, archived: boolean) =>
    listRows(db, searched, {
      ...{ archived, q, filters: new Map(), reach: 'all', limit: 20, cursor: undefined },
      sort: { field: null, isDescending: false, name: 'createdAt' },
    }).rows.map(({ id }) => id);
  expect(found('ubung 2499', true)).toEqual(['thi_2499']);
  expect(found('ubung 2499', false)).toEqual([]);
  expect(found('rare', true)).toEqual(['thi_7']);
  expect(found('ubung 24', false)).toHaveLength(21);
  close();
});

describe('a relation that becomes required', () => {
  const declare = (alpha: z.ZodType, name = 'alpha') =>
    records('thing', {
      fields: z.object({ label: z.string(), [name]: alpha }),
      filter: [name as never],
      permissions,
    }).table;
  const [optional, required] = [declare(relation(other).optional()), declare(relation(other))];
  const INSERT = `INSERT INTO others (id, created_at, updated_at, a) VALUES ('o', 1, 1, 'x');
    INSERT INTO things (id, created_at, updated_at, label, alpha)`;
  const run = (database: DatabaseSync, table: RecordTable, consent = NO_CONSENT) => {
    const { steps, questions } = differenceOf([table], schemaOf(database), consent);
    expect(questions).toEqual([]);
    const [made] = new Function('requireFilled', `return [${migrationText(2, 'required', steps)}]`)(
      requireFilled,
    );
    database.exec(made.sql);
    made.fill?.({ get: (sql: string) => database.prepare(sql).get() });
    return made;
  };

  test('is one once all records have it, and is compared as such', () => {
    using database = open([other.table, optional]);
    database.exec(`${INSERT} VALUES ('t', 1, 1, 'x', 'o')`);
    expect(run(database, required).sql).toContain('things_without_alpha');
    expect(differenceOf([required], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
    // It may be left out again, and renamed.
    expect(run(database, optional).sql.trim()).toBe('DROP INDEX things_without_alpha;');
    const rename = new Map([['things.alpha', 'beta']]);
    const renamed = declare(relation(other), 'beta');
    run(database, renamed, { ...NO_CONSENT, rename });
    expect(differenceOf([renamed], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
  });

  test('is refused with their number while records lack it', () => {
    using database = open([other.table, optional]);
    database.exec(`${INSERT} VALUES ('t', 1, 1, 'x', 'o'), ('u', 1, 1, 'x', NULL), ('v', 1, 1, 'x', NULL)`);
    expect(() => run(database, required)).toThrow(
      /alpha is required from this version on, and 2 of the records in things have none/,
    );
  });

  test('may be left out again where the table was made with it', () => {
    using database = open([other.table, required]);
    database.exec(`${INSERT} VALUES ('t', 1, 1, 'x', 'o')`);
    run(database, optional);
    expect(database.prepare('SELECT alpha FROM things').all()).toEqual([{ alpha: 'o' }]);
    expect(differenceOf([optional], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
  });

  test('becomes a text with its ids', () => {
    using database = open([other.table, required]);
    database.exec(`${INSERT} VALUES ('t', 1, 1, 'x', 'o')`);
    const text = declare(z.string());
    run(database, text);
    database.exec("UPDATE things SET alpha = 'no id'");
    expect(differenceOf([text], schemaOf(database), NO_CONSENT)).toEqual({ steps: [], questions: [] });
  });
});

test('where other fields are searched, the words are written anew; the order of the fields is none', () => {
  const fields = z.object({ name: z.string(), note: z.string(), made: z.string() });
  const searching = (search: ('name' | 'note' | 'made')[]) =>
    records('thing', { fields, search, permissions }).table;
  using database = open([searching(['name', 'note'])]);
  const stepsTo = (table: RecordTable) => differenceOf([table], schemaOf(database), NO_CONSENT).steps;
  expect(stepsTo(searching(['note', 'name']))).toEqual([]);
  const [drop, make, ...others] = stepsTo(searching(['name', 'made']));
  expect([drop?.sql, make?.fill, others]).toEqual([
    'DROP TABLE things_words',
    "fillWords('things', ['name', 'made'])",
    [],
  ]);
  for (const step of [drop, make]) database.exec(step?.sql ?? '');
  expect(stepsTo(searching(['name', 'made']))).toEqual([]);
  // A table of words without the note is taken as it is.
  database.exec('DROP TABLE things_words; CREATE TABLE things_words (archived INTEGER, word TEXT, id TEXT)');
  expect(stepsTo(searching(['note']))).toEqual([]);
});

test('the text of a migration is what was meant, whatever signs are in it', () => {
  const name = "it's a \\ `name`";
  const sql = ["INSERT INTO a VALUES ('\\ ` $", "{x}')"].join('');
  const text = migrationText(3, name, [{ sql, isDestructive: true }]);
  const [made] = new Function(`return [${text}]`)() as [{ version: number; name: string; sql: string }];
  expect(made).toMatchObject({ version: 3, name });
  expect(made.sql).toContain(`-- DESTROYS values of this column, for good.\n${sql};`);
});
