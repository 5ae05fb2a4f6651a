/** The `SqlDatabase` port on the storage of a Durable Object. */
import {
  assertBindable,
  type CheckedStatement,
  checkScript,
  checkStatement,
  type GuardOptions,
  type SqlDatabase,
  type SqlValue,
} from '@freehold/store';

/** The number of checked texts that one view caches. workerd caches the prepared statements itself, by their text. */
const STATEMENTS_MAX = 256;

/** Returns a view of the database; `guard` is null for the platform's own SQL. */
export function durableDatabase(storage: DurableObjectStorage, guard: GuardOptions | null): SqlDatabase {
  const check = makeCheckCache(guard);
  const execute = (sql: string, params: readonly SqlValue[]): Record<string, SqlValue>[] => {
    assertBindable(check(sql), params);
    // Every row is read at once: an open cursor would see writes of later statements.
    return storage.sql
      .exec(sql, ...params)
      .toArray()
      .map(plainRow);
  };
  return {
    run: (sql, ...params) => void execute(sql, params),
    get: <Row>(sql: string, ...params: readonly SqlValue[]) => execute(sql, params)[0] as Row | undefined,
    all: <Row>(sql: string, ...params: readonly SqlValue[]) => execute(sql, params) as Row[],
    exec: (script) => {
      if (guard) checkScript(script, guard);
      storage.sql.exec(script);
    },
    savepoint: (work) => storage.transactionSync(work),
  };
}

/** workerd returns bytes as an ArrayBuffer; the port has a Uint8Array, as on Node. */
function plainRow(row: Record<string, SqlStorageValue>): Record<string, SqlValue> {
  const plain: Record<string, SqlValue> = {};
  for (const [column, value] of Object.entries(row))
    plain[column] = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  return plain;
}

/** Checks each text once. In a full cache, a hit moves to the back; the front is dropped. */
function makeCheckCache(guard: GuardOptions | null): (sql: string) => CheckedStatement {
  const cache = new Map<string, CheckedStatement>();
  return (sql) => {
    let checked = cache.get(sql);
    if (checked) {
      if (cache.size < STATEMENTS_MAX) return checked;
      cache.delete(sql);
    } else {
      checked = checkStatement(sql, guard);
      if (cache.size >= STATEMENTS_MAX) cache.delete(cache.keys().next().value as string);
    }
    cache.set(sql, checked);
    return checked;
  };
}
