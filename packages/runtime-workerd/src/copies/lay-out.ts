/** Makes the files of an instance again from its copy: after a restore from the archive, or the loss of a file. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import type { CopiedDatabase, CopyCalls, CopyState } from './copy-unit.ts';
import { isEmptied, isFileOf, objectIdOf, objectsIn } from './object-files.ts';

const expand = promisify(zstdDecompress);

/** Changes a database of an instance before it is used: it is older than other units know. */
export type ChangeLaidOut = (database: DatabaseSync) => void;

export interface LayOutOptions {
  /** The folder of all processes. */
  readonly folder: string;
  /** The id of the object. */
  readonly object: string;
  readonly copy: Pick<CopyCalls, 'state' | 'pages'>;
  readonly changeOlder: ChangeLaidOut;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The wait until work is looked for that the instance may have had. Many may be laid out at once. */
const SPREAD_MS = 60_000;
const NEW = '.laying-out';

/**
 * Lays out an instance of which a file is missing; does nothing for one that is whole. No process of its vertical runs.
 * @returns whether it was laid out.
 */
export async function layOut(options: LayOutOptions): Promise<boolean> {
  const { object, copy } = options;
  const state = await copy.state({});
  if (!state) return false;
  const folder = join(options.folder, requireSlug(state.vertical));
  const directory = objectsIn(folder);
  const names = [...state.databases.map(({ name }) => name), ...(state.facets ? [state.facets.name] : [])];
  if (!names.every((name) => isFileOf(object, name)))
    throw new Error(`the copy of ${object} names other files`);
  const isWhole =
    names.every((name) => existsSync(join(directory, name))) &&
    !state.databases.some((database) => isEmptied(directory, database));
  if (isWhole) return false;
  if (state.isDisowned)
    throw new Error(
      `a file of ${object} is gone, and its copy is of before a time without an archive: restore it from a backup`,
    );
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const database of state.databases)
    await writeDatabase(join(directory, database.name), database, options);
  if (state.facets) await writeWhole(join(directory, state.facets.name), state.facets.bytes);
  // A log of before would be taken for one of the new file.
  for (const { name } of state.databases)
    for (const end of ['-wal', '-shm']) rmSync(join(directory, name + end), { force: true });
  for (const name of names) await rename(join(directory, name + NEW), join(directory, name));
  wakeLater(directory, options, state);
  return true;
}

async function writeDatabase(
  path: string,
  { name, pageSize, pages }: CopiedDatabase,
  { copy, changeOlder }: LayOutOptions,
): Promise<void> {
  rmSync(path + NEW, { force: true });
  const file = await open(path + NEW, 'wx', 0o600);
  try {
    let count = 0;
    for (let after = 0; after < pages; ) {
      const some = await copy.pages({ name, after });
      for (const { page, bytes } of some) {
        if (page > pages) continue;
        await file.write(await expand(bytes), 0, pageSize, (page - 1) * pageSize);
        count += 1;
      }
      after = some.at(-1)?.page ?? pages;
    }
    if (count !== pages) throw new Error(`of ${pages} pages of ${name}, its copy has ${count}`);
    await file.sync();
  } finally {
    await file.close();
  }
  if (pages === 0) return;
  const database = new DatabaseSync(path + NEW);
  try {
    database.exec('PRAGMA trusted_schema = OFF');
    database.enableDefensive(true);
    requirePlain(database, name);
    changeOlder(database);
    // The one file has everything.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

/** The bundle wrote it: what it hung on the platform's table would run here. */
function requirePlain(database: DatabaseSync, name: string): void {
  const foreign = database
    .prepare(
      `SELECT 1 FROM sqlite_master WHERE name = '_spine_scope' AND type <> 'table'
         OR tbl_name = '_spine_scope' AND type = 'trigger'`,
    )
    .get();
  if (foreign) throw new Error(`the table of the platform in ${name} is not as the platform made it`);
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  rmSync(path + NEW, { force: true });
  const file = await open(path + NEW, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The alarms were true of one moment: each instance that is laid out looks for its due work. */
function wakeLater(directory: string, { object, now }: LayOutOptions, { databases }: CopyState): void {
  const scope = databases.map(({ name }) => scopeIn(join(directory, name))).find((found) => found !== null);
  // The instance says whose it is, and its id whether that is true.
  if (scope === undefined || scope === null || objectIdOf(scope) !== object) return;
  const alarms = new DatabaseSync(join(directory, 'metadata.sqlite'));
  try {
    alarms.exec(
      `PRAGMA journal_mode = WAL;
       CREATE TABLE IF NOT EXISTS _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER, actor_name TEXT) WITHOUT ROWID`,
    );
    const atNs = BigInt(now() + Math.floor(Math.random() * SPREAD_MS)) * 1_000_000n;
    alarms
      .prepare('INSERT OR REPLACE INTO _cf_ALARM (actor_id, scheduled_time, actor_name) VALUES (?, ?, ?)')
      .run(...[object, atNs, scope]);
  } finally {
    alarms.close();
  }
}

/** Null for a database that is no scope's. */
function scopeIn(path: string): string | null {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const row = database.prepare('SELECT scope_id AS scope FROM _spine_scope').get();
    return typeof row?.scope === 'string' ? row.scope : null;
  } catch {
    return null;
  } finally {
    database.close();
  }
}

/** It becomes the name of a folder. */
function requireSlug(vertical: string): string {
  if (/^[a-z][a-z0-9-]{0,63}$/.test(vertical)) return vertical;
  throw new Error('a copy of an instance names no vertical');
}
