/** The `SqlDatabase` port on `node:sqlite`: prepared statements are kept, and a guard watches what is not our own. */
import { constants, DatabaseSync, type StatementSync } from 'node:sqlite';
import { type GuardOptions, type SqlDatabase, type SqlValue, TransactionLost } from '@freehold/store';
import { isRefused } from './guard.ts';

/** How many prepared statements one view of a database keeps; the least recently used is dropped first. */
const STATEMENTS_MAX = 256;

/** A database file with one connection: the single writer of its unit. */
export interface NodeDatabase {
  readonly db: SqlDatabase;
  guarded(options: GuardOptions): SqlDatabase;
  /** Runs `work` in one transaction, durable when this returns (`synchronous=FULL`). */
  transact(work: () => void): void;
  close(): void;
}

/**
 * Opens a database file in write-ahead-log mode with a synchronised commit.
 * @param path the file; it is created when it is missing.
 * @throws the SQLite error of a file that is not a database or cannot be opened.
 */
export function openNodeDatabase(path: string): NodeDatabase {
  const connection = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5_000 });
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF');
    connection.enableDefensive(true);
  } catch (error) {
    connection.close();
    throw error;
  }

  // One authorizer for the connection's life: replacing it would expire every prepared statement.
  let guard: GuardOptions | null = null;
  connection.setAuthorizer((action, first, second) =>
    guard !== null && isRefused(guard, action, first, second) ? constants.SQLITE_DENY : constants.SQLITE_OK,
  );

  const begin = connection.prepare('BEGIN IMMEDIATE');
  const commit = connection.prepare('COMMIT');
  let depth = 0;

  const savepoint = <T>(work: () => T): T => {
    const outer = guard;
    const marks = savepointStatements(depth);
    // The marks are the platform's own statements, also when a guarded view asks for them.
    guard = null;
    marks.open.run();
    guard = outer;
    depth += 1;
    try {
      const value = work();
      guard = null;
      marks.release.run();
      return value;
    } catch (error) {
      guard = null;
      if (!connection.isTransaction)
        throw new TransactionLost('the transaction was rolled back by the database', { cause: error });
      marks.rollback.run();
      marks.release.run();
      throw error;
    } finally {
      depth -= 1;
      guard = outer;
    }
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
    const statements = makeStatementCache(connection);
    const under = <T>(work: () => T): T => {
      const outer = guard;
      guard = options;
      try {
        return work();
      } finally {
        guard = outer;
      }
    };
    return {
      run: (sql, ...params) => under(() => void statements(sql).run(...params)),
      get: <Row>(sql: string, ...params: readonly SqlValue[]) =>
        under(() => statements(sql).get(...params) as Row | undefined),
      all: <Row>(sql: string, ...params: readonly SqlValue[]) =>
        under(() => statements(sql).all(...params) as Row[]),
      exec: (script) => under(() => connection.exec(script)),
      savepoint,
    };
  };

  return {
    db: view(null),
    guarded: view,
    transact: (work) => {
      begin.run();
      try {
        work();
        commit.run();
      } catch (error) {
        if (connection.isTransaction) connection.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => connection.close(),
  };
}

/** Prepares each text once. A cached statement moves to the back; the front is the least recently used. */
function makeStatementCache(connection: DatabaseSync): (sql: string) => StatementSync {
  const cache = new Map<string, StatementSync>();
  return (sql) => {
    let statement = cache.get(sql);
    if (statement) {
      if (cache.size < STATEMENTS_MAX) return statement;
      cache.delete(sql);
    } else {
      if (cache.size >= STATEMENTS_MAX) cache.delete(cache.keys().next().value as string);
      statement = connection.prepare(sql);
    }
    cache.set(sql, statement);
    return statement;
  };
}
