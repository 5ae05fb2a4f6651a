/** The contract of copies: of one moment, restored whole or not at all, and never with an erased person. */
import type { ExportFormat } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import type { ScopeHostSetup } from './index.ts';
import { streamOf } from './memory-blob-store.ts';
import {
  anonymous,
  clerk,
  type Library,
  librarian,
  newScopeId,
  observed,
  openLibrary,
  otherTenant,
  visitor,
  withCapability,
} from './world.ts';

const ENGINE_CANNOT = { code: 'unsupported', reason: 'engine_cannot' };
const FORMATS: readonly ExportFormat[] = ['sqlite', 'ndjson'];

const bytesOf = async (body: ReadableStream<Uint8Array>) =>
  new Uint8Array(await new Response(body).arrayBuffer());

async function exported({ host, ref }: Library, format: ExportFormat): Promise<Uint8Array> {
  return bytesOf((await host.exportScopeLocal({ ...ref, format })).body);
}

function restore({ host, ref }: Library, format: ExportFormat, bytes: Uint8Array) {
  return host.restoreScopeLocal({ ...ref, format }, streamOf(bytes, 1_000));
}

/** Everything that is in the vertical's tables, with the type of each value. */
async function contents({ ask }: Library): Promise<unknown> {
  const all = (sql: string) => ask(librarian, 'test/read-sql', { sql });
  return [
    await all('SELECT * FROM books ORDER BY id'),
    await all('SELECT n, book, typeof(value) AS type, hex(value) AS value FROM loose ORDER BY n'),
    await all('SELECT book, typeof(page) AS type, page FROM pages ORDER BY 1, 2'),
    await all('SELECT id FROM lent ORDER BY id'),
  ];
}

/** Rows of every kind that a copy could lose or change. */
async function fill({ run, add }: Library): Promise<string> {
  const book = await add('It’s "quoted"\n\u2028 and \0 all 🌍');
  await run(librarian, 'book/lend', { book });
  const sql = `INSERT INTO loose (n, book, value) VALUES (1, '${book}', NULL), (2, NULL, 1.0), (3, NULL, 1), (4, NULL, 'text'),
    (5, NULL, ''), (6, NULL, x'00ff10'), (7, NULL, x''), (8, NULL, 9223372036854775807), (9, NULL, -9007199254740993),
    (10, NULL, 0.1), (11, NULL, 1e300), (12, NULL, 'kept'), (40, NULL, 1e999), (41, NULL, -1e999), (50, NULL, 'gone')`;
  await run(librarian, 'test/sql', { sql, how: 'run' });
  await run(librarian, 'test/sql', { sql: 'DELETE FROM loose WHERE n = 50', how: 'run' });
  await run(librarian, 'test/sql', {
    sql: `INSERT INTO pages VALUES ('a', 1, NULL), ('a', 2, 'x')`,
    how: 'run',
  });
  return book;
}

export function copyContract(setup: ScopeHostSetup): void {
  const { copies } = setup.capabilities;
  const formats = 'missing' in copies ? FORMATS : copies;
  withCapability(
    'a copy',
    { capability: copies, on: setup.name },
    () => {
      describe.each(formats)('as %s', (format) => restoreContract(setup, format));
      snapshotContract(setup, formats[0] ?? 'ndjson');
      for (const format of FORMATS.filter((each) => !formats.includes(each))) {
        test(`as ${format} is answered with unsupported`, async () => {
          const opened = await openLibrary(setup);
          await expect(exported(opened, format)).rejects.toMatchObject(ENGINE_CANNOT);
          await expect(restore(opened, format, new Uint8Array(1))).rejects.toMatchObject(ENGINE_CANNOT);
          await opened.add();
        });
      }
    },
    () => {
      test('each is answered with unsupported', async () => {
        const opened = await openLibrary(setup);
        const { host, ref } = opened;
        for (const format of FORMATS) {
          await expect(exported(opened, format)).rejects.toMatchObject(ENGINE_CANNOT);
          await expect(restore(opened, format, new Uint8Array(1))).rejects.toMatchObject(ENGINE_CANNOT);
        }
        await expect(host.snapshotScopeLocal(ref)).rejects.toMatchObject(ENGINE_CANNOT);
        await expect(host.listSnapshotsLocal(ref)).rejects.toMatchObject(ENGINE_CANNOT);
        await expect(host.deleteScopeLocal(ref)).rejects.toMatchObject(ENGINE_CANNOT);
        await opened.add();
      });
    },
  );
}

