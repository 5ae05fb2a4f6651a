/** Reads a unit's file through a connection of its own, which sees only committed data. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SqlDatabase } from '@freehold/store';

/** Asks a question of a database file, which must exist. */
export function lookInto<T>(path: string, question: (db: SqlDatabase) => T): T {
  const connection = new DatabaseSync(path, { readOnly: true });
  const refuse = (): never => {
    throw new Error('this connection only reads');
  };
  try {
    return question({
      all: <Row>(sql: string, ...params: readonly (string | number | null | Uint8Array)[]) =>
        connection.prepare(sql).all(...params) as Row[],
      get: <Row>(sql: string, ...params: readonly (string | number | null | Uint8Array)[]) =>
        connection.prepare(sql).get(...params) as Row | undefined,
      run: refuse,
      exec: refuse,
      savepoint: refuse,
    });
  } finally {
    connection.close();
  }
}

/** Invariants of every scope's database: each statement finds violations. */
const UNSOUND = [
  `SELECT 'integrity_check: ' || integrity_check AS fault FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
  `SELECT 'money was made or lost: ' || sum(balance) AS fault FROM accounts HAVING sum(balance) <> 0`,
  `SELECT 'an event without its invocation: ' || id AS fault FROM _spine_events
     WHERE invocation NOT IN (SELECT id FROM _spine_invocations)`,
  `SELECT 'an event whose cause is not there: ' || id AS fault FROM _spine_events
     WHERE cause IS NOT NULL AND cause NOT IN (SELECT id FROM _spine_events)`,
  `SELECT 'an event before its cause: ' || id AS fault FROM _spine_events WHERE cause >= id`,
  `SELECT 'a delivery of no event: ' || event AS fault FROM _spine_deliveries
     WHERE event NOT IN (SELECT id FROM _spine_events)`,
  `SELECT 'a delivery that is a dead letter too: ' || event AS fault FROM _spine_deliveries
     JOIN _spine_dead_letters USING (event, subscriber)`,
  `SELECT 'an erased person: ' || person AS fault FROM people
      WHERE person IN (SELECT subject FROM _spine_shredded)`,
  `SELECT 'a payload about an erased person: ' || id AS fault FROM _spine_events
      WHERE subject IN (SELECT subject FROM _spine_shredded) AND payload NOT LIKE '{"$shredded":%'`,
];

/** Returns the first violation in a scope's file, or null. A missing file has none. */
export function unsound(path: string): string | null {
  if (!existsSync(path)) return null;
  return lookInto(path, (db) => {
    for (const sql of UNSOUND) {
      const found = db.get<{ fault: string | null }>(sql);
      if (found?.fault != null) return found.fault;
    }
    return null;
  });
}
