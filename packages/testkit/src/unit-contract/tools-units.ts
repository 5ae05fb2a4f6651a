/** The units on which the contract of tools runs, and the comparison of their contents. */
import { PlatformError } from '@freehold/contracts';
import type { Migration } from '../../../store/src/migrations.ts';
import type { SqlValue } from '../../../store/src/sql-database.ts';
import type { Admit } from '../../../store/src/tools.ts';
import { defineUnit, type UnitContext } from '../../../store/src/unit.ts';

/** State that a test sets for the definitions below, which run in its own process or isolate. */
export const toolsWorld = {
  /** The number of the unit's migrations in its "deployed version". */
  migrations: 2,
  /** The `admit` of {@link toolsUnit}, run after it noted the call. */
  admit: undefined as Admit | undefined,
};

const SPINE: readonly Migration[] = [
  {
    version: 1,
    name: 'spine',
    sql: `CREATE TABLE _spine_events (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT NOT NULL) STRICT;
      CREATE TABLE _spine_notes (value TEXT);
      CREATE TRIGGER _spine_kept BEFORE DELETE ON _spine_events BEGIN SELECT RAISE(ABORT, 'kept'); END`,
  },
  { version: 2, name: 'index', sql: 'CREATE INDEX _spine_events_note ON _spine_events (note)' },
];

/** Every sort of table, all of which a copy must restore exactly. */
const APP = `CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price REAL, data BLOB, tax NUMERIC);
  CREATE TABLE loose (a, "b ""quoted""");
  CREATE TABLE pair (x TEXT, y INTEGER, z ANY, PRIMARY KEY (y, x)) STRICT, WITHOUT ROWID;
  CREATE TABLE child (item INTEGER REFERENCES item (id), twice GENERATED ALWAYS AS (item * 2) STORED);
  CREATE INDEX item_price ON item (price DESC) WHERE price > 0;
  CREATE VIEW cheap AS SELECT name FROM item WHERE price < 10;
  CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN INSERT INTO loose VALUES ('gone', old.name); END`;

interface Statement {
  readonly sql: string;
  readonly params?: readonly SqlValue[];
}

function methods({ db }: UnitContext) {
  return {
    run: ({ sql, params = [] }: Statement): void => db.run(sql, ...params),
    all: ({ sql, params = [] }: Statement): unknown => db.all(sql, ...params),
    /** Adds rows whose contents follow from their number. */
    fill: ({ rows, bytes }: { readonly rows: number; readonly bytes: number }): void => {
      for (let i = 0; i < rows; i++)
        db.run('INSERT INTO item (name, price, data) VALUES (NULL, ?, randomblob(?))', i / 4, bytes);
    },
    contents: (): string[] => contents(db),
  };
}

/** With all copies: its kind has a history where the engine has any. */
export const toolsUnit = defineUnit({
  kind: 'scope-contract-tools',
  get migrations() {
    return [
      { name: 'spine', migrations: SPINE.slice(0, toolsWorld.migrations) },
      { name: 'app', guarded: true, migrations: [{ version: 1, name: 'app', sql: APP }] },
    ];
  },
  queries: ['contents', 'all'],
  admit: (staged, key) => {
    staged.run('DELETE FROM _spine_notes');
    staged.run('INSERT INTO _spine_notes VALUES (?)', `admitted to ${key}`);
    toolsWorld.admit?.(staged);
  },
  open: methods,
});

/** The same tables under another kind. */
export const otherToolsUnit = defineUnit({
  kind: 'scope-contract-other',
  migrations: [
    { name: 'spine', migrations: SPINE },
    { name: 'app', guarded: true, migrations: [{ version: 1, name: 'app', sql: APP }] },
  ],
  queries: ['contents', 'all'],
  open: methods,
});

/** With `copies: 'none'`. */
export const secretUnit = defineUnit({
  kind: 'contract-secret',
  copies: 'none',
  migrations: [
    {
      name: 'secrets',
      migrations: [{ version: 1, name: 'secrets', sql: 'CREATE TABLE secret (value TEXT)' }],
    },
  ],
  queries: ['list'],
  open: ({ db }) => ({
    put: ({ value }: { readonly value: string }): void => db.run('INSERT INTO secret VALUES (?)', value),
    drop: (): void => db.run('DELETE FROM secret'),
    list: (): string[] => db.all<{ value: string }>('SELECT value FROM secret').map((row) => row.value),
  }),
});

/** The kinds to host, for an engine that must know them beforehand. */
export const toolsUnits = [toolsUnit, otherToolsUnit, secretUnit] as const;

export const refuseAdmission: Admit = () => {
  throw new PlatformError('forbidden', 'This copy is not wanted here.', { reason: 'not_wanted' });
};

/** Rows that are hard to copy, table by table. */
export const HARD_ROWS: readonly Statement[] = [
  { sql: "INSERT INTO _spine_events (note) VALUES ('one'), ('two'), ('three')" },
  { sql: "INSERT INTO item VALUES (1, ?, 2, x'00ff10', 5)", params: ['a "quoted"\n\u0000 name €😀'] },
  {
    sql: "INSERT INTO item VALUES (-7, NULL, 0.1, zeroblob(3), 1e300), (9007199254740993, '', -0.0, x'', 2.5)",
  },
  { sql: "INSERT INTO item VALUES (9223372036854775807, 'largest', 9e999, NULL, -9e999)" },
  {
    sql: 'INSERT INTO loose (rowid, a, "b ""quoted""") VALUES (40, 1, 1.0), (-3, \'1\', x\'31\'), (41, 9223372036854775807, 3.5)',
  },
  { sql: "INSERT INTO pair VALUES ('b', 2, 7), ('a', 2, 7.0), ('a', 1, x'00'), ('ä', -1, 'text')" },
  { sql: 'INSERT INTO child (item) VALUES (1), (NULL), (-7)' },
];

/** Returns every value with its type, in the order of the rows, and the schema. Units with equal text are equal. */
function contents(db: UnitContext['db']): string[] {
  const lines: string[] = [];
  const tables: readonly (readonly [table: string, columns: readonly string[], order: string])[] = [
    ['_spine_events', ['id', 'note'], 'id'],
    ['item', ['id', 'name', 'price', 'data', 'tax'], 'id'],
    ['loose', ['rowid', 'a', '"b ""quoted"""'], 'rowid'],
    ['pair', ['x', 'y', 'z'], 'y, x'],
    ['child', ['rowid', 'item', 'twice'], 'rowid'],
    ['sqlite_sequence', ['name', 'seq'], 'name'],
  ];
  for (const [table, columns, order] of tables) {
    const values = columns.map((name) => `typeof(${name}) || ':' || quote(${name})`).join(" || ', ' || ");
    for (const { line } of db.all<{ line: string }>(
      `SELECT ${values} AS line FROM ${table} ORDER BY ${order}`,
    ))
      lines.push(`${table} ${line}`);
  }
  const schema =
    "SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS line FROM sqlite_master WHERE tbl_name NOT LIKE '_spine_copy_%' ORDER BY type, name";
  return [...lines, ...db.all<{ line: string }>(schema).map(({ line }) => line)];
}
