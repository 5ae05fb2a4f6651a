/** Tables over `node:sqlite`, without an engine: the statements and the conversions. */
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import type { SqlDatabase, SqlValue } from './sql-database.ts';
import {
  blob,
  boolean,
  computed,
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  real,
  revision,
  text,
  time,
  unread,
} from './table.ts';

const books = defineTable('books', ['id'], {
  id: text<`bok_${number}`>(),
  shelfNumber: integer(),
  title: text(),
  foldedTitle: unread(text()),
  weight: nullable(real()),
  cover: nullable(blob('cover_bytes')),
  isLent: boolean('lent'),
  lentTo: hidden(nullable(text())),
  tags: json<readonly string[]>(),
  note: nullable(json<{ readonly by: string }>()),
  length: computed('length(title)', integer()),
  addedAtMs: time(),
  lentAtMs: nullable(time('lent_since')),
  revision: revision(),
});
type Book = RowOf<typeof books>;

const loans = defineTable('loans', ['book', 'reader'], { book: text(), reader: text(), days: integer() });

const SCHEMA = `CREATE TABLE books (id TEXT PRIMARY KEY, shelf_number INTEGER NOT NULL, title TEXT NOT NULL,
    folded_title TEXT NOT NULL, weight REAL, cover_bytes BLOB, lent INTEGER NOT NULL, lent_to TEXT, tags TEXT NOT NULL, note TEXT,
    added_at INTEGER NOT NULL, lent_since INTEGER, revision INTEGER NOT NULL) STRICT;
  CREATE TABLE loans (book TEXT, reader TEXT, days INTEGER NOT NULL, PRIMARY KEY (book, reader)) STRICT`;

let db: SqlDatabase;
const texts = new Set<string>();

beforeEach(() => {
  const connection = new DatabaseSync(':memory:');
  connection.exec(SCHEMA);
  const prepared = (sql: string) => {
    texts.add(sql);
    return connection.prepare(sql);
  };
  db = {
    run: (sql, ...params) => void prepared(sql).get(...params),
    get: <Row>(sql: string, ...params: readonly SqlValue[]) =>
      prepared(sql).get(...params) as Row | undefined,
    all: <Row>(sql: string, ...params: readonly SqlValue[]) => prepared(sql).all(...params) as Row[],
    exec: (script) => connection.exec(script),
    savepoint: (work) => work(),
  };
});

const walden = {
  id: 'bok_1',
  shelfNumber: 7,
  title: 'Walden',
  foldedTitle: 'walden',
  weight: 0.5,
  cover: new Uint8Array([1, 2]),
  isLent: true,
  lentTo: 'ann',
  tags: ['wood', 'pond'],
  note: { by: 'staff' },
  addedAtMs: 0,
  lentAtMs: null,
  revision: 3,
} as const;
const { foldedTitle: _, ...read } = walden;

describe('a row', () => {
  test('is read as it was written, without what is unread and with what is computed', () => {
    books.insert(db, walden);
    expect(books.get(db, 'bok_1')).toEqual({ ...read, length: 6 });
    expect(db.get('SELECT folded_title AS folded, lent, tags FROM books')).toEqual({
      folded: 'walden',
      lent: 1,
      tags: '["wood","pond"]',
    });
    expectTypeOf<Book['isLent']>().toEqualTypeOf<boolean>();
    expectTypeOf<Book['note']>().toEqualTypeOf<{ readonly by: string } | null>();
    expectTypeOf<Book>().not.toHaveProperty('foldedTitle');
  });

  test('has null where a column is NULL, also one of JSON', () => {
    books.insert(db, { ...walden, weight: null, cover: null, note: null });
    expect(books.get(db, 'bok_1')).toMatchObject({ weight: null, cover: null, note: null });
    expect(db.get('SELECT 1 FROM books WHERE note IS NULL')).toBeDefined();
  });

  test('without a value for a column is refused', () => {
    for (const property of ['title', 'isLent', 'tags'])
      expect(() => books.insert(db, { ...walden, [property]: undefined })).toThrow();
    expect(db.get('SELECT 1 FROM books')).toBeUndefined();
  });

  test('has null as text in a column of JSON that is not nullable', () => {
    const answers = defineTable('answers', ['id'], { id: text(), value: json<unknown>() });
    db.exec('CREATE TABLE answers (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT');
    answers.insert(db, { id: 'a', value: null });
    answers.updating('value')(db, { id: 'a', value: null });
    expect(db.get('SELECT value FROM answers')).toEqual({ value: 'null' });
    expect(answers.get(db, 'a')).toEqual({ id: 'a', value: null });
  });

  test('that is not there is undefined', () => {
    expect(books.get(db, 'bok_2')).toBeUndefined();
  });

  test('of a key of several columns is found and deleted by all of them', () => {
    for (const reader of ['ann', 'bob']) loans.insert(db, { book: 'bok_1', reader, days: 14 });
    expect(loans.get(db, { book: 'bok_1', reader: 'bob' })).toEqual({
      book: 'bok_1',
      reader: 'bob',
      days: 14,
    });
    loans.delete(db, { book: 'bok_1', reader: 'bob' });
    expect(loans.all(db, loans.select).map(({ reader }) => reader)).toEqual(['ann']);
  });
});

