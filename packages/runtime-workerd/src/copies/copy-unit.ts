/**
 * The copy of an instance's databases, page by page, beside the platform's other units: so that it is durable, archived and
 * restored as they are. All databases of a copy are of one reading.
 */
import { defineUnit, type SqlDatabase, type UnitDefinition, type UnitStub } from '@freehold/store';
import { DIGEST_BYTES, type ReadState } from './read-changes.ts';

/** One database of a copy. */
export interface CopiedDatabase extends ReadState {
  /** The name of its file. */
  readonly name: string;
}

export interface CopyState {
  readonly vertical: string;
  readonly databases: readonly CopiedDatabase[];
  /** The list of facets: its name and its contents. */
  readonly facets: { readonly name: string; readonly bytes: Uint8Array } | null;
}

/** A copy as it is kept. */
export interface KeptCopy extends CopyState {
  /** Whether the databases went on without it: it is too old to take their place. */
  readonly isDisowned: boolean;
}

export interface CopiedPage {
  readonly page: number;
  readonly digest: Uint8Array;
  /** Compressed (Zstandard). */
  readonly bytes: Uint8Array;
}

/** Pages of one database. */
export interface CopiedPages {
  readonly name: string;
  readonly pages: readonly CopiedPage[];
}

export type CopyMethods = {
  state(input: Record<never, never>): KeptCopy | null;
  /** For each page from `after` on: its number (4 bytes) and its digest. At most {@link LISTED_MAX} pages. */
  digests(input: { readonly name: string; readonly after: number }): Uint8Array;
  /** The pages of a database after one of them, some at a time; none after the last. */
  pages(input: { readonly name: string; readonly after: number }): CopiedPage[];
  /** Keeps pages of the next reading. `isFirst` drops those of a reading that did not come to its end. */
  keep(input: CopiedPages & { readonly isFirst: boolean }): null;
  /** Ends a reading: with these pages, and all that {@link CopyMethods.keep} kept, it is the copy. */
  finish(input: CopyState & { readonly isFirst: boolean; readonly last: readonly CopiedPages[] }): {
    readonly isTidy: boolean;
  };
  /** Notes that the databases go on without this copy, until the next reading. */
  disown(input: Record<never, never>): null;
  /** Removes pages that the last reading replaced, some at a time. */
  tidy(input: Record<never, never>): { readonly isTidy: boolean };
};

export type CopyCalls = UnitStub<CopyMethods>;
export type CopyUnit = UnitDefinition<CopyMethods>;

export const LISTED_MAX = 5_000;
const ENTRY_BYTES = 4 + DIGEST_BYTES;
const PAGES_MAX = 256;
const REMOVED_MAX = 2_000;

/** The unit: kind `deployed-copies`, keyed by the id of the instance's object. */
export const copyUnit: CopyUnit = defineUnit<CopyMethods>({
  kind: 'deployed-copies',
  migrations: [
    {
      name: 'copies',
      migrations: [
        {
          version: 1,
          name: 'pages of the databases of an instance',
          // A page has the number of its reading, and counts once `reading` says that the reading is whole. Pages that the
          // readings up to `tidied` replaced are gone.
          sql: `
  CREATE TABLE copy (
    one INTEGER PRIMARY KEY CHECK (one = 1), reading INTEGER NOT NULL, tidied INTEGER NOT NULL, state TEXT NOT NULL, facets BLOB,
    disowned INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE pages (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, page INTEGER NOT NULL, reading INTEGER NOT NULL,
    digest BLOB NOT NULL, bytes BLOB NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX pages_page ON pages (name, page, reading);
  CREATE INDEX pages_reading ON pages (reading);`,
        },
      ],
    },
  ],
  queries: ['state', 'digests', 'pages'],
  open: ({ db }) => ({
    state: () => stateOf(db),
    digests: ({ name, after }) => digestsOf(db, name, after),
    pages: ({ name, after }) =>
      db.all<CopiedPage>(
        `SELECT page, digest, bytes FROM pages p WHERE name = ?1 AND page > ?2 AND reading = (
           SELECT max(reading) FROM pages n WHERE n.name = p.name AND n.page = p.page AND n.reading <= ?3
         ) ORDER BY page LIMIT ${PAGES_MAX}`,
        ...[name, after, readingOf(db)],
      ),
    keep: ({ name, pages, isFirst }) => {
      if (isFirst) dropUnfinished(db);
      keepPages(db, { name, pages });
      return null;
    },
    finish: ({ isFirst, last, facets, ...state }) => {
      if (isFirst) dropUnfinished(db);
      for (const pages of last) keepPages(db, pages);
      const names = { ...state, facets: facets?.name ?? null };
      for (const { name } of stateOf(db)?.databases ?? [])
        if (!state.databases.some((database) => database.name === name))
          db.run('DELETE FROM pages WHERE name = ?', name);
      db.run(
        `INSERT INTO copy (one, reading, tidied, state, facets) VALUES (1, ?, 0, ?, ?)
           ON CONFLICT DO UPDATE SET reading = excluded.reading, state = excluded.state, facets = excluded.facets,
             disowned = 0`,
        ...[readingOf(db) + 1, JSON.stringify(names), facets?.bytes ?? null],
      );
      return { isTidy: tidy(db) };
    },
    disown: () => {
      db.run('UPDATE copy SET disowned = 1');
      return null;
    },
    tidy: () => ({ isTidy: tidy(db) }),
  }),
});

