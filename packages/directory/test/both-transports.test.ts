/**
 * The read ladder over one scope of the real kernel, which is full: what its worker answers over HTTP and what the host
 * in this process answers are the same, with the same rows in the access log. That a filter, an order, a limit or a
 * cursor arrived is seen from the answer: without it, there is another one.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { AccessLogEntry, AdminOperationName, ScopeHealth } from '../src/admin-operations.ts';
import { ANONYMOUS, LIBRARIAN } from './library-platform.ts';
import { SERVICE } from './platform.ts';
import { CLERK, openPopulatedLibrary, type PopulatedLibrary } from './populated-library.ts';

interface Read {
  readonly name: AdminOperationName;
  readonly params?: (library: PopulatedLibrary) => Record<string, string>;
  readonly query?: (library: PopulatedLibrary) => Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  /** The same read with less said; its answer is another one. */
  readonly without?: Pick<Read, 'params' | 'query' | 'body'>;
  /** Whether there is a second page, which is read as well. */
  readonly pages?: true;
  /** Whether the access log hears of it. Default: it does. */
  readonly unlogged?: true;
}

const like = (value: string) => JSON.stringify([{ column: 'value', op: 'like', value }]);
const aDay = ({ secondDay }: PopulatedLibrary) => ({ since: secondDay });
const ofBook = ({ book }: PopulatedLibrary) => ({ entityType: 'book', entityId: book });
const loose = () => ({ table: 'loose' });

const READS: readonly Read[] = [
  { name: 'tables.list' },
  {
    name: 'tables.read',
    params: loose,
    query: () => ({ filters: like('a%') }),
    without: { params: loose },
  },
  {
    name: 'tables.read',
    params: loose,
    query: () => ({ filters: like('%x') }),
    without: { params: loose },
  },
  { name: 'tables.read', params: loose, query: () => ({ order: 'desc' }), without: { params: loose } },
  {
    name: 'tables.read',
    params: loose,
    query: () => ({ order: 'desc', limit: 2 }),
    without: { params: loose, query: () => ({ order: 'desc' }) },
    pages: true,
  },
  {
    name: 'tables.read',
    params: () => ({ table: 'books' }),
    query: () => ({ limit: 1 }),
    without: { params: loose, query: () => ({ limit: 1 }) },
    pages: true,
  },
  {
    name: 'query.run',
    body: { sql: 'SELECT n, value FROM loose WHERE n > ? AND value LIKE ? ORDER BY n', params: [1, 'a%'] },
    without: {
      body: { sql: 'SELECT n, value FROM loose WHERE n > ? AND value LIKE ? ORDER BY n', params: [4, 'a%'] },
    },
  },
  {
    name: 'query.run',
    body: { sql: 'SELECT count(*) FROM books' },
    without: { body: { sql: 'SELECT count(*) FROM notes' } },
  },
  { name: 'scopes.export', query: () => ({ format: 'ndjson' }), without: {} },
  { name: 'health.get' },
  {
    name: 'history.get',
    query: (library) => ({ ...ofBook(library), limit: 3 }),
    without: { query: ofBook },
    pages: true,
  },
  {
    name: 'history.get',
    query: () => ({ entityType: 'reader', entityId: 'rdr_ada' }),
    without: { query: ofBook },
  },
  ...(['entityType', 'actor', 'operation', 'day'] as const).map(
    (groupBy): Read => ({ name: 'facets.get', query: () => ({ groupBy }), without: {} }),
  ),
  { name: 'facets.get', query: () => ({ type: 'book.lent' }), without: {} },
  { name: 'facets.get', query: () => ({ entityType: 'loan' }), without: {} },
  { name: 'facets.get', query: () => ({ actor: CLERK }), without: {} },
  { name: 'facets.get', query: () => ({ operation: 'book/add' }), without: {} },
  { name: 'facets.get', query: aDay, without: {} },
  { name: 'facets.get', query: ({ secondDay }) => ({ until: secondDay }), without: {} },
  {
    name: 'cause.get',
    params: ({ written }) => ({ event: written.id }),
    without: { params: ({ lent }) => ({ event: lent.id }) },
  },
  {
    name: 'effects.get',
    params: ({ lent }) => ({ event: lent.id }),
    without: { params: ({ written }) => ({ event: written.id }) },
  },
  {
    name: 'invocation.get',
    params: ({ lent }) => ({ invocation: lent.invocation }),
    without: { params: ({ written }) => ({ invocation: written.invocation }) },
  },
  { name: 'dead-letters.list', query: () => ({ subscriber: 'post' }), without: {} },
  {
    name: 'dead-letters.list',
    query: () => ({ subscriber: 'reminders', limit: 1 }),
    without: { query: () => ({ subscriber: 'reminders' }) },
    pages: true,
  },
  { name: 'dead-letters.list', query: () => ({ limit: 2 }), without: {}, pages: true },
  { name: 'denials.list', query: () => ({ actor: CLERK }), without: {} },
  { name: 'denials.list', query: () => ({ permission: 'book.read' }), without: {} },
  {
    name: 'denials.list',
    query: () => ({ actor: ANONYMOUS, permission: 'book.add', limit: 2 }),
    without: { query: () => ({ actor: ANONYMOUS, permission: 'book.add' }) },
    pages: true,
  },
  { name: 'denials.summary', query: () => ({ groupBy: 'operation' }), without: {} },
  { name: 'denials.summary' },
  { name: 'migrations.get', unlogged: true },
  { name: 'bookmarks.list', query: () => ({ limit: 3 }), without: {}, pages: true, unlogged: true },
  {
    name: 'bookmarks.list',
    query: ({ secondDay }) => ({ at: secondDay }),
    without: {},
    unlogged: true,
  },
];