describe('a statement', () => {
  test('that updates sets its columns of one row', () => {
    const lend = books.updating('isLent', 'lentAtMs');
    books.insert(db, walden);
    books.insert(db, { ...walden, id: 'bok_2' });
    lend(db, { id: 'bok_2', isLent: false, lentAtMs: 5 });
    expect(books.get(db, 'bok_1')).toMatchObject({ isLent: true, lentAtMs: null });
    expect(books.get(db, 'bok_2')).toMatchObject({ title: 'Walden', isLent: false, lentAtMs: 5 });
  });

  test('that saves inserts, and sets its columns where the key exists', () => {
    const save = loans.saving('days');
    save(db, { book: 'bok_1', reader: 'ann', days: 14 });
    save(db, { book: 'bok_1', reader: 'ann', days: 21 });
    expect(loans.all(db, loans.select)).toEqual([{ book: 'bok_1', reader: 'ann', days: 21 }]);
    loans.saving()(db, { book: 'bok_1', reader: 'ann', days: 28 });
    expect(loans.get(db, { book: 'bok_1', reader: 'ann' })?.days).toBe(21);
  });

  test('that finds or deletes matches any columns', () => {
    const find = books.finding('title', 'isLent');
    books.insert(db, walden);
    expect(find(db, { title: 'Walden', isLent: true })?.id).toBe('bok_1');
    expect(find(db, { title: 'Walden', isLent: false })).toBeUndefined();
    books.deleting('isLent')(db, true);
    expect(books.get(db, 'bok_1')).toBeUndefined();
  });

  test('written by hand is read like one of the table', () => {
    const heavy = `${books.select} WHERE weight > ? ORDER BY id`;
    for (const id of ['bok_1', 'bok_2'] as const) books.insert(db, { ...walden, id });
    expect(books.all(db, heavy, 0.1).map(({ tags }) => tags)).toEqual([walden.tags, walden.tags]);
    expect(books.first(db, heavy, 0.1)?.isLent).toBe(true);
    expect(books.first(db, heavy, 9)).toBeUndefined();
  });

  test('with a join has the columns of an alias', () => {
    expect(loans.columnsOf('l')).toBe('l.book, l.reader, l.days');
    expect(books.columnsOf('b')).toContain('b.shelf_number AS "shelfNumber"');
  });

  test('is one text, whatever is bound', () => {
    const update = loans.updating('days');
    texts.clear();
    for (const reader of ['ann', 'bob']) {
      loans.insert(db, { book: 'bok_1', reader, days: 14 });
      update(db, { book: 'bok_1', reader, days: 15 });
      loans.get(db, { book: 'bok_1', reader });
    }
    expect(texts.size).toBe(3);
  });
});

test('a record has timestamps and an entity tag in the place of milliseconds and the revision', () => {
  interface BookRecord {
    readonly id: string;
    readonly shelfNumber: number;
    readonly title: string;
    readonly weight: number | null;
    readonly cover: Uint8Array | null;
    readonly isLent: boolean;
    readonly tags: readonly string[];
    readonly note: { readonly by: string } | null;
    readonly length: number;
    readonly addedAt: string;
    readonly lentAt: string | null;
    readonly etag: string;
  }
  books.insert(db, walden);
  const { addedAtMs, lentAtMs, lentTo, revision: _revision, ...same } = books.get(db, 'bok_1') as Book;
  expect(books.recording<BookRecord>()({ ...same, addedAtMs, lentAtMs, lentTo, revision: 3 })).toEqual({
    ...same,
    addedAt: '1970-01-01T00:00:00.000Z',
    lentAt: null,
    etag: '3',
  });
  // @ts-expect-error: the record lacks `days`, so that a surplus column cannot reach callers unnoticed.
  loans.recording<{ readonly book: string; readonly reader: string }>();
  // @ts-expect-error: the table has no `name`.
  loans.recording<{ book: string; reader: string; days: number; name: string }>();
});

test('a computed column is not hidden or unread: it would be written', () => {
  // @ts-expect-error: it is computed.
  hidden(computed('1', integer()));
  // @ts-expect-error: it is computed.
  unread(computed('1', integer()));
});