/** The number of the last reading that is whole. */
function readingOf(db: SqlDatabase): number {
  return db.get<{ reading: number }>('SELECT reading FROM copy')?.reading ?? 0;
}

function stateOf(db: SqlDatabase): KeptCopy | null {
  const row = db.get<{ state: string; facets: Uint8Array | null; disowned: number }>(
    'SELECT state, facets, disowned FROM copy',
  );
  if (!row) return null;
  const { facets: name, ...state } = JSON.parse(row.state) as Omit<CopyState, 'facets'> & {
    facets: string | null;
  };
  const facets = name !== null && row.facets ? { name, bytes: row.facets } : null;
  return { ...state, facets, isDisowned: row.disowned === 1 };
}

function digestsOf(db: SqlDatabase, name: string, after: number): Uint8Array {
  const rows = db.all<{ page: number; digest: Uint8Array }>(
    // Of a page with two readings the later one is written over the earlier one.
    `SELECT page, digest FROM pages WHERE name = ? AND page > ? AND reading <= ? ORDER BY page, reading LIMIT ${LISTED_MAX}`,
    ...[name, after, readingOf(db)],
  );
  const listed = Buffer.alloc(rows.length * ENTRY_BYTES);
  rows.forEach(({ page, digest }, index) => {
    listed.writeUInt32BE(page, index * ENTRY_BYTES);
    listed.set(digest, index * ENTRY_BYTES + 4);
  });
  return listed;
}

/** Yields what `digests` listed. */
export function* listedDigests(
  listed: Uint8Array,
): Generator<{ readonly page: number; readonly digest: Uint8Array }> {
  const bytes = Buffer.from(listed.buffer, listed.byteOffset, listed.byteLength);
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES)
    yield { page: bytes.readUInt32BE(at), digest: bytes.subarray(at + 4, at + ENTRY_BYTES) };
}

function keepPages(db: SqlDatabase, { name, pages }: CopiedPages): void {
  const reading = readingOf(db) + 1;
  for (const { page, digest, bytes } of pages)
    db.run(
      `INSERT INTO pages (name, page, reading, digest, bytes) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (name, page, reading) DO UPDATE SET digest = excluded.digest, bytes = excluded.bytes`,
      ...[name, page, reading, digest, bytes],
    );
}

function dropUnfinished(db: SqlDatabase): void {
  db.run('DELETE FROM pages WHERE reading > ?', readingOf(db));
}

/** Removes pages that a later reading replaced, and those behind the end of a database. */
function tidy(db: SqlDatabase): boolean {
  const ends = (stateOf(db)?.databases ?? []).map(({ name, pages }) => ({ name, pages }));
  const reading = readingOf(db);
  const old = db.all<{ id: number }>(
    `SELECT o.id FROM pages n JOIN pages o ON o.name = n.name AND o.page = n.page AND o.reading < n.reading
       WHERE n.reading > (SELECT tidied FROM copy) AND n.reading <= ?1
     UNION SELECT p.id FROM json_each(?2) e JOIN pages p ON p.name = e.value ->> 'name' AND p.page > e.value ->> 'pages'
     LIMIT ${REMOVED_MAX}`,
    ...[reading, JSON.stringify(ends)],
  );
  for (const { id } of old) db.run('DELETE FROM pages WHERE id = ?', id);
  if (old.length === REMOVED_MAX) return false;
  db.run('UPDATE copy SET tidied = ?', reading);
  return true;
}
