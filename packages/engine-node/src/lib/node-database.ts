/** The `SqlDatabase` port on `node:sqlite`: prepared statements are cached, and a guard checks the SQL of verticals. */
import { existsSync } from 'node:fs';
import { constants, DatabaseSync, type StatementSync } from 'node:sqlite';
import {
  assertBindable,
  type CheckedStatement,
  checkScript,
  checkStatement,
  type GuardOptions,
  type SqlDatabase,
  type SqlValue,
  StatementRefused,
  TransactionLost,
} from '@freehold/store';
import { isRefused } from './guard.ts';
import { makePrivateFile } from './private-file.ts';
import { isDamaged, isNotAuthorized, isStorageFailure, isUnreadable } from './sqlite-errors.ts';

/** The number of prepared statements that one view of a database caches; the least recently used is dropped first. */
const STATEMENTS_MAX = 256;

/** A database file with one connection: the single writer of its unit. */
export interface NodeDatabase {
  readonly db: SqlDatabase;
  /** Returns one view for each set of options, with its prepared statements. */
  guarded(options: GuardOptions): SqlDatabase;
  /** Runs `work` in one transaction, durable when this returns (`synchronous=FULL`). */
  transact(work: () => void): void;
  /** Returns the number of committed frames in the write-ahead log, and the number of them that are in the file too. */
  logState(): LogState;
  /**
   * Moves the log into the file and restarts it. Returns false, without harm, when another connection reads the
   * database. `truncate` also empties the log's file. That costs: a log that is overwritten is synchronised faster
   * than one that grows.
   */
  emptyLog(mode: 'restart' | 'truncate'): boolean;
  /**
   * Sets whether SQLite empties the log by itself, at its default of 1,000 frames. True unless the engine manages the
   * log.
   */
  emptyLogByItself(does: boolean): void;
  /**
   * Keeps SQLite's temporary pages in memory: the pages for each call's savepoint become a file beyond 64 KB
   * otherwise, which takes as long as the rest of a small call. Not before the migrations are through, because sorting
   * for an index of a large table may need more memory than there is.
   */
  keepTempInMemory(): void;
  close(): void;
  /** Closes without moving the log into the file: the log stays for the next opening. */
  closeWithLog(): void;
  /** Returns a copy of the whole database, for {@link NodeDatabaseOptions.image}. */
  image(): Uint8Array;
}

export interface LogState {
  readonly frames: number;
  readonly moved: number;
}

export interface NodeDatabaseOptions {
  /** True leaves the emptying of the log to the caller. Default false. */
  readonly ownLog?: boolean;
  /** Returns the error for a statement outside of a transaction that met a damaged page or a failing disk. Default: the error itself. */
  readonly onDamage?: (error: unknown) => unknown;
  /** The contents to begin with, as {@link NodeDatabase.image} returned them. For a database in memory alone. */
  readonly image?: Uint8Array;
}

const LOG_FRAMES_DEFAULT = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** The size of the log's file after a restart: the space of a few large transactions is freed. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024;

/**
 * Opens a database file in write-ahead-log mode with a synchronised commit.
 * @param path the file; it is created when it is missing.
 * @throws the SQLite error of a file that is not a database or cannot be opened.
 */
