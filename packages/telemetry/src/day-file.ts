/** The file of one day (UTC): requests, lines and calls, and what they add up to by the minute. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BUCKETS, bucketOf } from './histogram.ts';
import type { EgressCall, LogLine, ServedLine } from './lines.ts';

const MINUTE_MS = 60_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, script TEXT NOT NULL, vertical TEXT NOT NULL, version TEXT NOT NULL,
    tenant TEXT NOT NULL, scope TEXT NOT NULL, operation TEXT, status INTEGER NOT NULL, duration REAL NOT NULL, trace TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS requests_tenant ON requests (tenant, at);
  CREATE INDEX IF NOT EXISTS requests_script ON requests (script, at);
  CREATE INDEX IF NOT EXISTS requests_at ON requests (at);
  CREATE TABLE IF NOT EXISTS minutes (
    minute INTEGER NOT NULL, tenant TEXT NOT NULL, scope TEXT NOT NULL, script TEXT NOT NULL, vertical TEXT NOT NULL,
    version TEXT NOT NULL, requests INTEGER NOT NULL, refused INTEGER NOT NULL, errors INTEGER NOT NULL,
    ${BUCKETS.map((name) => `${name} INTEGER NOT NULL`).join(', ')},
    PRIMARY KEY (minute, scope, script, version)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS minutes_tenant ON minutes (tenant, minute);
  CREATE TABLE IF NOT EXISTS lines (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, vertical TEXT NOT NULL, version TEXT NOT NULL, tenant TEXT, scope TEXT,
    kind TEXT NOT NULL, level TEXT NOT NULL, text TEXT NOT NULL, stack TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS lines_tenant ON lines (tenant, at);
  CREATE INDEX IF NOT EXISTS lines_vertical ON lines (vertical, at);
  CREATE TABLE IF NOT EXISTS egress (
    minute INTEGER NOT NULL, vertical TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL, calls INTEGER NOT NULL,
    bytes INTEGER NOT NULL, failures INTEGER NOT NULL, last_seen INTEGER NOT NULL,
    PRIMARY KEY (vertical, version, host, minute)
  ) STRICT, WITHOUT ROWID;
`;

const INSERT_REQUEST = `INSERT INTO requests (at, script, vertical, version, tenant, scope, operation, status, duration, trace)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_MINUTE = `INSERT INTO minutes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${BUCKETS.map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, refused = refused + excluded.refused,
    errors = errors + excluded.errors, ${BUCKETS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
const INSERT_LINE = `INSERT INTO lines (at, vertical, version, tenant, scope, kind, level, text, stack)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const ADD_EGRESS = `INSERT INTO egress VALUES (?, ?, ?, ?, 1, ?, ?, ?)
  ON CONFLICT DO UPDATE SET calls = calls + 1, bytes = bytes + excluded.bytes, failures = failures + excluded.failures,
    last_seen = max(last_seen, excluded.last_seen)`;

interface Minute {
  readonly line: ServedLine;
  requests: number;
  refused: number;
  errors: number;
  readonly counts: number[];
}

export interface Batch {
  readonly served: readonly ServedLine[];
  readonly logs: readonly LogLine[];
  readonly egress: readonly EgressCall[];
}

export class DayFile {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** @throws Error of SQLite for a file that is none, or that cannot be written. */
  constructor(path: string) {
    this.path = path;
    this.#db = new DatabaseSync(path);
    try {
      // A crash may lose the last moments: these are measurements, and no request waits for them.
      this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;');
      this.#db.exec(SCHEMA);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Writes a batch in one transaction. @throws Error of SQLite; nothing was written then. */
  write({ served, logs, egress }: Batch): void {
    this.#db.exec('BEGIN');
    try {
      const insert = this.#prepared(INSERT_REQUEST);
      for (const line of served) {
        const { atMs, script, vertical, version, tenant, scope } = line;
        const { operation, status, durationMs, traceId } = line;
        insert.run(atMs, script, vertical, version, tenant, scope, operation, status, durationMs, traceId);
      }
      for (const minute of minutesOf(served)) {
        const { line, requests, refused, errors, counts } = minute;
        const { tenant, scope, script, vertical, version } = line;
        this.#run(
          ADD_MINUTE,
          ...[
            minuteOf(line.atMs),
            tenant,
            scope,
            script,
            vertical,
            version,
            requests,
            refused,
            errors,
            ...counts,
          ],
        );
      }
      for (const { atMs, vertical, version, tenant, scope, kind, level, text, stack } of logs)
        this.#run(INSERT_LINE, atMs, vertical, version, tenant, scope, kind, level, text, stack);
      for (const { atMs, vertical, version, host, bytes, failed } of egress)
        this.#run(ADD_EGRESS, minuteOf(atMs), vertical, version, host, bytes, failed ? 1 : 0, atMs);
      this.#db.exec('COMMIT');
    } catch (error) {
      // SQLite itself ended it where the disk is full.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  all<Row>(sql: string, ...params: readonly SQLInputValue[]): Row[] {
    return this.#prepared(sql).all(...params) as Row[];
  }

  /** The bytes in use: pages that were freed are filled again before the file grows. */
  get bytes(): number {
    const [row] = this.all<{ readonly bytes: number }>(
      `SELECT (page_count - freelist_count) * page_size AS bytes
         FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    return row?.bytes ?? 0;
  }

  /** Removes the oldest requests and lines, so many of each. The figures by the minute stay. */
  trim(count: number): void {
    for (const table of ['requests', 'lines'])
      this.#run(`DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} ORDER BY id LIMIT ?)`, count);
  }

  /** Removes what is known of a tenant. Egress is counted without tenants. */
  forgetTenant(tenant: string): void {
    for (const table of ['requests', 'minutes', 'lines'])
      this.#run(`DELETE FROM ${table} WHERE tenant = ?`, tenant);
    this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  #run(sql: string, ...params: readonly SQLInputValue[]): void {
    this.#prepared(sql).run(...params);
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const prepared = this.#db.prepare(sql);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

function minuteOf(atMs: number): number {
  return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

/** Added up before they are written: a batch of a busy second is a row a scope. */
function minutesOf(served: readonly ServedLine[]): Iterable<Minute> {
  const minutes = new Map<string, Minute>();
  for (const line of served) {
    const key = `${minuteOf(line.atMs)} ${line.scope} ${line.script} ${line.version}`;
    let minute = minutes.get(key);
    if (!minute) {
      minute = { line, requests: 0, refused: 0, errors: 0, counts: BUCKETS.map(() => 0) };
      minutes.set(key, minute);
    }
    minute.requests += 1;
    if (line.status >= 500) minute.errors += 1;
    else if (line.status >= 400) minute.refused += 1;
    const bucket = bucketOf(line.durationMs);
    minute.counts[bucket] = (minute.counts[bucket] ?? 0) + 1;
  }
  return minutes.values();
}