function restoreContract(setup: ScopeHostSetup, format: ExportFormat): void {
  test('brings everything back as it was, and nothing that came after it', async () => {
    const opened = await openLibrary(setup);
    const { host, ref, run } = opened;
    const book = await fill(opened);
    const [before, counts] = [await contents(opened), await host.introspectScopeTables(ref)];
    const copy = await host.exportScopeLocal({ ...ref, format });
    expect(copy.format).toBe(format);
    const bytes = await bytesOf(copy.body);
    await run(librarian, 'test/sql', { sql: `DELETE FROM pages`, how: 'run' });
    await run(librarian, 'test/sql', { sql: `UPDATE loose SET value = 'x' WHERE n = 1`, how: 'run' });
    await opened.add('later');
    const restored = await restore(opened, format, bytes);
    expect(restored).toMatchObject({ format, tables: expect.any(Number), rows: expect.any(Number) });
    expect(restored.rows).toBeGreaterThan(15);
    expect(await contents(opened)).toEqual(before);
    expect(await host.introspectScopeTables(ref)).toEqual(counts);
    const history = { ...ref, entityType: 'book', entityId: book, limit: 5 };
    expect((await host.entityHistoryLocal(history)).items.map(({ type }) => type)).toEqual([
      'book.added',
      'book.lent',
    ]);
    await opened.reopen();
    expect(await contents(opened)).toEqual(before);
    expect(observed.incidents).toEqual([]);
  });

  test('brings indexes, triggers, views, counters and keys back, and they work', async () => {
    const opened = await openLibrary(setup);
    await fill(opened);
    const sql = (text: string) => opened.run(librarian, 'test/sql', { sql: text, how: 'run' });
    const schema = () =>
      opened.ask(librarian, 'test/read-sql', {
        sql: `SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND tbl_name NOT LIKE '_spine_copy_%' ORDER BY type, name`,
      });
    const before = await schema();
    await restore(opened, format, await exported(opened, format));
    expect(await schema()).toEqual(before);
    await expect(sql(`DELETE FROM loose WHERE value = 'kept'`)).rejects.toMatchObject({ code: 'internal' });
    await expect(sql(`INSERT INTO loose (book) VALUES ('nowhere')`)).rejects.toMatchObject({
      code: 'internal',
    });
    await expect(sql(`INSERT INTO pages VALUES ('a', 1, 'again')`)).rejects.toMatchObject({
      code: 'internal',
    });
    await sql(`INSERT INTO loose (value) VALUES ('next')`);
    const { rows } = await opened.host.introspectScopeTable({
      ...opened.ref,
      table: 'loose',
      filters: [{ column: 'value', op: '=', value: 'next' }],
      order: 'asc',
      limit: 5,
    });
    // A lost counter would give a used number again.
    expect(rows.map(([n]) => n)).toEqual([51]);
  });

  test('brings settings back, and leaves every role as it is today', async () => {
    const opened = await openLibrary(setup);
    const { scope } = opened;
    await scope.projectSettings({ settings: { COLOUR: 'green' } });
    await scope.projectRoles({ roles: { reader: ['book.read', 'book.add'] } });
    const bytes = await exported(opened, format);
    await scope.projectRoles({ roles: { reader: ['book.read'] } });
    await scope.setRoles({ principal: clerk, roles: ['reader'], by: 'platform' });
    await scope.assignRole({ principal: anonymous, role: 'librarian', by: 'platform' });
    await scope.projectSettings({ settings: { COLOUR: 'red' } });
    await restore(opened, format, bytes);
    expect((await scope.holdings({ principal: clerk })).permissions).toEqual(['book.read']);
    await opened.run(anonymous, 'book/list', {});
    expect(await opened.ask(visitor, 'platform/told', {})).toMatchObject({ settings: { COLOUR: 'green' } });
  });

  test('shows one moment, whatever is written meanwhile', async () => {
    const opened = await openLibrary(setup);
    await Promise.all(Array.from({ length: 20 }, () => opened.add()));
    const writing = Array.from({ length: 30 }, () => opened.add());
    const bytes = await exported(opened, format);
    await Promise.all(writing);
    await restore(opened, format, bytes);
    const [books, events, invocations] = await opened.count('books', '_spine_events', '_spine_invocations');
    expect(books).toBeGreaterThanOrEqual(20);
    expect([events, invocations]).toEqual([books, books]);
  });

  test('makes no id again that the scope had made before', async () => {
    const opened = await openLibrary(setup);
    const bytes = await exported(opened, format);
    const later = await opened.add();
    await restore(opened, format, bytes);
    expect([later, await opened.add()]).toEqual([later, expect.not.stringMatching(later)]);
  });

  // spec C-20: what was erased stays erased, in whatever is brought back.
  test('does not bring an erased person back', async () => {
    const opened = await openLibrary(setup);
    const { host, ref, run, scope } = opened;
    const once = () =>
      run(librarian, 'reader/note', { reader: 'rdr_ada', text: 'Ada' }, { idempotencyKey: 'k' });
    await once();
    await run(librarian, 'reader/note', { reader: 'rdr_bob', text: 'Bob' });
    const bytes = await exported(opened, format);
    const receipt = await host.shredSubjectLocal({ ...ref, subject: 'rdr_ada' });
    await restore(opened, format, bytes);
    const payload = async (id: string) =>
      (await scope.history({ entity: { type: 'reader', id }, limit: 5 })).items[0]?.payload;
    expect(await payload('rdr_ada')).toEqual({ $shredded: { at: receipt.shreddedAt } });
    expect(await payload('rdr_bob')).toEqual({ text: 'Bob' });
    expect(await opened.ask(librarian, 'reader/notes', { reader: 'rdr_ada' })).toEqual([]);
    expect(await opened.ask(librarian, 'reader/notes', { reader: 'rdr_bob' })).toEqual(['Bob']);
    // That the key was used is still known: a repeat acts no second time.
    await expect(once()).rejects.toMatchObject({ reason: 'idempotency_answer_erased' });
    expect(await opened.count('notes', '_spine_idempotency')).toEqual([1, 1]);
  });

  test('of another tenant’s scope changes nothing', async () => {
    const other = await openLibrary(setup, { tenantId: otherTenant, scopeId: newScopeId() });
    await other.add('theirs');
    const bytes = await exported(other, format);
    const opened = await openLibrary(setup);
    await opened.add('mine');
    await expect(restore(opened, format, bytes)).rejects.toMatchObject({
      code: 'validation_failed',
      reason: 'copy_foreign',
    });
    expect(await opened.ask(librarian, 'test/read-sql', { sql: 'SELECT title FROM books' })).toEqual([
      { title: 'mine' },
    ]);
    await opened.add();
  });

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ['cut short', (bytes) => bytes.subarray(0, bytes.length - 40)],
    ['cut in half', (bytes) => bytes.subarray(0, bytes.length >> 1)],
    [
      // In a database file this is the first byte of a page, which says what the page is.
      'changed in one place',
      (bytes) => {
        const place = (bytes.length >> 1) & ~4_095;
        return bytes.with(place, (bytes[place] as number) ^ 1);
      },
    ],
    ['empty', () => new Uint8Array()],
    ['something else', () => new TextEncoder().encode('{"not": "a copy"}\n'.repeat(50))],
  ])('that is damaged changes nothing: %s', async (_name, damage) => {
    const opened = await openLibrary(setup);
    await fill(opened);
    const before = await contents(opened);
    const bytes = await exported(opened, format);
    await expect(restore(opened, format, damage(bytes))).rejects.toMatchObject({
      code: 'validation_failed',
      reason: expect.stringMatching(/^copy_(?:damaged|foreign)$/),
    });
    expect(await contents(opened)).toEqual(before);
    await opened.reopen();
    expect(await contents(opened)).toEqual(before);
    await restore(opened, format, bytes);
    expect(await contents(opened)).toEqual(before);
  });

  test('whose sender breaks off changes nothing', async () => {
    const opened = await openLibrary(setup);
    await opened.add();
    const bytes = await exported(opened, format);
    let sent = 0;
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (sent > bytes.length / 2) return controller.error(new Error('the line is down'));
        controller.enqueue(bytes.slice(sent, sent + 500));
        sent += 500;
      },
    });
    await expect(opened.host.restoreScopeLocal({ ...opened.ref, format }, broken)).rejects.toThrow();
    expect(await opened.count('books')).toEqual([1]);
    await restore(opened, format, bytes);
  });

  test('that is not read to its end delays no other call', async () => {
    const opened = await openLibrary(setup);
    const { host, ref } = opened;
    await fill(opened);
    const { body } = await host.exportScopeLocal({ ...ref, format });
    const reader = body.getReader();
    await reader.read();
    await opened.add();
    await reader.cancel();
    await opened.add();
    const bytes = await exported(opened, format);
    await restore(opened, format, bytes);
    expect(await opened.count('books')).toEqual([3]);
  });
}

