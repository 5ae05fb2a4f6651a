/**
 * The peer of the benchmarks' operations: the same statements, prepared once, on tables and indexes of the same shape,
 * at the same durability. Roles are not read: a scope has them in memory too.
 */
import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { principal } from './notes.ts';

export interface BareNotes {
  /** `note/write`, so many times in one commit. */
  write(calls: number): void;
  /** `note/write-each`, so many times in one commit: each has `nested` notes. */
  writeEach(calls: number, nested: number): void;
  /** Adds events that wait for a subscriber, in one commit. */
  fill(events: number): void;
  /** Delivers waiting events to `note/index`, in one commit. Returns their number. */
  deliver(most: number): number;
  rows(table: 'notes' | 'indexed'): number;
  close(): void;
}

const SCHEMA = `
  CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE indexed (note TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE invocations (id TEXT PRIMARY KEY, operation TEXT NOT NULL, principal TEXT NOT NULL, parent TEXT, cause TEXT,
    idempotency_key TEXT, started_at INTEGER NOT NULL, duration_ms INTEGER NOT NULL, outcome TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE events (id TEXT PRIMARY KEY, type TEXT NOT NULL, version INTEGER NOT NULL, entity_type TEXT NOT NULL,
    entity_id TEXT NOT NULL, actor TEXT NOT NULL, operation TEXT NOT NULL, invocation TEXT NOT NULL, cause TEXT,
    proof TEXT NOT NULL, pii_class TEXT NOT NULL, subject TEXT, payload TEXT, at INTEGER NOT NULL, hops INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
  CREATE INDEX events_entity ON events (entity_type, entity_id, id);
  CREATE INDEX events_invocation ON events (invocation, id);
  CREATE INDEX events_cause ON events (cause, id) WHERE cause IS NOT NULL;
  CREATE INDEX events_type ON events (type, id);
  CREATE INDEX events_subject ON events (subject, id) WHERE subject IS NOT NULL;
  CREATE TABLE deliveries (subscriber TEXT NOT NULL, type TEXT NOT NULL, event TEXT NOT NULL, attempts INTEGER NOT NULL,
    claim INTEGER NOT NULL, next_at INTEGER NOT NULL, first_at INTEGER, last_at INTEGER,
    PRIMARY KEY (subscriber, type, event)) STRICT, WITHOUT ROWID;`;

export function openBareNotes(path: string): BareNotes {
  const db = new DatabaseSync(path);
  // Savepoints copy the pages they change. A careful peer keeps these copies in memory, so that they never become
  // files.
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; ${SCHEMA}`);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const savepoints = [0, 1].map((level) => ({
    open: db.prepare(`SAVEPOINT level_${level}`),
    release: db.prepare(`RELEASE level_${level}`),
  }));
  const note = db.prepare('INSERT INTO notes (id, text) VALUES (?, ?)');
  const event = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const invocation = db.prepare('INSERT INTO invocations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const delivery = db.prepare('INSERT INTO deliveries VALUES (?, ?, ?, 0, 0, ?, NULL, NULL)');
  const heads = db.prepare(
    'SELECT event, attempts, claim, next_at, first_at FROM deliveries WHERE subscriber = ? AND type = ? ORDER BY event LIMIT ? + 0',
  );
  const oneEvent = db.prepare('SELECT * FROM events WHERE id = ?');
  const indexed = db.prepare('INSERT INTO indexed (note) VALUES (?)');
  const delivered = db.prepare('DELETE FROM deliveries WHERE subscriber = ? AND type = ? AND event = ?');

  const run = randomBytes(8).toString('hex');
  let next = 0;
  const newId = () => `${run}${String(next++).padStart(12, '0')}`;

  const inTransaction = (work: () => void): void => {
    begin.run();
    work();
    commit.run();
  };
  const inSavepoint = (level: number, work: () => void): void => {
    savepoints[level]?.open.run();
    work();
    savepoints[level]?.release.run();
  };
  const saveInvocation = (id: string, operation: string, by: string, parent: string | null = null) =>
    invocation.run(id, operation, by, parent, null, null, Date.now(), 0, 'done');
  const saveEvent = (id: string, written: string, operation: string, by: string) =>
    event.run(
      id,
      'note.written',
      1,
      'note',
      written,
      principal,
      operation,
      by,
      null,
      '{"by":"role","role":"writer"}',
      'none',
      null,
      '{"length":12}',
      Date.now(),
      0,
    );
  const writeOne = (level: number, parent: string | null): void =>
    inSavepoint(level, () => {
      const id = newId();
      note.run(`not_${id}`, 'a short note');
      saveEvent(`evt_${id}`, `not_${id}`, 'note/write', `inv_${id}`);
      saveInvocation(`inv_${id}`, 'note/write', principal, parent);
    });

  return {
    write: (calls) =>
      inTransaction(() => {
        for (let i = 0; i < calls; i++) writeOne(0, null);
      }),
    writeEach: (calls, nested) =>
      inTransaction(() => {
        for (let i = 0; i < calls; i++) {
          inSavepoint(0, () => {
            const id = `inv_${newId()}`;
            for (let at = 0; at < nested; at++) writeOne(1, id);
            saveInvocation(id, 'note/write-each', principal);
          });
        }
      }),
    fill: (events) =>
      inTransaction(() => {
        for (let i = 0; i < events; i++) {
          const id = newId();
          saveEvent(`evt_${id}`, `not_${id}`, 'note/write-many', 'inv_0');
          delivery.run('index', 'note.written', `evt_${id}`, Date.now());
        }
      }),
    deliver: (most) => {
      let brought = 0;
      inTransaction(() => {
        for (const waiting of heads.all('index', 'note.written', most) as { event: string }[]) {
          brought += 1;
          const { entity_id: id } = oneEvent.get(waiting.event) as { entity_id: string };
          inSavepoint(0, () => {
            indexed.run(id);
            saveInvocation(`inv_${newId()}`, 'note/index', 'service:indexer');
            delivered.run('index', 'note.written', waiting.event);
          });
        }
      });
      return brought;
    },
    rows: (table) => (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n,
    close: () => db.close(),
  };
}
