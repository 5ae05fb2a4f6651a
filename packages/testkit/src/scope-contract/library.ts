/**
 * The vertical that the contract suite runs: a library whose books stand on shelves in rooms and are lent to readers.
 * All that a test needs of it travels in inputs and settings, so that it may run in another process than the test.
 */
import { type ActorId, type EntityRef, entityRef, PlatformError } from '@freehold/contracts';
import { makeKeyring } from '@freehold/store';
import { z } from 'zod';
import { makeVaultUnit } from '../../../kernel/src/keys/vault-unit.ts';
import { makeScopeUnit } from '../../../kernel/src/scope-unit.ts';
import {
  defineOperations,
  defineVertical,
  operation,
  type Vertical,
} from '../../../kernel/src/vertical/vertical.ts';
import { misbehaviour } from './misbehaviour.ts';

const bookInput = z.strictObject({ book: z.string() });
const book = (input: { book: string }): EntityRef => ({ type: 'book', id: input.book });
const noteInput = z.strictObject({ reader: z.string().max(100), text: z.string().max(1_000) });

const books = defineOperations({
  'book/add': operation({
    summary: 'Add a book',
    input: z.strictObject({ title: z.string().min(1).max(60), shelf: z.string().optional() }),
    output: z.strictObject({ book: z.string() }),
    permission: 'book.add',
    run: (ctx, { title, shelf }) => {
      const id = ctx.newId('book');
      ctx.sql.run('INSERT INTO books (id, title, state) VALUES (?, ?, ?)', id, title, 'here');
      ctx.emit({ type: 'book.added', entity: { type: 'book', id }, payload: { title } });
      if (shelf !== undefined) ctx.setParent({ type: 'book', id }, { type: 'shelf', id: shelf });
      return { book: id };
    },
  }),
  'book/lend': operation({
    summary: 'Lend a book',
    input: bookInput,
    output: z.strictObject({ loan: z.string() }),
    permission: 'book.lend',
    entity: book,
    run: (ctx, input) => {
      ctx.sql.run(`UPDATE books SET state = 'lent' WHERE id = ?`, input.book);
      ctx.emit({ type: 'book.lent', entity: book(input) });
      return ctx.invoke('loan/write', input) as { loan: string };
    },
  }),
  'loan/write': operation({
    summary: 'Write a loan',
    input: bookInput,
    output: z.strictObject({ loan: z.string() }),
    permission: 'loan.write',
    run: (ctx, input) => {
      const loan = ctx.newId('loan');
      ctx.emit({ type: 'loan.written', entity: { type: 'loan', id: loan }, payload: { book: input.book } });
      return { loan };
    },
  }),
  'book/read': operation({
    summary: 'Look at a book',
    input: bookInput,
    output: z.strictObject({ title: z.string(), state: z.string() }),
    permission: 'book.read',
    entity: book,
    http: { method: 'GET', path: '/api/books/:book' },
    run: (ctx, input) => {
      const sql = 'SELECT title, state FROM books WHERE id = ?';
      const row = ctx.sql.get<{ title: string; state: string }>(sql, input.book);
      if (!row) throw new PlatformError('not_found', 'There is no such book.', { reason: 'unknown_book' });
      return { ...row };
    },
  }),
  'book/list': operation({
    summary: 'Which books one may read',
    input: z.strictObject({}),
    output: z.union([z.literal('all'), z.array(z.string())]),
    permission: 'library.browse',
    readOnly: true,
    run: (ctx) => {
      const reach = ctx.reach('book.read', 'book');
      return reach === 'all' ? reach : [...reach].sort();
    },
  }),
});

const places = defineOperations({
  'place/put': operation({
    summary: 'Put a record into another one, or (null) take it out',
    input: z.strictObject({ what: entityRef, into: entityRef.nullable() }),
    output: z.null(),
    permission: 'book.add',
    run: (ctx, { what, into }) => {
      ctx.setParent(what, into);
      return null;
    },
  }),
  'place/share': operation({
    summary: 'Let a principal read the contents of a record',
    input: z.strictObject({ what: entityRef, with: z.string(), forMs: z.int().optional() }),
    output: z.null(),
    permission: 'library.browse',
    run: (ctx, { what, with: subject, forMs }) => {
      ctx.grant({
        subject: subject as ActorId,
        permission: 'book.read',
        entity: what,
        ...(forMs === undefined ? {} : { expiresAtMs: ctx.now + forMs }),
      });
      return null;
    },
  }),
  'place/unshare': operation({
    summary: 'Take that back',
    input: z.strictObject({ what: entityRef, with: z.string() }),
    output: z.null(),
    permission: 'library.browse',
    run: (ctx, { what, with: subject }) => {
      ctx.revoke({ subject: subject as ActorId, permission: 'book.read', entity: what });
      return null;
    },
  }),
});

