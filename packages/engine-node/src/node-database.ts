/** The `SqlDatabase` port on `node:sqlite`: prepared statements are kept, and a guard watches what is not our own. */
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
import { isNotAuthorized, isStorageFailure } from './sqlite-errors.ts';

/** How many prepared statements one view of a database keeps; the least recently used is dropped first. */
const STATEMENTS_MAX = 256;

/** A database file with one connection: the single writer of its unit. */
export interface NodeDatabase {
  readonly db: SqlDatabase;
  /** One view an option set: asking twice gives the same, with the statements it has prepared. */
  guarded(options: GuardOptions): SqlDatabase;
  /** Runs `work` in one transaction, durable when this returns (`synchronous=FULL`). */
  transact(work: () => void): void;
  /** How many committed frames the write-ahead log has, and how many of them are in the file too. */
  logState(): LogState;
  /**
   * Moves the log into the file, and lets it begin anew. False when somebody else reads the database: nothing is lost.
   * `truncate` leaves nothing of it in its file either. That costs: a log that is written over is synchronised faster
   * than one that grows.
   */
  emptyLog(mode: 'restart' | 'truncate'): boolean;
  /** Whether SQLite empties the log by itself, at its default of 1,000 frames. It does unless the log is ours. */
  emptyLogByItself(does: boolean): void;
  /**
   * Keeps in memory what SQLite sets aside: the pages that a savepoint could need again, which are every call's, become
   * a file beyond 64 KB otherwise, and that takes as long as the rest of a small call. Not before the migrations are
   * through, because what an index of a large table sorts may need more than there is.
   */
  keepTempInMemory(): void;
  close(): void;
  /** Closes without moving the log into the file: what only the log holds stays there for the next opening. */
  closeWithLog(): void;
}

export interface LogState {
  readonly frames: number;
  readonly moved: number;
}

export interface NodeDatabaseOptions {
  /** True leaves it to the caller when the log is emptied. Default false. */
  readonly ownLog?: boolean;
}

const LOG_FRAMES_DEFAULT = 1_000;
const BUSY_TIMEOUT_MS = 5_000;
/** How much of its file a log keeps when it begins anew: what a few large transactions leave is given back. */
const LOG_BYTES_KEPT = 16 * 1024 * 1024;

/**
 * Opens a database file in write-ahead-log mode with a synchronised commit.
 * @param path the file; it is created when it is missing.
 * @throws the SQLite error of a file that is not a database or cannot be opened.
 */
export function openNodeDatabase(path: string, options: NodeDatabaseOptions = {}): NodeDatabase {
  const connection = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_TIMEOUT_MS });
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF');
    if (options.ownLog) {
      connection.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`);
      // What an earlier process left in the log is known from the first reading on.
      connection.prepare('SELECT count(*) FROM sqlite_master').get();
    }
    // What was deleted would lie on in free pages, and go along with every copy of the file.
    connection.exec('PRAGMA secure_delete = ON');
    connection.enableDefensive(true);
  } catch (error) {
    connection.close();
    throw error;
  }

  // One authorizer for the connection's life: replacing it would expire every prepared statement.
  // The guard is set while SQLite runs a guarded view's statement, and at no other time.
  let guard: GuardOptions | null = null;
  connection.setAuthorizer((action, first, second) =>
    guard !== null && isRefused(guard, action, first, second) ? constants.SQLITE_DENY : constants.SQLITE_OK,
  );

  // Statements are never `run`: that answers the last rowid, and throws, after it has executed the statement, once that
  // is no safe integer. For a COMMIT that would be the difference between kept and not kept.
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const commit = connection.prepare('COMMIT');
  // Empties nothing, and answers: whether somebody was in the way, frames in the log, frames moved (SQLite 3.51).
  const countFrames = connection.prepare('PRAGMA wal_checkpoint(NOOP)');
  countFrames.setReturnArrays(true);
  let depth = 0;
  /**
   * Set once the database gave the transaction up. Until the outermost frame has unwound, every statement would
   * commit by itself, so a method that caught the error and went on must not reach the database again.
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
    const bound = (sql: string, params: readonly SqlValue[]): StatementSync => {
      const cached = statements(sql);
      assertBindable(cached.checked, params);
      return cached.statement;
    };
    const first = (sql: string, params: readonly SqlValue[]): unknown => bound(sql, params).get(...params);
    const all = (sql: string, params: readonly SqlValue[]): unknown => bound(sql, params).all(...params);
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
    // Whether SQLite undid the statement or the whole transaction, nothing can be promised after a failing disk.
    return depth > 0 && (isStorageFailure(error) || !connection.isTransaction) ? lose(error) : error;
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
      // Whoever reads the database may take long, and nobody here waits for them.
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
    close: () => connection.close(),
    closeWithLog: () => {
      // A file that somebody removed has no log to keep.
      if (!existsSync(path)) {
        connection.close();
        return;
      }
      // Only the last connection empties the log when it closes, and this one cannot, because it cannot write.
      const last = new DatabaseSync(path, { readOnly: true });
      try {
        last.prepare('SELECT count(*) FROM sqlite_master').get();
      } finally {
        connection.close();
        last.close();
      }
    },
  };
}

interface CachedStatement {
  readonly statement: StatementSync;
  readonly checked: CheckedStatement;
}

/** Checks and prepares each text once. Once the cache is full, a hit moves to the back; the front is dropped. */
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
      cached = { checked, statement: connection.prepare(sql) };
      if (cache.size >= STATEMENTS_MAX) cache.delete(cache.keys().next().value as string);
    }
    cache.set(sql, cached);
    return cached;
  };
}
