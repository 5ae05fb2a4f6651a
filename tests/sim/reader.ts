/** Looks at a unit's file from outside, through a connection of its own: only what is committed can be seen there. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SqlDatabase } from '@freehold/store';

/** Asks a question of a database file. It must exist. */
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

/** What must be true of every scope's database whatever was done to it: each statement finds what is wrong. */
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
  `SELECT 'somebody who was erased: ' || person AS fault FROM people
     WHERE person IN (SELECT subject FROM _spine_shredded)`,
  `SELECT 'a payload about somebody who was erased: ' || id AS fault FROM _spine_events
     WHERE subject IN (SELECT subject FROM _spine_shredded) AND payload NOT LIKE '{"$shredded":%'`,
];

/** The first thing that is wrong with a scope's file, or null. A file that is not there is not wrong. */
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
