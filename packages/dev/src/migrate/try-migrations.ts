/** `freehold migrate try`: runs the migrations that a scope lacks on a copy of it, and measures them. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadTextCopy, openNodeDatabase } from '@freehold/engine-node';
import { makeScopeUnit } from '@freehold/kernel';
import { appliedMigrations, type MigrationSet, migrate, type SqlDatabase } from '@freehold/store';
import { withLoaded } from '../build/load-project.ts';
import { DevError } from '../lib/dev-error.ts';
import { readProject, requireOneCopy } from '../project/project.ts';

export interface TriedMigrations {
  /** The newest version that the scope has; 0 for none. */
  readonly from: number;
  /** The migrations that it lacks, in their order. */
  readonly migrations: readonly TriedMigration[];
  /** Each of them holds the whole scope: it answers no call for so long, in milliseconds. */
  readonly lockedMs: number;
  /** The size of the database before and after, in bytes. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

export interface TriedMigration {
  readonly version: number;
  readonly name: string;
  /** With its commit, on this machine. */
  readonly ms: number;
  /** The rows that its statements inserted, changed and deleted. What SQLite rewrites by itself, as for a dropped column, is not counted. */
  readonly rowsWritten: number;
  /** The tables and indexes that it made, changed or dropped, and those whose number of rows it changed. */
  readonly changes: readonly SchemaChange[];
  /** The bytes of the write-ahead log. */
  readonly logBytes: number;
}

export interface SchemaChange {
  readonly type: 'table' | 'index' | 'view' | 'trigger';
  readonly name: string;
  readonly change: 'made' | 'changed' | 'dropped' | 'rows';
  /** Of a table; null where it is not there. */
  readonly rowsBefore: number | null;
  readonly rowsAfter: number | null;
}

/**
 * Tries the migrations of the application in a folder on a copy of a scope. The file itself is not changed.
 * @param file a copy as a SQLite file, or as NDJSON.
 * @throws DevError for a folder without an application, for a file that is no copy of one of its scopes, and for a
 * migration that fails, with what SQLite says.
 */
