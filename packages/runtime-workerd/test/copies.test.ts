/** Copies of databases that another process writes: whatever it did between two readings, they are laid out as they were. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { databaseBytes, isGone } from '../src/copies/object-files.ts';
import { copyUnit, DatabaseCopies, objectIdOf } from '../src/index.ts';

const SCOPE = 'scp_00000000000000000000000001';
const OBJECT = objectIdOf(SCOPE);

let home: string;
let incidents: unknown[];
let folder: string;
let copies: DatabaseCopies;
let engine: NodeEngine;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'freehold-copies-'));
  incidents = [];
  const onIncident = (error: unknown): void => void incidents.push(error);
  engine = openNodeEngine({ dataDirectory: join(home, 'data'), historyMs: 0, openUnitsMax: 4, onIncident });
  folder = join(home, 'runtime');
  mkdirSync(objects(), { recursive: true });
  copies = open();
});
afterEach(async () => {
  await copies.close();
  await engine.close();
  expect(incidents).toEqual([]);
  rmSync(home, { recursive: true });
});

const objects = (of = folder) => join(of, 'notes', 'objects', 'scopes');
const path = (end: string, of = folder) => join(objects(of), `${OBJECT}${end}`);

function open(of = folder): DatabaseCopies {
  const onIncident = (error: unknown): void => void incidents.push(error);
  const made = new DatabaseCopies({
    folder: of,
    engine,
    changeOlder: () => undefined,
    now: Date.now,
    onIncident,
  });
  made.look('notes');
  return made;
}

/** As workerd writes: a log that is moved into the file now and then, and restarted. */
function openDatabase(end: string): DatabaseSync {
  const database = new DatabaseSync(path(end));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 12');
  return database;
}

const rowsAt = (file: string): unknown[] => {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    return database.prepare('SELECT * FROM rows ORDER BY id').all();
  } finally {
    database.close();
  }
};

let places = 0;
async function laidOut(): Promise<unknown[]> {
  await copies.flush();
  const other = join(home, `other-${++places}`);
  expect([...(await open(other).layOut([OBJECT]))]).toEqual([]);
  return rowsAt(path('.1.sqlite', other));
}

test.each([1, 2, 3])('after any writes, however the log was restarted meanwhile (seed %i)', async (seed) => {
  let state = seed * 7_919;
  const next = (max: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * max);
  };
  let database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  openDatabase('.sqlite').close();
  writeFileSync(path('.facets'), 'facets');
  for (let round = 0; round < 12; round++) {
    for (let writes = next(30); writes >= 0; writes--) {
      const kind = next(10);
      if (kind < 7)
        database.prepare('INSERT OR REPLACE INTO rows VALUES (?, ?)').run(next(200), 'x'.repeat(next(5_000)));
      else if (kind < 9) database.prepare('DELETE FROM rows WHERE id > ?').run(next(400));
      else database.exec('BEGIN; UPDATE rows SET text = text; ROLLBACK');
    }
    if (next(4) === 0) database.exec('VACUUM');
    if (next(4) === 0) {
      database.close();
      database = openDatabase('.1.sqlite');
    }
    const expected = database.prepare('SELECT * FROM rows ORDER BY id').all();
    expect(await laidOut()).toEqual(expected);
    if (next(3) === 0) copies = open();
  }
  expect(copies.status).toEqual({ waiting: 0, lagMs: 0 });
  database.close();
});

test('a database that another process writes meanwhile is copied at one moment', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT, n INTEGER)');
  for (let id = 0; id < 2_000; id++)
    database.prepare('INSERT INTO rows VALUES (?, ?, 0)').run(id, 'y'.repeat(900));
  database.close();
  // Each transaction adds to one row what it takes from another.
  const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, path('.1.sqlite')], {
    stdio: 'pipe',
  });
  try {
    await once(writer.stdout, 'data');
    let changed = 0;
    for (let n = 0; n < 6; n++) {
      const rows = (await laidOut()) as { n: number }[];
      expect(rows.reduce((sum, row) => sum + row.n, 0)).toBe(0);
      changed += rows.filter((row) => row.n !== 0).length;
    }
    expect(changed).toBeGreaterThan(0);
  } finally {
    writer.kill();
  }
});

const WRITER = `
import { DatabaseSync } from 'node:sqlite';
const database = new DatabaseSync(process.argv[1]);
database.exec('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 12');
const add = database.prepare('UPDATE rows SET n = n + ? WHERE id = ?');
const any = () => Math.floor(Math.random() * 2000);
function write() {
  database.exec('BEGIN');
  add.run(1, any());
  add.run(-1, any());
  database.exec('COMMIT');
  setImmediate(write);
}
write();
console.log('writes');`;

test('the size of the databases of a scope is read from the disk, with their logs', () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  const sizes = ['.1.sqlite', '.1.sqlite-wal'].map((end) => statSync(path(end)).size);
  expect(databaseBytes(join(folder, 'notes'), SCOPE)).toBe((sizes[0] ?? 0) + (sizes[1] ?? 0));
  expect(databaseBytes(join(folder, 'notes'), 'scp_of_no_one')).toBeNull();
  database.close();
});