const readers = defineOperations({
  'reader/note': operation({
    summary: 'Note something about a reader',
    input: noteInput,
    output: z.strictObject({ noted: z.string() }),
    permission: 'loan.write',
    subjects: ({ reader }) => [reader],
    run: (ctx, { reader, text }) => {
      const entity = { type: 'reader', id: reader };
      const sealed = ctx.seal(reader, `notes.text/${reader}`, text);
      ctx.sql.run('INSERT INTO notes (reader, text) VALUES (?, ?)', reader, sealed);
      ctx.emit({ type: 'reader.noted', entity, piiClass: 'direct', subject: reader, payload: { text } });
      return { noted: text };
    },
  }),
  'reader/join': operation({
    summary: 'Register a new person, and their family',
    input: z.strictObject({ names: z.array(z.string()).max(10) }),
    output: z.array(z.string()),
    permission: 'loan.write',
    newSubjects: ({ names }) => names.length,
    run: (ctx, { names }) =>
      names.map((name) => {
        const reader = ctx.newId('rdr');
        ctx.newId('card');
        ctx.invoke('reader/note', { reader, text: name });
        return reader;
      }),
  }),
  'reader/notes': operation({
    summary: 'What is noted about a reader',
    input: z.strictObject({ reader: z.string() }),
    output: z.array(z.unknown()),
    permission: 'loan.write',
    subjects: ({ reader }) => [reader],
    readOnly: true,
    run: (ctx, { reader }) =>
      ctx.sql
        .all<{ text: string }>('SELECT text FROM notes WHERE reader = ? ORDER BY rowid', reader)
        .map(({ text }) => ctx.unseal(reader, `notes.text/${reader}`, text)),
  }),
});

const platform = defineOperations({
  'platform/ask': operation({
    summary: 'Ask the platform for something, and perhaps fail after that',
    input: z.strictObject({ kind: z.string(), payload: z.json().optional(), fail: z.boolean().optional() }),
    output: z.string(),
    permission: 'library.browse',
    run: (ctx, { kind, payload, fail }) => {
      const id = ctx.requestPlatform(kind, payload);
      if (fail) throw new PlatformError('conflict', 'Not after all.');
      return id;
    },
  }),
  'platform/told': operation({
    summary: 'What the platform answered and projected',
    input: z.strictObject({}),
    output: z.strictObject({ answers: z.unknown(), settings: z.unknown(), plan: z.unknown() }),
    permission: 'library.browse',
    readOnly: true,
    run: (ctx) => ({
      answers: ctx.platformRequests().map(({ status, result }) => ({ status, result })),
      settings: ctx.settings,
      plan: ctx.entitlement('plan'),
    }),
  }),
});

const byItself = defineOperations({
  'loan/remind': operation({
    summary: 'Remind a reader of a loan: a book titled "poison" fails it, until REPAIRED is set',
    input: z.strictObject({ event: z.string() }),
    output: z.null(),
    permission: 'loan.write',
    run: (ctx, { event }) => {
      const sql = `SELECT title FROM books WHERE id = (SELECT entity_id FROM _spine_events WHERE id = ?)`;
      const title = ctx.sql.get<{ title: string }>(sql, event)?.title;
      ctx.emit({ type: 'loan.reminded', entity: { type: 'loan', id: event } });
      if (title === 'poison' && !ctx.settings.REPAIRED)
        throw new PlatformError('invalid_transition', 'This can never work.');
      return null;
    },
  }),
  'library/tidy': operation({
    summary: 'Tidy up, every second',
    input: z.strictObject({}),
    output: z.null(),
    permission: 'loan.write',
    run: (ctx) => {
      ctx.emit({ type: 'library.tidied', entity: { type: 'room', id: 'hall' } });
      return null;
    },
  }),
});