export async function tryMigrations(folder: string, file: string): Promise<TriedMigrations> {
  const project = readProject(folder);
  requireOneCopy(project);
  if (!existsSync(file)) throw new DevError('not_found', `There is no file at ${file}.`);
  return withLoaded(project, async ({ app }) => {
    const directory = mkdtempSync(join(tmpdir(), 'freehold-migrate-'));
    try {
      const path = join(directory, 'copy.sqlite');
      const unit = makeScopeUnit(app.vertical);
      if (isText(file)) await loadTextCopy({ from: file, to: path, kind: unit.kind }).catch(damaged);
      else copyFileSync(file, path);
      // The platform's own come with the platform.
      const set = unit.migrations.find(({ guarded }) => guarded);
      return tryOn(path, set as MigrationSet);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}

/** Whether a copy is lines of JSON, rather than a database. */
function isText(file: string): boolean {
  const start = Buffer.alloc(1);
  const opened = openSync(file, 'r');
  try {
    return readSync(opened, start) === 1 && start.toString() === '{';
  } finally {
    closeSync(opened);
  }
}

function damaged(cause: unknown): never {
  const { message, reason = 'copy_damaged' } = cause as Error & { readonly reason?: string };
  throw new DevError('validation_failed', message, { reason, cause });
}

function tryOn(path: string, set: MigrationSet): TriedMigrations {
  const bytesBefore = statSync(path).size;
  using opened = open(path);
  const { db } = opened.database;
  const applied = new Set(appliedMigrations(db, set.name).map(({ version }) => version));
  const migrations = set.migrations.flatMap((migration, at) => {
    if (applied.has(migration.version)) return [];
    const before = stateOf(db);
    const { ms, rowsWritten, logBytes } = applyOne(opened.database, {
      ...set,
      migrations: set.migrations.slice(0, at + 1),
    });
    const { version, name } = migration;
    return [{ version, name, ms, rowsWritten, changes: changesOf(before, stateOf(db)), logBytes }];
  });
  // A scope that has another text of one, or one that is unknown here, is refused also where nothing is missing.
  if (migrations.length === 0) applyOne(opened.database, set);
  return {
    from: Math.max(0, ...applied),
    migrations,
    lockedMs: migrations.reduce((sum, { ms }) => sum + ms, 0),
    bytesBefore,
    bytesAfter: numberOf(db, 'SELECT page_count * page_size AS n FROM pragma_page_count, pragma_page_size'),
  };
}

type Database = ReturnType<typeof openNodeDatabase>;

/** @throws DevError for a file that is no copy of a scope. */
function open(path: string): Disposable & { readonly database: Database } {
  let database: Database | undefined;
  try {
    database = openNodeDatabase(path, { ownLog: true });
    const { db, close } = database;
    if (db.get('SELECT 1 FROM sqlite_master WHERE name IN (?, ?)', '_spine_scope', '_spine_migrations')) {
      return { database, [Symbol.dispose]: close };
    }
  } catch (cause) {
    database?.close();
    throw notOfScope(cause);
  }
  database.close();
  throw notOfScope();
}

function notOfScope(cause?: unknown): DevError {
  return new DevError(
    'validation_failed',
    'The file is not a copy of a scope as a SQLite database: bring one with freehold scope pull.',
    { reason: 'copy_foreign', cause },
  );
}

/** Applies the last migration of a set as a scope does when it is opened. @throws DevError that names it. */
function applyOne(
  { db, guarded, transact, logState }: Database,
  set: MigrationSet,
): Pick<TriedMigration, 'ms' | 'rowsWritten' | 'logBytes'> {
  const [framesBefore, rowsBefore] = [logState().frames, rowsWrittenSoFar(db)];
  const startedMs = performance.now();
  try {
    transact(() =>
      migrate(db, set, {
        nowMs: Date.now(),
        through: guarded({ protectedPrefix: '_spine_', readOnly: false }),
      }),
    );
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? ` The reason: ${cause.message}.` : '';
    const { reason } = error as { reason?: string };
    throw new DevError('validation_failed', `${message}${why}`, {
      ...(reason !== undefined && { reason }),
      cause: error,
    });
  }
  return {
    ms: performance.now() - startedMs,
    // One of them is the row of the journal.
    rowsWritten: Math.max(0, rowsWrittenSoFar(db) - rowsBefore - 1),
    logBytes:
      (logState().frames - framesBefore) * numberOf(db, 'SELECT page_size AS n FROM pragma_page_size'),
  };
}

interface Thing {
  readonly type: SchemaChange['type'];
  readonly name: string;
  readonly sql: string;
  readonly rows: number | null;
}

/** Returns the application's tables, indexes and the like, by name. */
function stateOf(db: SqlDatabase): ReadonlyMap<string, Thing> {
  const things = db.all<Omit<Thing, 'rows'>>(
    `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_spine\\_%' ESCAPE '\\'
       AND tbl_name NOT LIKE '\\_spine\\_%' ESCAPE '\\'`,
  );
  return new Map(
    things.map((thing) => {
      const name = `"${thing.name.replaceAll('"', '""')}"`;
      const rows = thing.type === 'table' ? numberOf(db, `SELECT count(*) AS n FROM ${name}`) : null;
      return [thing.name, { ...thing, rows }];
    }),
  );
}

function changesOf(before: ReadonlyMap<string, Thing>, after: ReadonlyMap<string, Thing>): SchemaChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((name): SchemaChange[] => {
    const [was, is] = [before.get(name), after.get(name)];
    const change = !was ? 'made' : !is ? 'dropped' : was.sql !== is.sql ? 'changed' : 'rows';
    if (change === 'rows' && was?.rows === is?.rows) return [];
    const { type } = (is ?? was) as Thing;
    return [{ type, name, change, rowsBefore: was?.rows ?? null, rowsAfter: is?.rows ?? null }];
  });
}

function rowsWrittenSoFar(db: SqlDatabase): number {
  return numberOf(db, 'SELECT total_changes() AS n');
}

function numberOf(db: SqlDatabase, sql: string): number {
  return db.get<{ n: number }>(sql)?.n ?? 0;
}
