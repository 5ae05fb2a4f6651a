/** The erasure of a person from what long work has staged: rows of files, their keys, and the state between two steps. */
import type { SqlDatabase } from '@freehold/store';
import type { Vertical } from '../vertical/vertical.ts';

/** Shorter texts are in too many others to be looked for inside of one. */
const PART_LENGTH_MIN = 4;

/**
 * Removes every staged row with a text that names the person, and cancels each unfinished work whose state has one.
 * Called before the vertical's own rows are erased: they say which texts those are.
 */
export function eraseStaged(
  db: SqlDatabase,
  { works = {} }: Pick<Vertical, 'works'>,
  { sql, subject, nowMs }: { readonly sql: SqlDatabase; readonly subject: string; readonly nowMs: number },
): void {
  // States of earlier versions have none.
  if (!db.get("SELECT 1 FROM sqlite_master WHERE name = '_spine_works'")) return;
  // Kinds that are no longer declared have rows, too.
  for (const { kind } of db.all<{ kind: string }>('SELECT DISTINCT kind FROM _spine_works')) {
    const namesOf = works[kind]?.namesOf;
    const staged = db.all<{ id: string }>('SELECT id FROM _spine_works WHERE kind = ?', kind);
    const texts = [subject, ...(namesOf?.({ sql }, subject) ?? [])].map(comparable).filter(Boolean);
    for (const { id } of staged) eraseRows(db, id, texts);
    db.run(
      `UPDATE _spine_works SET state = 'stopping', ending = 'cancelled', attempts = 0, error_code = 'conflict',
         error_detail = ?, changed_at = ?, next_at = ?
       WHERE kind = ? AND state IN ('running', 'waiting') AND proof IS NULL
         AND EXISTS (SELECT 1 FROM json_each(?) t WHERE instr(lower(data), t.value) > 0)`,
      'It held data about a person who was erased. Begin it again.',
      nowMs,
      nowMs,
      kind,
      JSON.stringify(texts.filter(({ length }) => length >= PART_LENGTH_MIN).map(inJson)),
    );
  }
}

function eraseRows(db: SqlDatabase, work: string, texts: readonly string[]): void {
  const found = db.all<{ number: number }>(
    `SELECT number FROM _spine_work_rows r WHERE work = ? AND EXISTS (
       SELECT 1 FROM json_tree(r.value) v WHERE v.type = 'text'
         AND lower(trim(v.atom)) IN (SELECT value FROM json_each(?)))`,
    work,
    JSON.stringify(texts),
  );
  const numbers = JSON.stringify(found.map(({ number }) => number));
  for (const table of ['_spine_work_rows', '_spine_work_keys'])
    db.run(
      `DELETE FROM ${table} WHERE work = ? AND number IN (SELECT value FROM json_each(?))`,
      work,
      numbers,
    );
}

/** As SQLite's `lower` and `trim` compare: without regard to the case of ASCII letters. */
function comparable(text: string): string {
  return text.replaceAll(/^ +| +$/g, '').replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The text as it stands inside of JSON. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
