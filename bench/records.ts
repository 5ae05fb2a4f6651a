/**
 * The cost of many records: the query of a list of 20 in a million against the same in a thousand, for every declared
 * filter and order, and for searches. Each is read from an index, so the ratio should be near 1.
 */
import { join } from 'node:path';
import type { SqlDatabase } from '@freehold/store';
import { type ListQuery, listRows } from '../packages/app/src/records/list.ts';
import { HITS_MAX } from '../packages/app/src/records/search.ts';
import { statementsOf, wordTable } from '../packages/app/src/records/tables.ts';
import { animal, keeper } from '../packages/app/test/clinic.ts';
import { openNodeDatabase } from '../packages/engine-node/src/lib/node-database.ts';
import { compare, type Row } from './harness.ts';
import { benchRecordCreate } from './record-create.ts';

const FEW = 1_000;
const MANY = 1_000_000;
/** The records that share a name, and so the hits of a search for it. */
const NAMESAKES = 20;
/** The records of one keeper; another one has all others. */
const KEPT = 200;
const [KEEPER, OTHER_KEEPER] = ['kpr_grace', 'kpr_other'];
const AT_LEAST = 0.6;

const fieldOf = (name: string) => {
  const field = animal.table.fields.find((each) => each.name === name);
  if (!field) throw new TypeError(`animals have no ${name}`);
  return field;
};

interface Asked {
  readonly title: string;
  readonly query: Partial<ListQuery>;
}

const byName = { field: fieldOf('name'), isDescending: false, name: 'name' };
const byFee = { field: fieldOf('fee'), isDescending: true, name: '-fee' };
const byCreation = { field: null, isDescending: true, name: '-createdAt' };

type Filters = ListQuery['filters'];
const DOGS: Filters = new Map([[fieldOf('kind'), 'dog']]);
const OF_A_KEEPER: Filters = new Map([[fieldOf('keeper'), OTHER_KEEPER]]);
const DOGS_INSURED: Filters = new Map([...DOGS, [fieldOf('insured'), 1]]);

const ASKED: readonly Asked[] = [
  ...[byName, byFee, byCreation].flatMap((sort) => [
    { title: `by ${sort.name}`, query: { sort } },
    { title: `of one kind, by ${sort.name}`, query: { sort, filters: DOGS } },
    {
      title: `of one kind, insured, by ${sort.name}`,
      query: { sort, filters: DOGS_INSURED },
    },
    { title: `of one keeper, by ${sort.name}`, query: { sort, filters: OF_A_KEEPER } },
  ]),
  { title: `a search of ${NAMESAKES} hits`, query: { sort: byName, q: 'name7x' } },
  { title: 'a search of 1,000 hits', query: { sort: byName, q: 'common' } },
  {
    title: 'a search and a filter',
    query: { sort: byName, q: 'name7x', filters: DOGS },
  },
  { title: 'a search by the name of the keeper', query: { sort: byName, q: 'grace' } },
  { title: 'a search by the names of both', query: { sort: byName, q: 'grace name7x' } },
];

export async function benchRecords(directory: string): Promise<Row[]> {
  const [few, many] = [open(directory, FEW), open(directory, MANY)];
  const rows: Row[] = [];
  for (const { title, query } of ASKED) {
    const read = (db: SqlDatabase) => () => {
      const { rows: found } = listRows(db, animal.table, { ...EVERYTHING, ...query });
      if (found.length === 0) throw new Error(`the list is empty: ${title}`);
    };
    const comparison = {
      name: `a list of 20 in ${MANY.toLocaleString('en')} records, ${title}`,
      against: `the same in ${FEW.toLocaleString('en')}`,
      ours: read(many.db),
      peer: read(few.db),
    };
    rows.push(await compare(comparison, AT_LEAST));
  }
  few.close();
  many.close();
  return [...rows, ...(await benchRecordCreate(directory))];
}

const EVERYTHING: ListQuery = {
  archived: false,
  filters: new Map(),
  reach: 'all',
  q: undefined,
  sort: byName,
  limit: 20,
  cursor: undefined,
  related: new Map([[fieldOf('keeper'), { reach: 'all', isImportShown: false }]]),
};

/** Fills a database by SQL alone: a million calls of `animal/create` would take an hour. */
function open(directory: string, records: number) {
  const database = openNodeDatabase(join(directory, `records-${records}.sqlite`));
  const { db } = database;
  for (const { table } of [keeper, animal]) for (const sql of statementsOf(table)) db.exec(sql);
  const words = wordTable(animal.table);
  database.transact(() => {
    for (const id of [KEEPER, OTHER_KEEPER])
      db.run('INSERT INTO keepers (id, created_at, updated_at, name) VALUES (?, 0, 0, ?)', id, id);
    db.run(
      `INSERT INTO ${wordTable(keeper.table)} VALUES (0, 'grace', ?), (0, 'other', ?)`,
      KEEPER,
      OTHER_KEEPER,
    );
    db.run(
      `INSERT INTO ${animal.table.name} (id, created_at, updated_at, name, kind, fee, insured, keeper)
       WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
       SELECT printf('anm_%026d', i), i, i, printf('Name%dx Number%d', i / ?, i), CASE i % 2 WHEN 0 THEN 'dog' ELSE 'cat' END, i % 997, (i / 2) % 2,
         CASE WHEN i < ? THEN ? ELSE ? END
       FROM n`,
      records,
      NAMESAKES,
      KEPT,
      KEEPER,
      OTHER_KEEPER,
    );
    db.run(
      `INSERT INTO ${words} SELECT 0, lower(substr(name, 1, instr(name, ' ') - 1)), id FROM animals ORDER BY 2, 3`,
    );
    db.run(`INSERT INTO ${words} SELECT 0, 'common', id FROM animals ORDER BY id LIMIT ?`, HITS_MAX);
  });
  return database;
}
