/**
 * Scopes with long logs. Two million invocations would take minutes, so the rows are written straight into the scope's
 * file, as `note/write` leaves them, with the indexes rebuilt afterwards.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { firstIdAt, ID_PREFIXES } from '@freehold/contracts';
import { openNotes, principal, scopeIdOf } from './notes.ts';

/** The events of each note: the first causes the second, and so on. Those of other notes lie between. */
export const EVENTS_PER_NOTE = 20;
const TYPES = ['note.written', 'note.read', 'note.changed', 'note.shared', 'note.closed'];
const DAY_MS = 86_400_000;
/** From twenty days ago until now. */
const SPAN_MS = 20 * DAY_MS;
const ROWS_PER_COMMIT = 50_000;

export interface Log {
  /** The data directory of the engine that holds this scope, its 0th. */
  readonly dataDirectory: string;
  readonly events: number;
  readonly notes: number;
  noteId(note: number): string;
  /** Returns the id of the `nth` event of a note, from 0. */
  eventId(note: number, nth: number): string;
}

/** Makes a scope with so many events, a multiple of {@link EVENTS_PER_NOTE}. */
export async function makeLog(dataDirectory: string, events: number, nowMs: number): Promise<Log> {
  // A history would report the rows written from outside as damage.
  const { engine } = await openNotes(dataDirectory, { historyMs: 0 });
  await engine.close();
  const notes = events / EVENTS_PER_NOTE;
  const atMs = (at: number) => Math.floor(nowMs - SPAN_MS + (at / events) * SPAN_MS);
  // Ids of one millisecond differ in their last digits.
  const idAt = (prefix: string, at: number) =>
    `${firstIdAt(prefix, atMs(at)).slice(0, -12)}${String(at).padStart(12, '0')}`;
  const log: Log = {
    dataDirectory,
    events,
    notes,
    noteId: (note) => `not_${String(note).padStart(26, '0')}`,
    eventId: (note, nth) => idAt(ID_PREFIXES.event, nth * notes + note),
  };
  const db = new DatabaseSync(fileOf(dataDirectory, 0));
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000');
  const tables = `tbl_name IN ('_spine_events', '_spine_invocations')`;
  const indexes = db
    .prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND ${tables}`)
    .all() as { name: string; sql: string }[];
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`);
  const invocation =
    db.prepare(`INSERT INTO _spine_invocations (id, operation, principal, started_at, duration_ms, outcome)
    VALUES (?, 'note/write', ?, ?, 0, 'done')`);
  const event =
    db.prepare(`INSERT INTO _spine_events (id, type, version, entity_type, entity_id, actor, operation,
      invocation, cause, proof, pii_class, payload, at)
    VALUES (?, ?, 1, 'note', ?, ?, 'note/write', ?, ?, '{"by":"role","role":"writer"}', 'none', '{"length":12}', ?)`);
  for (let from = 0; from < events; from += ROWS_PER_COMMIT) {
    db.exec('BEGIN');
    for (let at = from; at < Math.min(from + ROWS_PER_COMMIT, events); at++) {
      const [note, nth] = [at % notes, Math.floor(at / notes)];
      const by = idAt(ID_PREFIXES.invocation, at);
      invocation.run(by, principal, atMs(at));
      const type = TYPES[nth % TYPES.length] as string;
      const cause = nth === 0 ? null : log.eventId(note, nth - 1);
      event.run(log.eventId(note, nth), type, log.noteId(note), principal, by, cause, atMs(at));
    }
    db.exec('COMMIT');
  }
  for (const { sql } of indexes) db.exec(sql);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return log;
}

/** The engine's file of a scope. */
export function fileOf(dataDirectory: string, scope: number): string {
  return join(dataDirectory, 'scope-bench', `${scopeIdOf(scope)}.sqlite`);
}