type Parts = Pick<Read, 'params' | 'query' | 'body'>;

/** Asks on one rung, and answers all that the caller was given, with the rows of the access log about it. */
async function ask(
  library: PopulatedLibrary,
  transport: 'bound' | 'local',
  { name, params, query, body, cursor }: Parts & { readonly name: AdminOperationName; cursor?: string },
) {
  const { call, running, at, asked } = library;
  running.rung = transport;
  const askedBefore = asked.length;
  const last = (await newestRows(library))[0]?.id ?? '';
  const {
    status,
    value,
    etag,
    body: bytes,
  } = await call(name, {
    params: { ...at, ...params?.(library) },
    query: { ...query?.(library), ...(cursor === undefined ? {} : { cursor }) },
    ...(body ? { body } : {}),
    as: SERVICE,
  });
  const copy = bytes ? Buffer.from(await new Response(bytes).arrayBuffer()).toString('latin1') : null;
  expect(asked.length > askedBefore).toBe(transport === 'bound');
  const rows = (await newestRows(library))
    .filter(({ id, actor }) => id > last && actor.id === SERVICE.id)
    .map(({ id: _id, requestId: _requestId, ...row }) => row);
  // Two answers to one question may differ in their duration alone.
  const { durationMs: _, ...told } = value as { durationMs?: number; nextCursor?: string | null };
  // The clock stands still meanwhile, so that beside these ids two rows have nothing to differ in.
  return { answer: { status, value: told, etag, copy }, nextCursor: told.nextCursor ?? null, rows };
}

/** The read of the log is itself logged, for another caller. */
async function newestRows({ value }: PopulatedLibrary): Promise<AccessLogEntry[]> {
  return (await value<{ items: AccessLogEntry[] }>('access-log.list', { query: { limit: 10 } })).items;
}

test('spec C-05, C-06, C-07, C-08, C-09, C-10: one scope answers alike by its worker and in this process, with one access row alike', async () => {
  const library = await openPopulatedLibrary();
  for (const read of READS) {
    const { name, without, pages, unlogged } = read;
    const label = `${name} ${JSON.stringify(read.query?.(library) ?? read.body ?? {})}`;
    const bound = await ask(library, 'bound', read);
    const local = await ask(library, 'local', read);
    expect(local, label).toEqual(bound);
    expect(bound.rows, label).toHaveLength(unlogged ? 0 : 1);
    for (const row of bound.rows)
      expect(row, label).toMatchObject({
        actor: SERVICE,
        operation: name,
        target: { ...library.at, vertical: 'library' },
      });
    if (without)
      for (const transport of ['bound', 'local'] as const) {
        const { answer } = await ask(library, transport, { name, ...without });
        expect(isDeepStrictEqual(answer, bound.answer), `${label} narrows nothing (${transport})`).toBe(
          false,
        );
      }
    if (!pages) continue;
    const next = { ...read, cursor: bound.nextCursor ?? 'there is no second page' };
    const second = await ask(library, 'bound', next);
    expect(await ask(library, 'local', next), `${label}, page 2`).toEqual(second);
    expect(isDeepStrictEqual(second.answer, bound.answer), `${label} turns no page`).toBe(false);
    expect(second.rows, label).toHaveLength(unlogged ? 0 : 1);
  }
  expect(library.incidents).toEqual([]);
}, 30_000);

test('and what they answer is what happened in it', async () => {
  const library = await openPopulatedLibrary();
  for (const transport of ['bound', 'local'] as const) {
    const read = async (name: AdminOperationName, parts: Parts = {}) =>
      (await ask(library, transport, { name, ...parts })).answer.value as never;
    expect(
      await read('tables.read', { params: loose, query: () => ({ order: 'desc', limit: 2 }) }),
    ).toMatchObject({
      rows: [
        [6, null, 'bz'],
        [5, null, 'az'],
      ],
      nextCursor: expect.any(String),
    });
    expect(
      await read('query.run', { body: { sql: 'SELECT n FROM loose WHERE n > ?', params: [4] } }),
    ).toMatchObject({ rows: [[5], [6]] });
    expect(await read('history.get', { query: ofBook })).toMatchObject({
      items: ['book.added', 'book.lent', 'book.lent', 'book.lent'].map((type) => ({ type })),
    });
    expect(
      await read('facets.get', { query: () => ({ groupBy: 'actor', type: 'book.added' }) }),
    ).toMatchObject({
      total: 4,
      buckets: [
        { key: CLERK, count: 3 },
        { key: LIBRARIAN, count: 1 },
      ],
    });
    const letters: { items: { event: { id: string }; subscriber: string }[] } =
      await read('dead-letters.list');
    expect(new Set(letters.items.map(({ subscriber }) => subscriber))).toEqual(
      new Set(['post', 'reminders']),
    );
    // spec C-10: newest event first
    const ids = letters.items.map(({ event }) => event.id);
    expect(ids).toEqual(ids.toSorted().reverse());
    expect(await read('denials.summary')).toMatchObject({
      total: 5,
      buckets: [{ actor: ANONYMOUS, permission: 'book.add', count: 3 }, {}, {}],
    });
    expect(await read('migrations.get')).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ version: 4, name: 'pages, and what is lent' }),
      ]),
    });
    const health: ScopeHealth = await read('health.get');
    expect(health.checks.map(({ name, status, count }) => [name, status, count])).toEqual([
      ['migrations', 'ok', expect.any(Number)],
      ['dead-letters', 'warning', ids.length],
      ['platform-requests', 'ok', 2],
    ]);
  }
});
