/** The next migration, from any declaration to any other: it makes exactly the tables that are declared. */
import { DatabaseSync } from 'node:sqlite';
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
import { records } from './records.ts';
import { type RecordTable, statementsOf } from './tables.ts';

const NO_CONSENT: Consent = { drop: new Set(), rename: new Map() };
const permissions = { read: 'thing.read', write: 'thing.write' };

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
      // A field of another kind is another field.
      fc.pre(
        Object.entries(after.fields).every(([name, kind]) =>
          [undefined, kind].includes(before.fields[name as 'alpha']),
        ),
      );
      const gone = from.fields.filter(({ name }) => !to.fields.some((each) => each.name === name));
      const drop = new Set(gone.map(({ column }) => `things.${column}`));
      const { steps, questions } = differenceOf([to], schemaOf(database), { drop, rename: new Map() });
      expect(questions).toEqual([]);
      expect(steps.filter(({ isDestructive }) => isDestructive)).toHaveLength(gone.length);
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

  test.each([
    [
      'a new name that is not declared',
      { rename: new Map([['things.alpha', 'gamma']]) },
      /cannot be renamed to gamma/,
    ],
    ['a column that there is not', { drop: new Set(['things.omega']) }, /things\.omega is no column/],
    ['a column that is declared', { drop: new Set(['things.label']) }, /things\.label is no column/],
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
      'another type',
      { label: z.string(), alpha: z.int().optional() },
      /holds TEXT and is declared as INTEGER/,
    ],
    ['a field that becomes required', { label: z.string(), alpha: z.string() }, /declared as required/],
    [
      'a field that becomes optional',
      { label: z.string().optional(), alpha: z.string().optional() },
      /declared as optional/,
    ],
  ])('%s needs a decision', (_title, shape, words) => {
    const to = records('thing', { fields: z.object(shape), sort: ['createdAt'], permissions }).table;
    const { steps, questions } = ask(to);
    expect(questions).toEqual([expect.stringMatching(words)]);
    expect(steps.map(({ sql }) => sql).filter((sql) => sql.startsWith('ALTER'))).toEqual([]);
  });

  test('a table of another kind is not taken for one of records', () => {
    using database = new DatabaseSync(':memory:');
    database.exec('CREATE TABLE things (id TEXT PRIMARY KEY, label TEXT)');
    const { questions } = differenceOf([without], schemaOf(database), NO_CONSENT);
    expect(questions[0]).toMatch(/not one of records: it has no column archived/);
  });
});

test('the text of a migration is what was meant, whatever signs are in it', () => {
  const name = "it's a \\ `name`";
  const sql = ["INSERT INTO a VALUES ('\\ ` $", "{x}')"].join('');
  const text = migrationText(3, name, [{ sql, isDestructive: true }]);
  const [made] = new Function(`return [${text}]`)() as [{ version: number; name: string; sql: string }];
  expect(made).toMatchObject({ version: 3, name });
  expect(made.sql).toContain(`-- DESTROYS the values of this column, for good.\n${sql};`);
});