function snapshotContract(setup: ScopeHostSetup, format: ExportFormat): void {
  test('is kept under a name, listed newest first, opened and taken away', async () => {
    const opened = await openLibrary(setup);
    const { host, ref } = opened;
    await opened.add('kept');
    const first = await host.snapshotScopeLocal({ ...ref, name: 'before the move' });
    expect(first).toMatchObject({
      id: expect.stringMatching(/^snp_/),
      name: 'before the move',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await opened.pass(5);
    await opened.add('later');
    const second = await host.snapshotScopeLocal(ref);
    expect(second.name).toBeNull();
    await opened.reopen();
    expect(await host.listSnapshotsLocal(ref)).toEqual([second, first]);
    const copy = await host.openSnapshotLocal({ ...ref, snapshot: first.id });
    const bytes = await bytesOf(copy.body);
    expect(bytes.length).toBe(first.bytes);
    await restore(opened, copy.format, bytes);
    expect(await opened.ask(librarian, 'test/read-sql', { sql: 'SELECT title FROM books' })).toEqual([
      { title: 'kept' },
    ]);
    expect(await host.listSnapshotsLocal(ref)).toEqual([second, first]);
    await host.deleteSnapshotLocal({ ...ref, snapshot: first.id });
    expect(await host.listSnapshotsLocal(ref)).toEqual([second]);
    for (const gone of [first.id, 'snp_01j00000000000000000000009'])
      await expect(host.openSnapshotLocal({ ...ref, snapshot: gone })).rejects.toMatchObject({
        code: 'not_found',
        reason: 'unknown_snapshot',
      });
  });

  test('of one scope is none of another', async () => {
    const [one, other] = [await openLibrary(setup), await openLibrary(setup)];
    const { id } = await one.host.snapshotScopeLocal(one.ref);
    expect(await other.host.listSnapshotsLocal(other.ref)).toEqual([]);
    await expect(other.host.openSnapshotLocal({ ...other.ref, snapshot: id })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('goes with its scope, and a scope that was deleted is as if it had never been', async () => {
    const opened = await openLibrary(setup);
    const { host, ref, run, scope } = opened;
    await opened.add();
    await host.snapshotScopeLocal(ref);
    const bytes = await exported(opened, format);
    await opened.pass(5);
    await host.deleteScopeLocal(ref);
    await expect(run(librarian, 'book/list', {})).rejects.toMatchObject({ code: 'not_found' });
    await expect(scope.work({})).rejects.toMatchObject({ code: 'not_found' });
    await expect(host.listSnapshotsLocal(ref)).rejects.toMatchObject({ code: 'not_found' });
    await expect(host.deleteScopeLocal(ref)).rejects.toMatchObject({ code: 'not_found' });
    await opened.reopen();
    expect(await host.provisionScopeLocal({ ...ref, name: 'New' })).toBe('provisioned');
    expect(await opened.count('books', '_spine_assignments')).toEqual([0, 0]);
    expect(await host.listSnapshotsLocal(ref)).toEqual([]);
    await restore(opened, format, bytes);
    expect(await opened.count('books', '_spine_assignments')).toEqual([1, 3]);
  });
}
