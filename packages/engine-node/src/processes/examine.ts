/** Checks a staged database before any of it is trusted. Runs in the copy process. */
import { closeSync, openSync, readSync } from 'node:fs';
import { copyDamaged } from '../lib/fault.ts';
import { syncClosed } from './copied-file.ts';
import { quoted, tablesOf } from './ndjson.ts';
import { isWhole, openCopy } from './settled-database.ts';

export interface Examined {
  readonly tables: number;
  readonly rows: number;
}

/** SQLite, "Database File Format", 1.2. */
const MAGIC = 'SQLite format 3\0';

/**
 * Checks the file and puts it into the journal mode of units.
 * @throws Fault `copy_damaged`.
 */
export async function examine({ database: path }: { readonly database: string }): Promise<Examined> {
  requireDatabase(path);
  try {
    const examined = examineOpen(path);
    enterLogMode(path);
    await syncClosed(path);
    return examined;
  } catch (error) {
    const isFromSqlite = typeof (error as { errcode?: unknown }).errcode === 'number';
    throw isFromSqlite ? copyDamaged('SQLite cannot read it', error) : error;
  }
}

function examineOpen(path: string): Examined {
  const database = openCopy(path);
  try {
    if (!isWhole(database)) throw copyDamaged('its pages do not fit together');
    // SQLite, "PRAGMA foreign_key_check".
    if (database.prepare('PRAGMA foreign_key_check').get())
      throw copyDamaged('rows refer to rows that are missing');
    const tables = tablesOf(database).filter(({ name }) => name !== 'sqlite_sequence');
    let rows = 0;
    for (const { name } of tables)
      rows += Number(database.prepare(`SELECT count(*) AS n FROM ${quoted(name)}`).get()?.n);
    return { tables: tables.length, rows };
  } finally {
    database.close();
  }
}

/** Uses a connection of its own: after an integrity check SQLite refuses to empty the log. */
function enterLogMode(path: string): void {
  const database = openCopy(path);
  try {
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

function requireDatabase(path: string): void {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(MAGIC.length);
    readSync(file, start, 0, start.length, 0);
    if (start.toString('latin1') !== MAGIC) throw copyDamaged('it is no SQLite database');
  } finally {
    closeSync(file);
  }
}
