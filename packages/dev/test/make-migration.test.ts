/** The next migration of an application in a folder: made, written, run, and then nothing more to make. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeMigration } from '../src/index.ts';
import { makeSmallApp, type SmallApp } from './small-app.ts';

const MANIFEST = `export const manifest = {
  slug: 'clinic', name: 'Clinic', version: '0.1.0',
  permissions: { 'animal.read': 'See animals', 'animal.write': 'Write animals down' },
  roles: { owner: { name: 'Owner', permissions: ['animal.read', 'animal.write'] } },
  ownerRole: 'owner', entities: { animal: { read: 'animal.read' } }, env: {},
};`;
const APP = `import { defineApp, records, signedIn } from '@freehold/app';
import { z } from 'zod';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
const animal = records('animal', {
  fields: z.object({ name: z.string() }),
  search: ['name'],
  permissions: { read: 'animal.read', write: 'animal.write' },
});
export default defineApp({
  manifest, migrations, operations: animal.operations, authenticatedPrincipal: signedIn(),
});
`;
const EMPTY = `import type { Migration } from '@freehold/app';
export const migrations: readonly Migration[] = [
];
`;

let app: SmallApp;
beforeEach(() => {
  app = makeSmallApp();
  app.write('src/manifest.ts', MANIFEST);
  app.write('src/app.ts', APP);
  app.write('src/migrations.ts', EMPTY);
});
afterEach(() => app[Symbol.dispose]());

const request = { name: 'animals', drop: [], rename: [], convert: [], fill: [], file: null };
const file = 'src/migrations.ts';

test('it is made, kept, and followed by what changed since', async () => {
  const printed = await makeMigration(app.folder, request);
  expect(printed).toMatchObject({ version: 1, file: null });
  expect(app.read(file)).toBe(EMPTY);
  expect(await makeMigration(app.folder, { ...request, file })).toMatchObject({ ...printed, file });
  expect(app.read(file)).toContain('CREATE TABLE animals_words');
  expect(await makeMigration(app.folder, { ...request, file })).toMatchObject({
    steps: [],
    text: '',
    file: null,
  });

  app.edit('src/app.ts', 'name: z.string() }', 'title: z.string(), born: z.string().optional() }');
  app.edit('src/app.ts', "search: ['name']", "search: ['title']");
  const before = app.read(file);
  await expect(makeMigration(app.folder, { ...request, file })).rejects.toMatchObject({
    code: 'validation_failed',
    message: expect.stringContaining('--rename animals.name=new_name'),
  });
  expect(app.read(file)).toBe(before);
  const next = await makeMigration(app.folder, {
    ...request,
    file,
    name: 'titles',
    rename: ['animals.name=title'],
  });
  expect(next.version).toBe(2);
  expect(next.steps.map(({ sql }) => sql)).toEqual([
    'ALTER TABLE animals RENAME COLUMN name TO title',
    'ALTER TABLE animals ADD COLUMN born TEXT COLLATE NOCASE',
    'DROP TABLE animals_words',
    expect.stringContaining('CREATE TABLE animals_words'),
  ]);
  expect(await makeMigration(app.folder, request)).toMatchObject({ steps: [] });
});

test('a search that is added finds older records: the migration writes their words', async () => {
  app.edit('src/app.ts', "search: ['name'],", '');
  await makeMigration(app.folder, { ...request, file });
  app.edit('src/app.ts', 'permissions: { read', "search: ['name'], permissions: { read");
  const made = await makeMigration(app.folder, { ...request, name: 'search', file });
  expect(made.text).toContain("fill: fillWords('animals', ['name']),");
  expect(app.read(file)).toContain("import { fillWords } from '@freehold/app';\nimport type { Migration }");
  expect(await makeMigration(app.folder, request)).toMatchObject({ steps: [] });
});

test('a field of another type is asked for, and converted', async () => {
  await makeMigration(app.folder, { ...request, file });
  app.edit('src/app.ts', 'name: z.string() }', 'name: z.string(), age: z.string().optional() }');
  await makeMigration(app.folder, { ...request, name: 'ages', file });
  app.edit('src/app.ts', 'age: z.string().optional()', 'age: z.int()');
  await expect(makeMigration(app.folder, { ...request, file })).rejects.toThrow(/--convert animals\.age/);
  const words = { convert: ['animals.age'], fill: ['animals.age=1'] };
  const made = await makeMigration(app.folder, { ...request, ...words, name: 'numbers', file });
  expect(made.steps.filter(({ isDestructive }) => isDestructive)).toHaveLength(1);
  expect(await makeMigration(app.folder, request)).toMatchObject({ steps: [] });
});

test.each([
  ['a value for no column', { fill: ['animals'] }, /write table\.column=value/],
  ['a renaming of another form', { rename: ['animals.name'] }, /write table\.old_column=new_column/],
  ['a file that is not there', { file: 'src/other.ts' }, /src\/other\.ts cannot be read/],
  ['a file without a list at its end', { file: 'src/app.ts' }, /does not end with a list of migrations/],
])('%s is refused, and no file changes', async (_title, change, words) => {
  await expect(makeMigration(app.folder, { ...request, ...change })).rejects.toThrow(words);
  expect([app.read(file), app.read('src/app.ts')]).toEqual([EMPTY, APP]);
});

test('an application without records, and a migration that fails, are told', async () => {
  app.edit(file, '= [\n', "= [\n  { version: 1, name: 'bad', sql: 'INSERT INTO missing VALUES (1)' },\n");
  await expect(makeMigration(app.folder, request)).rejects.toThrow(
    /Migration 1 \(bad\) fails in an empty database/,
  );
  app.edit('src/app.ts', 'operations: animal.operations', 'operations: {}');
  await expect(makeMigration(app.folder, request)).rejects.toThrow(/declares no records/);
});

test('the example of docs/records.md gets its tables', async () => {
  const page = readFileSync(new URL('../../../docs/records.md', import.meta.url), 'utf8');
  app.write('src/app.ts', /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  const { text } = await makeMigration(app.folder, request);
  expect(text.match(/CREATE TABLE \w+/g)).toEqual([
    'CREATE TABLE keepers',
    'CREATE TABLE keepers_words',
    'CREATE TABLE animals',
    'CREATE TABLE animals_words',
  ]);
});
