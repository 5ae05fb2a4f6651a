/** Migrations that a scope lacks, tried on a copy of it: measured, refused where they fail, and the file stays as it was. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tryMigrations } from '../src/index.ts';
import { migrationsText, writeShelfCopy } from './shelf-copy.ts';
import { makeSmallApp, type SmallApp } from './small-app.ts';

let app: SmallApp;
let directory: string;
let file: string;
beforeEach(async () => {
  app = makeSmallApp();
  directory = mkdtempSync(join(tmpdir(), 'freehold-try-'));
  file = join(directory, 'copy.sqlite');
  await writeShelfCopy(file);
});
afterEach(() => {
  app[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** Declares further migrations behind those that the copy has. */
function declare(...more: readonly object[]): void {
  app.write('src/migrations.ts', migrationsText(...more));
}

const digest = () => createHash('sha256').update(readFileSync(file)).digest('hex');

test('each migration that the scope lacks is measured, and the copy stays as it was', async () => {
  declare(
    {
      version: 3,
      name: 'shelves',
      sql: 'ALTER TABLE books ADD COLUMN shelf TEXT; CREATE INDEX by_title ON books (title)',
    },
    { version: 4, name: 'half', sql: "UPDATE books SET shelf = 'A'; DELETE FROM books WHERE rowid % 2 = 0" },
  );
  const before = digest();
  const tried = await tryMigrations(app.folder, file);
  expect(tried).toMatchObject({
    from: 2,
    migrations: [
      {
        version: 3,
        name: 'shelves',
        rowsWritten: 0,
        changes: [
          { type: 'table', name: 'books', change: 'changed', rowsBefore: 500, rowsAfter: 500 },
          { type: 'index', name: 'by_title', change: 'made', rowsBefore: null },
        ],
      },
      {
        version: 4,
        rowsWritten: 750,
        changes: [{ type: 'table', name: 'books', change: 'rows', rowsBefore: 500, rowsAfter: 250 }],
      },
    ],
  });
  expect(tried.lockedMs).toBeCloseTo(
    tried.migrations.reduce((sum, { ms }) => sum + ms, 0),
    5,
  );
  for (const { ms, logBytes } of tried.migrations) expect(Math.min(ms, logBytes)).toBeGreaterThan(0);
  expect(digest()).toBe(before);
});

test('a copy as text, which every engine gives away, is tried alike', async () => {
  await writeShelfCopy(file, 'ndjson');
  declare({ version: 3, name: 'half', sql: "UPDATE books SET title = 'A'" });
  const before = digest();
  expect(await tryMigrations(app.folder, file)).toMatchObject({
    from: 2,
    migrations: [{ version: 3, rowsWritten: 500, changes: [] }],
  });
  expect(digest()).toBe(before);
});

test('where nothing is missing, nothing is done', async () => {
  declare();
  expect(await tryMigrations(app.folder, file)).toMatchObject({ from: 2, migrations: [], lockedMs: 0 });
});

test.each([
  [
    'a migration that fails, with the reason',
    () =>
      declare({
        version: 3,
        name: 'one title',
        sql: "UPDATE books SET title = 'x'; CREATE UNIQUE INDEX t ON books (title)",
      }),
    /vertical 3 \(one title\) failed; nothing of it was kept\. The reason: UNIQUE constraint failed: books\.title/,
  ],
  [
    'a copy of another application, or a migration that was edited since',
    () =>
      app.write(
        'src/migrations.ts',
        "export const migrations = [{ version: 1, name: 'b', sql: 'SELECT 1' }];\n",
      ),
    /written by a newer version|applied with another text/,
  ],
  [
    'a row that names none that is there',
    () =>
      declare({
        version: 3,
        name: 'loans',
        sql: "CREATE TABLE loans (book TEXT REFERENCES books (id)) STRICT; INSERT INTO loans VALUES ('bok_0')",
      }),
    /The reason: FOREIGN KEY constraint failed/,
  ],
  ['a file that is none', () => writeFileSync(file, 'not a database'), /is not a copy of a scope/],
  ['a text that is none', () => writeFileSync(file, '{}\n'), /its first line does not describe it/],
  ['an empty file', () => writeFileSync(file, ''), /is not a copy of a scope/],
  ['no file', () => rmSync(file), /There is no file at/],
])('it is refused: %s', async (_, arrange, message) => {
  arrange();
  const tried = tryMigrations(app.folder, file);
  await expect(tried).rejects.toThrow(message);
  await expect(tried).rejects.toMatchObject({ name: 'DevError' });
});
