/** After a power failure SQLite finds a commit whole or not at all, and loses nothing from before it. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openNodeDatabase } from '../../../packages/engine-node/src/lib/node-database.ts';
import { makeRandom } from '../lib/random.ts';
import { lookInto } from '../reader.ts';
import { copyDirectory, filesBefore, forget, tear } from './crash-image.ts';

const ROWS = 40;

/** Makes a database with one commit in its log, and a second commit during which the power fails. */
function makeFiles(pages: number) {
  const root = mkdtempSync(join(tmpdir(), 'freehold-sim-'));
  const directory = join(root, 'before');
  mkdirSync(directory);
  const path = join(directory, 'a.sqlite');
  const database = openNodeDatabase(path);
  onTestFinished(() => {
    database.close();
    rmSync(root, { recursive: true, force: true });
  });
  const write = (group: string): void =>
    database.transact(() => {
      for (let row = 0; row < ROWS; row++)
        database.db.run('INSERT INTO t (grp, text) VALUES (?, ?)', group, 'x'.repeat(pages * 100));
    });
  database.db.exec('CREATE TABLE t (grp TEXT NOT NULL, text TEXT NOT NULL) STRICT');
  write('first');
  const before = filesBefore(path);
  write('second');
  return { root, directory, before };
}

/** Counts the rows of each group on a copy. */
function rowsIn(copy: string): Record<string, number> {
  return lookInto(join(copy, 'a.sqlite'), (db) => {
    expect(db.all('PRAGMA integrity_check')).toMatchObject([{ integrity_check: 'ok' }]);
    const rows = db.all<{ grp: string; n: number }>('SELECT grp, count(*) AS n FROM t GROUP BY grp');
    return Object.fromEntries(rows.map(({ grp, n }) => [grp, n]));
  });
}

test('a torn commit is whole or absent, and both happen', () => {
  const { root, directory, before } = makeFiles(1);
  const random = makeRandom('torn');
  const found = Array.from({ length: 60 }, (_, i) => {
    const copy = join(root, `copy-${i}`);
    copyDirectory(directory, copy);
    tear(before, directory, copy, random);
    return rowsIn(copy);
  });
  for (const rows of found) expect([{ first: ROWS }, { first: ROWS, second: ROWS }]).toContainEqual(rows);
  const whole = found.filter((rows) => rows.second === ROWS).length;
  expect(whole).toBeGreaterThan(5);
  expect(whole).toBeLessThan(55);
});

test('a commit whose log was checkpointed at its end is whole or absent too', () => {
  // Enough pages for SQLite's own checkpoint, at a thousand frames.
  const { root, directory, before } = makeFiles(1_500);
  const random = makeRandom('checkpointed');
  for (let i = 0; i < 10; i++) {
    const copy = join(root, `copy-${i}`);
    copyDirectory(directory, copy);
    tear(before, directory, copy, random);
    expect([{ first: ROWS }, { first: ROWS, second: ROWS }]).toContainEqual(rowsIn(copy));
  }
});

test('a disk that lies loses the commit', () => {
  const { root, directory, before } = makeFiles(1);
  const copy = join(root, 'copy');
  copyDirectory(directory, copy);
  forget(before, directory, copy);
  expect(rowsIn(copy)).toEqual({ first: ROWS });
});
