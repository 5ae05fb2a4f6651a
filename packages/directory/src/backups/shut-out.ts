/**
 * Whatever staff took away after a backup of the directory stays taken away when it is restored: the log, which no restore
 * touches, says what that was (`taken-away.ts`). It is asked from the newest row on that the backup has in common with it.
 */
import { toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { DirectoryRestored, TakenAway } from '../declarations/backups.ts';
import { FOR_EVER, type LoggedRow, type TakingAgain, WORDS, type Word } from './taken-away.ts';

/** How many rows of the log are read at a time. */
const PAGE = 500;
/** How much of it a plan names. */
const NAMED_MAX = 200;

/**
 * Takes away again what was taken away since, and answers what that changed, by the action that took it away.
 * @param since the sequence of the newest row that the restored state knows; 0 where it knows none of this log.
 */
export function keepAway(
  db: SqlDatabase,
  { since, ...at }: TakingAgain & { readonly since: number },
): DirectoryRestored['keptAway'] {
  const counts = new Map<string, number>();
  const actions = Object.keys(WORDS);
  const words = [
    ...newestWords(db, FOR_EVER, 0).values(),
    ...newestWords(
      db,
      actions.filter((action) => !FOR_EVER.includes(action)),
      since,
    ).values(),
  ];
  for (const { word, row } of words) {
    const count = word.again(db, at);
    if (count > 0) counts.set(row.action, (counts.get(row.action) ?? 0) + count);
  }
  return [...counts].map(([action, count]) => ({ action, count })).sort(byAction);
}

/** What was taken away since, and not given back: what a restore would take away again where the backup holds it. */
export function takenSince(
  db: SqlDatabase,
  since: number,
): { readonly count: number; readonly items: TakenAway[] } {
  const taken = [...newestWords(db, Object.keys(WORDS), since).values()].filter(({ word }) => word.taken);
  const items = taken.slice(0, NAMED_MAX).map(({ row }) => ({
    action: row.action,
    at: toTimestamp(row.at),
    ...{ tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.other },
  }));
  return { count: taken.length, items };
}

/**
 * The newest row of the log that a backup certainly knows, as far as the log alone can tell: the intent that it was taken
 * with. 0 for one that was taken elsewhere.
 */
export function intentOfBackup(db: SqlDatabase, backup: string): number {
  return db.get<{ sequence: number }>(INTENT_OF_BACKUP, backup)?.sequence ?? 0;
}

/** The plus keeps SQLite from the index of outcomes: half of the log has the same one, and few rows have this action. */
export const INTENT_OF_BACKUP = `SELECT sequence FROM admin_log
   WHERE action = 'directory-backups.create' AND +outcome = 'intent' AND json_extract(after, '$.backup') = ?`;

interface Said {
  readonly word: Word;
  readonly row: LoggedRow;
}

interface StoredRow extends Omit<LoggedRow, 'before' | 'after'> {
  readonly before: string | null;
  readonly after: string | null;
}

/** One action at a time, so that the rows of others are not so much as looked at. */
export const DONE_OF_ACTION = `SELECT sequence, at, action, tenant, scope, vertical, other, before, after
   FROM admin_log WHERE action = ? AND sequence > ? AND +outcome = 'done' ORDER BY sequence LIMIT ?`;

/** What the newest row about each thing says of it, in the order of those rows. */
function newestWords(db: SqlDatabase, actions: readonly string[], since: number): Map<string, Said> {
  const words = new Map<string, Said>();
  for (const action of actions) {
    for (const row of doneOf(db, action, since)) {
      for (const word of WORDS[action]?.(row) ?? []) {
        // Several actions may speak of one thing; within a row the last word counts.
        if ((words.get(word.thing)?.row.sequence ?? 0) <= row.sequence) words.set(word.thing, { word, row });
      }
    }
  }
  return new Map([...words].sort(([, a], [, b]) => a.row.sequence - b.row.sequence));
}

function* doneOf(db: SqlDatabase, action: string, since: number): Generator<LoggedRow, void> {
  for (let last = since; ; ) {
    const page = db.all<StoredRow & Record<string, string | number | null>>(
      DONE_OF_ACTION,
      action,
      last,
      PAGE,
    );
    for (const stored of page) yield { ...stored, ...parsed(stored) };
    const end = page.at(-1);
    if (!end || page.length < PAGE) return;
    last = end.sequence;
  }
}

function parsed({ before, after }: StoredRow): Pick<LoggedRow, 'before' | 'after'> {
  return { before: JSON.parse(before ?? '{}'), after: JSON.parse(after ?? '{}') };
}

function byAction(a: { readonly action: string }, b: { readonly action: string }): number {
  return a.action < b.action ? -1 : 1;
}