const stamping = defineOperations({
  'book/stamp-all': operation({
    summary: 'Stamp so many books, one by one',
    input: z.strictObject({ total: z.int() }),
    output: z.string(),
    permission: 'book.add',
    run: (ctx, { total }) => ctx.startWork('book/stamp-all', { total }),
  }),
});

export const library: Vertical = defineVertical({
  manifest: {
    slug: 'library',
    name: 'Library',
    version: '1.0.0',
    permissions: {
      'book.add': 'adding books',
      'book.read': 'looking at books',
      'book.lend': 'lending books',
      'loan.write': 'writing loans',
      'library.browse': 'walking about',
    },
    roles: {
      librarian: {
        name: 'Librarian',
        permissions: ['book.add', 'book.read', 'book.lend', 'loan.write', 'library.browse'],
      },
      clerk: { name: 'Clerk', permissions: ['book.add', 'book.lend', 'library.browse'] },
      visitor: { name: 'Visitor', permissions: ['library.browse'] },
    },
    ownerRole: 'librarian',
    entities: {
      room: {},
      shelf: { parent: 'room' },
      book: { parent: 'shelf', attachments: { read: 'book.read', write: 'book.add', remove: 'book.add' } },
      folder: { parent: 'folder' },
      loan: {},
      reader: {},
    },
    services: { desk: { name: 'Desk', permissions: ['loan.write'] } },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'books',
      sql: `CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT NOT NULL, state TEXT NOT NULL) STRICT;
        CREATE TABLE notes (reader TEXT NOT NULL, text TEXT NOT NULL) STRICT`,
    },
    {
      version: 4,
      name: 'pages, and what is lent',
      sql: `CREATE TABLE pages (book TEXT, page INTEGER, content, PRIMARY KEY (book, page)) WITHOUT ROWID;
        CREATE TABLE loose (n INTEGER PRIMARY KEY AUTOINCREMENT, book TEXT REFERENCES books (id), value);
        CREATE INDEX books_state ON books (state);
        CREATE TRIGGER loose_kept BEFORE DELETE ON loose WHEN old.value = 'kept' BEGIN SELECT RAISE(ABORT, 'is kept'); END;
        CREATE VIEW lent AS SELECT id, title FROM books WHERE state = 'lent'`,
    },
  ],
  operations: defineOperations({
    ...books,
    ...places,
    ...readers,
    ...platform,
    ...byItself,
    ...stamping,
    ...misbehaviour,
  }),
  works: {
    'book/stamp-all': {
      summary: 'Stamp books',
      permission: 'book.add',
      step: (ctx, work) => {
        const done = work.done + 1;
        ctx.emit({ type: 'book.stamped', entity: { type: 'book', id: `${work.id}/${done}` } });
        work.rows.put([{ number: done, status: 'stamped', value: null, note: null }]);
        work.save({ done, next: done === work.total ? 'end' : 'run' });
      },
    },
  },
  subscriptions: {
    reminders: { on: ['book.lent'], operation: 'loan/remind', as: 'desk', attemptsMax: 2 },
  },
  executors: {
    // The suite takes claimed deliveries itself, so that this is never run.
    post: { on: ['loan.written'], as: 'desk', attemptsMax: 2, run: () => Promise.resolve() },
  },
  schedules: {
    tidying: { cron: '* * * * * *', operation: 'library/tidy', as: 'desk' },
  },
  onShred: ({ sql }, subject) => sql.run('DELETE FROM notes WHERE reader = ?', subject),
  reseal: ({ sql, reseal }) => {
    for (const { id, reader, text } of sql.all<{ id: number; reader: string; text: string }>(
      'SELECT rowid AS id, reader, text FROM notes',
    )) {
      const anew = reseal(reader, `notes.text/${reader}`, text);
      if (anew === null) sql.run('DELETE FROM notes WHERE rowid = ?', id);
      else sql.run('UPDATE notes SET text = ? WHERE rowid = ?', anew, id);
    }
  },
});

/** The units of an environment under test: its engine must host both kinds. */
export const libraryUnit = makeScopeUnit(library);
export const libraryVaultUnit = makeVaultUnit(
  makeKeyring(['a sealing key of the contract suite, long enough']),
);
