/** The SQL of long work, typed in and out. */
import type { ActorId, EventId, JsonValue } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { WorkRow, WorkState } from '../vertical/long-work.ts';

/** A stored work. */
export interface WorkEntry {
  readonly id: string;
  readonly kind: string;
  readonly state: WorkState;
  /** The state that follows when all was taken back; null unless it is being stopped. */
  readonly ending: 'failed' | 'cancelled' | null;
  readonly mark: string | null;
  /** JSON. */
  readonly data: string;
  readonly step: number;
  readonly done: number;
  readonly total: number | null;
  /** Failures of the step that is due. */
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly errorDetail: string | null;
  readonly principal: ActorId;
  /** JSON: the grant of the program through which it was started. */
  readonly program: string | null;
  /** JSON: the proof of the permission when all was decided; null before. */
  readonly proof: string | null;
  /** The event of its start. */
  readonly cause: EventId;
  readonly hops: number;
  readonly startedAtMs: number;
  readonly changedAtMs: number;
  readonly endedAtMs: number | null;
  /** When the scope looks at it next; null: never. */
  readonly nextAtMs: number | null;
}

/** The columns that change, by member. */
const CHANGING = {
  state: 'state',
  ending: 'ending',
  mark: 'mark',
  data: 'data',
  step: 'step',
  done: 'done',
  total: 'total',
  attempts: 'attempts',
  errorCode: 'error_code',
  errorDetail: 'error_detail',
  principal: 'principal',
  program: 'program',
  proof: 'proof',
  changedAtMs: 'changed_at',
  endedAtMs: 'ended_at',
  nextAtMs: 'next_at',
} as const satisfies Partial<Record<keyof WorkEntry, string>>;

const COLUMNS = `id, kind, cause, hops, started_at AS startedAtMs, ${Object.entries(CHANGING)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ')}`;
const ROW = 'number, status, value, note';

export const LONG_WORK_SQL = {
  one: `SELECT ${COLUMNS} FROM _spine_works WHERE id = ?`,
  due: `SELECT ${COLUMNS} FROM _spine_works WHERE next_at IS NOT NULL ORDER BY next_at, id LIMIT 1`,
  mine: `SELECT ${COLUMNS} FROM _spine_works WHERE principal = ? AND id < ?
    AND instr(?, json_quote(kind)) > 0 ORDER BY id DESC LIMIT ? + 0`,
  unfinished: 'SELECT count(*) AS n FROM _spine_works WHERE ended_at IS NULL',
  marked: 'SELECT id FROM _spine_works WHERE kind = ? AND mark = ? LIMIT 1',
  rows: `SELECT ${ROW} FROM _spine_work_rows WHERE work = ? AND number > ? ORDER BY number LIMIT ? + 0`,
  rowsOfStatus: `SELECT ${ROW} FROM _spine_work_rows WHERE work = ? AND status = ? AND number > ? ORDER BY number LIMIT ? + 0`,
  key: 'SELECT number FROM _spine_work_keys WHERE work = ? AND key = ?',
} as const;