test('a commit of which not every byte has arrived does not count yet', async () => {
  const elsewhere = join(home, 'elsewhere.sqlite');
  const database = new DatabaseSync(elsewhere);
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  database.exec('INSERT INTO rows VALUES (1, NULL)');
  database.exec('INSERT INTO rows VALUES (2, NULL)');
  const log = readFileSync(`${elsewhere}-wal`);
  log.writeUInt8(log.readUInt8(log.length - 1) ^ 1, log.length - 1);
  writeFileSync(path('.1.sqlite-wal'), log);
  writeFileSync(path('.1.sqlite'), readFileSync(elsewhere));
  database.close();
  expect(await laidOut()).toEqual([{ id: 1, text: null }]);
});

test('what is whole stays as it is; what is gone comes back, unless its copy was left behind', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO rows VALUES (1, NULL)');
  openDatabase('.sqlite').close();
  await copies.flush();
  database.exec('INSERT INTO rows VALUES (2, NULL)');
  database.close();
  await copies.layOut([OBJECT]);
  expect(rowsAt(path('.1.sqlite'))).toHaveLength(2);
  rmSync(path('.1.sqlite'));
  await copies.layOut([OBJECT]);
  expect(rowsAt(path('.1.sqlite'))).toHaveLength(1);
  expect(readdirSync(objects()).filter((name) => name.includes('laying'))).toEqual([]);

  await copies.disown([OBJECT]);
  rmSync(path('.1.sqlite'));
  expect([...(await copies.layOut([OBJECT]))]).toEqual([OBJECT]);
  expect(String(incidents.splice(0))).toContain('its copy is of before a time without an archive');
});

test.each([
  'CREATE TABLE _spine_scope (scope_id); CREATE TRIGGER t AFTER UPDATE ON _spine_scope BEGIN SELECT 1; END',
  'CREATE VIEW _spine_scope AS SELECT 1 AS scope_id',
])('one that would run statements of its bundle in the platform is not laid out: %s', async (hostile) => {
  const database = openDatabase('.1.sqlite');
  database.exec(hostile);
  database.close();
  await copies.flush();
  rmSync(path('.1.sqlite'));
  expect([...(await copies.layOut([OBJECT]))]).toEqual([OBJECT]);
  expect(String(incidents.splice(0))).toContain('is not as the platform made it');
});

test('a copy that was forgotten is gone', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  database.close();
  await copies.flush();
  rmSync(path('.1.sqlite'));
  await copies.forget(SCOPE);
  await copies.forget(SCOPE);
  await expect(engine.unit(copyUnit, OBJECT).state({})).rejects.toMatchObject({ reason: 'unknown_unit' });
});

test('a copy keeps the database that vanished, and is not made again of what a deleted scope leaves', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO rows VALUES (1, NULL)');
  database.close();
  openDatabase('.sqlite').close();
  await copies.flush();
  rmSync(path('.1.sqlite'));
  expect(await laidOut()).toEqual([{ id: 1, text: null }]);
  await copies.forget(SCOPE);
  await copies.flush();
  await expect(engine.unit(copyUnit, OBJECT).state({})).rejects.toMatchObject({ reason: 'unknown_unit' });
});

test('an empty database in the place of one that vanished does not replace its copy, and the next start brings it back', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  for (let id = 0; id < 10; id++)
    database.prepare('INSERT INTO rows VALUES (?, ?)').run(id, 'x'.repeat(3_000));
  const expected = database.prepare('SELECT * FROM rows ORDER BY id').all();
  database.close();
  await copies.flush();
  rmSync(path('.1.sqlite'));
  // workerd makes it for the first question.
  openDatabase('.1.sqlite').close();
  expect(isGone(join(folder, 'notes'), SCOPE)).toBe(true);
  expect(await laidOut()).toEqual(expected);
  expect(incidents.splice(0).map(String)).toEqual([expect.stringContaining('its copy stays as it was')]);
  await copies.layOut([OBJECT]);
  expect([isGone(join(folder, 'notes'), SCOPE), rowsAt(path('.1.sqlite'))]).toEqual([false, expected]);
});

test('while other files are in the place of its own, no copy is made of them', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  const resume = await copies.pause(SCOPE);
  database.exec('INSERT INTO rows VALUES (1, NULL)');
  await copies.flush();
  await expect(engine.unit(copyUnit, OBJECT).state({})).rejects.toMatchObject({ reason: 'unknown_unit' });
  resume();
  expect(await laidOut()).toHaveLength(1);
  database.close();
});

test('pages that are damaged do not take the place of whole ones', async () => {
  const database = openDatabase('.1.sqlite');
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');
  for (let id = 0; id < 20; id++)
    database.prepare('INSERT INTO rows VALUES (?, ?)').run(id, 'x'.repeat(3_000));
  const expected = database.prepare('SELECT * FROM rows ORDER BY id').all();
  database.close();
  await copies.flush();
  const bytes = readFileSync(path('.1.sqlite'));
  bytes.fill(0xab, 4_096, 3 * 4_096);
  writeFileSync(path('.1.sqlite'), bytes);
  expect(await laidOut()).toEqual(expected);
  expect(copies.status.waiting).toBe(1);
  expect(incidents.splice(0).map(String)).toEqual([expect.stringContaining('is damaged')]);
});