export function openNodeDatabase(path: string, openOptions: NodeDatabaseOptions = {}): NodeDatabase {
  if (path !== ':memory:') makePrivateFile(path);
  const connection = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_TIMEOUT_MS });
  try {
    if (openOptions.image) connection.deserialize(openOptions.image);
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF');
    if (openOptions.ownLog) {
      connection.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`);
      // The first read finds the log of an earlier process.
      connection.prepare('SELECT count(*) FROM sqlite_master').get();
    }
    // Deleted rows would remain in free pages otherwise, and in every copy of the file.
    connection.exec('PRAGMA secure_delete = ON');
    connection.enableDefensive(true);
  } catch (error) {
    connection.close();
    throw error;
  }

  // One authorizer for the connection's life: replacing it would expire every prepared statement. The guard is set
  // only while SQLite runs a statement of a guarded view.
  let guard: GuardOptions | null = null;
  connection.setAuthorizer((action, first, second) =>
    guard !== null && isRefused(guard, action, first, second) ? constants.SQLITE_DENY : constants.SQLITE_OK,
  );

  // Statements never use `run`: it returns the last rowid, and throws, after it has executed the statement, once that
  // is no safe integer. A COMMIT would then be durable and reported as failed.
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const commit = connection.prepare('COMMIT');
  // Empties nothing, and returns whether another connection was in the way, frames in the log, frames moved (SQLite
  // 3.51).
  const countFrames = connection.prepare('PRAGMA wal_checkpoint(NOOP)');
  countFrames.setReturnArrays(true);
  let depth = 0;
  /**
   * Set once the database gave the transaction up. Until the outermost frame has unwound, every statement would commit
   * by itself, so a method that caught the error and went on must not reach the database again.
   */
  let lost: TransactionLost | null = null;

  const leave = (): void => {
    depth -= 1;
    if (depth === 0) lost = null;
  };

  const savepoint = <T>(work: () => T): T => {
    if (lost) throw lost;
    const marks = savepointStatements(depth);
    marks.open.get();
    depth += 1;
    try {
      const value = work();
      if (lost) throw lost;
      marks.release.get();
      return value;
    } catch (error) {
      if (lost !== null || !connection.isTransaction) throw lose(error);
      marks.rollback.get();
      marks.release.get();
      throw error;
    } finally {
      leave();
    }
  };

  const transact = (work: () => void): void => {
    begin.get();
    depth += 1;
    try {
      work();
      if (lost) throw lost;
      commit.get();
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK');
      throw error;
    } finally {
      leave();
    }
  };

  const lose = (cause: unknown): TransactionLost => {
    lost ??= new TransactionLost('the database gave the transaction up', { cause });
    return lost;
  };

  const marksByDepth: { open: StatementSync; release: StatementSync; rollback: StatementSync }[] = [];
  const savepointStatements = (level: number) => {
    marksByDepth[level] ??= {
      open: connection.prepare(`SAVEPOINT level_${level}`),
      release: connection.prepare(`RELEASE level_${level}`),
      rollback: connection.prepare(`ROLLBACK TO level_${level}`),
    };
    return marksByDepth[level];
  };

  const view = (options: GuardOptions | null): SqlDatabase => {
    const statements = makeStatementCache(connection, options);
    const under = <I, T>(work: (sql: string, input: I) => T, sql: string, input: I): T => {
      if (lost) throw lost;
      guard = options;
      try {
        return work(sql, input);
      } catch (error) {
        throw judge(error);
      } finally {
        guard = null;
      }
    };
    const bound = (sql: string, params: readonly SqlValue[]): CachedStatement => {
      const cached = statements(sql);
      assertBindable(cached.checked, params);
      return cached;
    };
    const first = (sql: string, params: readonly SqlValue[]): unknown => {
      const { statement, names } = bound(sql, params);
      const row = statement.get(...params);
      return names && row ? rowOf(names, row as unknown as SqlValue[]) : row;
    };
    const all = (sql: string, params: readonly SqlValue[]): unknown => {
      const { statement, names } = bound(sql, params);
      const rows = statement.all(...params);
      return names ? rows.map((row) => rowOf(names, row as unknown as SqlValue[])) : rows;
    };
    const script = (text: string): void => {
      if (options) checkScript(text, options);
      connection.exec(text);
    };
    return {
      run: (sql, ...params) => void under(first, sql, params),
      get: <Row>(sql: string, ...params: readonly SqlValue[]) => under(first, sql, params) as Row | undefined,
      all: <Row>(sql: string, ...params: readonly SqlValue[]) => under(all, sql, params) as Row[],
      exec: (text) => under(script, text, undefined),
      savepoint,
    };
  };

  const judge = (error: unknown): unknown => {
    if (isNotAuthorized(error))
      return new StatementRefused('this statement is not allowed here', { cause: error });
    // After a failing disk nothing is certain, whether SQLite undid the statement or the whole transaction.
    if (depth > 0) return isStorageFailure(error) || !connection.isTransaction ? lose(error) : error;
    const isOfTheFile = isDamaged(error) || isUnreadable(error);
    return openOptions.onDamage && isOfTheFile ? openOptions.onDamage(error) : error;
  };

  // The driver cannot collect an authorizer that reaches its own connection: every closed unit would stay in memory.
  const end = (): void => {
    connection.setAuthorizer(null);
    connection.close();
  };

  const views = new Map<string, SqlDatabase>();
  return {
    db: view(null),
    guarded: (options) => {
      const key = `${options.readOnly} ${options.protectedPrefix}`;
      const known = views.get(key) ?? view(options);
      views.set(key, known);
      return known;
    },
    transact,
    logState: () => {
      const [, frames, moved] = countFrames.get() as unknown as readonly [number, number, number];
      return { frames, moved };
    },
    emptyLog: (mode) => {
      // A reader of the database may take long, and no call waits for it.
      connection.exec('PRAGMA busy_timeout = 0');
      try {
        return connection.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.busy === 0;
      } finally {
        connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
    },
    emptyLogByItself: (does) =>
      connection.exec(`PRAGMA wal_autocheckpoint = ${does ? LOG_FRAMES_DEFAULT : 0}`),
    keepTempInMemory: () => connection.exec('PRAGMA temp_store = MEMORY'),
    close: end,
    image: () => connection.serialize(),
    closeWithLog: () => {
      // A file that was removed has no log to keep.
      if (!existsSync(path)) {
        end();
        return;
      }
      // Only the last connection empties the log when it closes. This one cannot, because it cannot write.
      const last = new DatabaseSync(path, { readOnly: true });
      try {
        last.prepare('SELECT count(*) FROM sqlite_master').get();
      } finally {
        end();
        last.close();
      }
    },
  };
}

const COUNT_STAR = /\(\s*\*\s*\)/g;

interface CachedStatement {
  readonly statement: StatementSync;
  readonly checked: CheckedStatement;
  /** The names of the columns where the statement answers arrays. */
  readonly names: readonly string[] | null;
}

/**
 * Returns the names of a statement's columns and has it answer arrays, or null where the names can change under it (a
 * star: SQLite prepares the statement anew after a migration). A row that is built here from an array is a plain
 * object of one hidden class. Those of the driver have no prototype; copying one takes V8 three times as long.
 */
function namesOf(sql: string, statement: StatementSync): readonly string[] | null {
  if (sql.replaceAll(COUNT_STAR, '').includes('*')) return null;
  const names = statement.columns().map(({ name }) => name);
  // Assigning to this name would set the prototype instead of a column.
  if (names.includes('__proto__')) return null;
  statement.setReturnArrays(true);
  return names;
}

function rowOf(names: readonly string[], values: readonly SqlValue[]): Record<string, SqlValue> {
  const row: Record<string, SqlValue> = {};
  for (let index = 0; index < names.length; index++) row[names[index] as string] = values[index] as SqlValue;
  return row;
}

/** Checks and prepares each text once. In a full cache, a hit moves to the back; the front is dropped. */
function makeStatementCache(
  connection: DatabaseSync,
  guard: GuardOptions | null,
): (sql: string) => CachedStatement {
  const cache = new Map<string, CachedStatement>();
  return (sql) => {
    let cached = cache.get(sql);
    if (cached) {
      if (cache.size < STATEMENTS_MAX) return cached;
      cache.delete(sql);
    } else {
      const checked = checkStatement(sql, guard);
      const statement = connection.prepare(sql);
      cached = { checked, statement, names: namesOf(sql, statement) };
      if (cache.size >= STATEMENTS_MAX) cache.delete(cache.keys().next().value as string);
    }
    cache.set(sql, cached);
    return cached;
  };
}
