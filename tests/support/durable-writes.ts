/**
 * Counts this process's waits for the disk: commits that wrote something (SQLite synchronises its log once for each),
 * checkpoints (several waits each), and files that are synchronised by hand. Import it before a database is opened.
 */
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, type StatementSync } from 'node:sqlite';

export interface DurableWrites {
  /** One `fsync` each. */
  commits: number;
  /** Checkpoints of a log that held something. */
  checkpoints: number;
  files: number;
  /** Files that are synchronised while other work goes on. */
  background: number;
}

const NONE: DurableWrites = { commits: 0, checkpoints: 0, files: 0, background: 0 };
const counted: DurableWrites = { ...NONE };

/** Returns the counts since the last call. */
export function takeDurableWrites(): DurableWrites {
  const found = { ...counted };
  Object.assign(counted, NONE);
  return found;
}

const changes = new WeakMap<DatabaseSync, { readonly total: StatementSync; atBegin: number }>();
const prepare = DatabaseSync.prototype.prepare;

function totalOf(database: DatabaseSync): number {
  const known = changes.get(database) ?? {
    total: prepare.call(database, 'SELECT total_changes() AS n'),
    atBegin: 0,
  };
  changes.set(database, known);
  return (known.total.get() as { n: number }).n;
}

DatabaseSync.prototype.prepare = function watched(sql: string, ...rest: never[]): StatementSync {
  const statement = prepare.call(this, sql, ...rest);
  const isCheckpoint = /wal_checkpoint\((?!NOOP)/i.test(sql);
  if (sql !== 'BEGIN IMMEDIATE' && sql !== 'COMMIT' && !isCheckpoint) return statement;
  const get = statement.get.bind(statement);
  statement.get = ((...params: never[]) => {
    if (isCheckpoint) counted.checkpoints += 1;
    else if (sql === 'BEGIN IMMEDIATE') {
      totalOf(this);
      (changes.get(this) as { atBegin: number }).atBegin = totalOf(this);
    } else if (totalOf(this) !== changes.get(this)?.atBegin) counted.commits += 1;
    return get(...params);
  }) as typeof statement.get;
  return statement;
};

for (const name of ['fsyncSync', 'fdatasyncSync'] as const) {
  const inner = fs[name];
  fs[name] = ((fd: number) => {
    counted.files += 1;
    inner(fd);
  }) as typeof inner;
}
syncBuiltinESMExports();

await using handle = await open(import.meta.filename);
const handles: { sync(): Promise<void> } = Object.getPrototypeOf(handle);
const { sync } = handles;
handles.sync = function counting() {
  counted.background += 1;
  return sync.call(this);
};