export function makeWorkStore(db: SqlDatabase) {
  return {
    insert: (
      row: Omit<
        WorkEntry,
        | 'changedAtMs'
        | 'ending'
        | 'mark'
        | 'step'
        | 'attempts'
        | 'errorCode'
        | 'errorDetail'
        | 'proof'
        | 'endedAtMs'
      >,
    ): void =>
      db.run(
        `INSERT INTO _spine_works
           (id, kind, state, data, step, done, total, attempts, principal, program, cause, hops, started_at, changed_at, next_at)
         VALUES (?, ?, ?, ?, 0, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
        row.id,
        row.kind,
        row.state,
        row.data,
        row.done,
        row.total,
        row.principal,
        row.program,
        row.cause,
        row.hops,
        row.startedAtMs,
        row.startedAtMs,
        row.nextAtMs,
      ),
    update: (id: string, change: Partial<Pick<WorkEntry, keyof typeof CHANGING>>): void => {
      const names = Object.keys(change) as (keyof typeof CHANGING)[];
      const set = names.map((name) => `${CHANGING[name]} = ?`).join(', ');
      db.run(`UPDATE _spine_works SET ${set} WHERE id = ?`, ...names.map((name) => change[name] ?? null), id);
    },
    one: (id: string): WorkEntry | undefined => db.get<WorkEntry>(LONG_WORK_SQL.one, id),
    /** Returns the work that is looked at next. */
    due: (): WorkEntry | undefined => db.get<WorkEntry>(LONG_WORK_SQL.due),
    /** Returns the works of some kinds that a principal started, newest first. */
    mine: (
      principal: string,
      kinds: readonly string[],
      { before, limit }: { readonly before: string; readonly limit: number },
    ): WorkEntry[] => db.all<WorkEntry>(LONG_WORK_SQL.mine, principal, before, JSON.stringify(kinds), limit),
    unfinished: (): number => db.get<{ n: number }>(LONG_WORK_SQL.unfinished)?.n ?? 0,
    marked: (kind: string, mark: string): string | null =>
      db.get<{ id: string }>(LONG_WORK_SQL.marked, kind, mark)?.id ?? null,
    remove: (id: string): void => db.run('DELETE FROM _spine_works WHERE id = ?', id),

    putRow: (work: string, { number, status, value, note }: WorkRow): void =>
      db.run(
        'INSERT OR REPLACE INTO _spine_work_rows (work, number, status, value, note) VALUES (?, ?, ?, ?, ?)',
        work,
        number,
        status,
        value === null ? null : JSON.stringify(value),
        note,
      ),
    rows: (work: string, after: number, limit: number, status?: string): WorkRow[] => {
      const found =
        status === undefined
          ? db.all<StoredRow>(LONG_WORK_SQL.rows, work, after, limit)
          : db.all<StoredRow>(LONG_WORK_SQL.rowsOfStatus, work, status, after, limit);
      return found.map(({ value, ...row }) => ({
        ...row,
        value: value === null ? null : (JSON.parse(value) as JsonValue),
      }));
    },
    /** Returns the number of the row with a key, after giving it to `number` where no row has it. */
    claim: (work: string, key: string, number: number): number => {
      db.run(
        'INSERT INTO _spine_work_keys (work, key, number) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        work,
        key,
        number,
      );
      return db.get<{ number: number }>(LONG_WORK_SQL.key, work, key)?.number ?? number;
    },
    /** Deletes a part of the keys. Returns whether none is left. */
    unclaim: (work: string): boolean => clearPart(db, KEYS, work),
    /** Deletes a part of the rows, or of the keys. Returns whether none is left. */
    clear: (work: string): boolean => clearPart(db, ROWS, work) && clearPart(db, KEYS, work),
  };
}

const ROWS = { table: '_spine_work_rows', column: 'number' } as const;
const KEYS = { table: '_spine_work_keys', column: 'key' } as const;
/** The number that is deleted in one transaction. */
const PART = 1_000;

function clearPart(db: SqlDatabase, { table, column }: typeof ROWS | typeof KEYS, work: string): boolean {
  const part = db.all<{ at: string | number }>(
    `SELECT ${column} AS at FROM ${table} WHERE work = ? ORDER BY ${column} LIMIT ? + 0`,
    work,
    PART,
  );
  const end = part.at(-1);
  if (end) db.run(`DELETE FROM ${table} WHERE work = ? AND ${column} <= ?`, work, end.at);
  return part.length < PART;
}

interface StoredRow extends Omit<WorkRow, 'value'> {
  readonly value: string | null;
}

/**
 * Stops the unfinished works of an older state or of a copy: nothing is done in it that was not asked for there. Those in
 * which all was decided wait to be resumed; the others are cancelled, and what they had staged is removed.
 */
export function haltWorks(staged: Pick<SqlDatabase, 'run' | 'get'>): void {
  // States of earlier versions have none.
  if (!staged.get("SELECT 1 FROM sqlite_master WHERE name = '_spine_works'")) return;
  const unfinished = 'ended_at IS NULL AND proof IS NULL';
  for (const table of ['_spine_work_rows', '_spine_work_keys'])
    staged.run(`DELETE FROM ${table} WHERE work IN (SELECT id FROM _spine_works WHERE ${unfinished})`);
  staged.run(
    `UPDATE _spine_works SET state = 'stopping', ending = coalesce(ending, 'cancelled'), next_at = 0,
       error_code = coalesce(error_code, 'conflict'), error_detail = coalesce(error_detail, ?) WHERE ${unfinished}`,
    'It was under way when this copy was made, and does not go on in it. Begin it again.',
  );
  staged.run(
    `UPDATE _spine_works SET state = 'halted', next_at = NULL WHERE ended_at IS NULL AND proof IS NOT NULL`,
  );
}
