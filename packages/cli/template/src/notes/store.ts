/** The SQL of notes, typed in and out. */
import { cutPage, decodeCursor, type Page, PlatformError, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Note } from './schema.ts';

interface NoteRow {
  readonly id: string;
  readonly text: string;
  readonly createdAt: number;
  readonly completedAt: number | null;
}

const SELECT = 'SELECT id, text, created_at AS createdAt, completed_at AS completedAt FROM notes';

export function insertNote(
  sql: SqlDatabase,
  { id, text, nowMs }: { readonly id: string; readonly text: string; readonly nowMs: number },
): void {
  sql.run('INSERT INTO notes (id, text, created_at) VALUES (?, ?, ?)', id, text, nowMs);
}

export function completeNote(sql: SqlDatabase, id: string, nowMs: number): void {
  sql.run('UPDATE notes SET completed_at = ? WHERE id = ?', nowMs, id);
}

/** @throws PlatformError `not_found` */
export function loadNote(sql: SqlDatabase, id: string): Note {
  const row = sql.get<NoteRow>(`${SELECT} WHERE id = ?`, id);
  if (!row) throw new PlatformError('not_found', 'There is no such note.', { reason: 'unknown_note' });
  return present(row);
}

/** Newest first. */
export function listNotes(
  sql: SqlDatabase,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Page<Note> {
  const before = cursor === undefined ? [] : [decodeCursor(cursor)];
  const where = cursor === undefined ? '' : 'WHERE id < ?';
  const rows = sql.all<NoteRow>(`${SELECT} ${where} ORDER BY id DESC LIMIT ?`, ...before, limit + 1);
  return cutPage(rows, limit, (row) => row.id, present);
}

function present({ completedAt, createdAt, ...row }: NoteRow): Note {
  return {
    ...row,
    createdAt: toTimestamp(createdAt),
    completedAt: completedAt === null ? null : toTimestamp(completedAt),
  };
}
