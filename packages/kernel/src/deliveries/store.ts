/** The SQL of deliveries. A lane is one subscriber and one type of event: its head is delivered first. */
import type { EventId } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';

export interface DeliveryRow {
  readonly event: EventId;
  readonly attempts: number;
  readonly claim: number;
  readonly nextAtMs: number;
  readonly firstAtMs: number | null;
}

export interface DeadLetterRow {
  readonly event: string;
  readonly subscriber: string;
  readonly type: string;
  readonly attempts: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly code: string;
  readonly detail: string;
}

export interface DeliveryKey {
  readonly subscriber: string;
  readonly type: string;
  readonly event: string;
}

const DEAD_COLUMNS = `event, subscriber, type, attempts, first_at AS firstAtMs, last_at AS lastAtMs,
  error_code AS code, error_detail AS detail`;
const DELIVERY_COLUMNS = 'event, attempts, claim, next_at AS nextAtMs, first_at AS firstAtMs';
/** Sorts after every id. */
const NEWEST = '~';

export const DELIVERY_SQL = {
  heads: `SELECT ${DELIVERY_COLUMNS} FROM _spine_deliveries WHERE subscriber = ? AND type = ? ORDER BY event LIMIT ? + 0`,
  first: 'SELECT event FROM _spine_deliveries WHERE subscriber = ? AND type = ? ORDER BY event LIMIT ? + 0',
  one: `SELECT ${DELIVERY_COLUMNS} FROM _spine_deliveries WHERE subscriber = ? AND type = ? AND event = ?`,
  deadLetters: `SELECT ${DEAD_COLUMNS} FROM _spine_dead_letters
    WHERE (event, subscriber) < (?, ?) ORDER BY event DESC, subscriber DESC LIMIT ?`,
  deadLettersOf: `SELECT ${DEAD_COLUMNS} FROM _spine_dead_letters
    WHERE subscriber = ? AND event < ? ORDER BY event DESC LIMIT ?`,
  deadLetter: `SELECT ${DEAD_COLUMNS} FROM _spine_dead_letters WHERE event = ? AND subscriber = ?`,
  schedule: 'SELECT pattern, next_at AS nextAtMs FROM _spine_schedules WHERE key = ?',
} as const;

export function makeDeliveryStore(db: SqlDatabase) {
  const remove = ({ subscriber, type, event }: DeliveryKey): void =>
    db.run(
      'DELETE FROM _spine_deliveries WHERE subscriber = ? AND type = ? AND event = ?',
      subscriber,
      type,
      event,
    );

  const insert = ({ subscriber, type, event }: DeliveryKey, nowMs: number): void =>
    db.run(
      `INSERT INTO _spine_deliveries (subscriber, type, event, attempts, claim, next_at) VALUES (?, ?, ?, 0, 0, ?)
       ON CONFLICT DO NOTHING`,
      subscriber,
      type,
      event,
      nowMs,
    );

  return {
    insert,
    remove,
    /** Returns the next few deliveries of a lane. */
    heads: (subscriber: string, type: string, limit: number): DeliveryRow[] =>
      db.all<DeliveryRow>(DELIVERY_SQL.heads, subscriber, type, limit),
    /** Returns the next few events of a lane. */
    first: (subscriber: string, type: string, limit: number): string[] =>
      db.all<{ event: string }>(DELIVERY_SQL.first, subscriber, type, limit).map(({ event }) => event),
    one: ({ subscriber, type, event }: DeliveryKey): DeliveryRow | undefined =>
      db.get<DeliveryRow>(DELIVERY_SQL.one, subscriber, type, event),

    /** Puts a delivery off, with its new `attempts` and `claim`. */
    defer: (
      { subscriber, type, event }: DeliveryKey,
      to: { attempts: number; claim: number; nextAtMs: number; nowMs: number },
    ): void =>
      db.run(
        `UPDATE _spine_deliveries SET attempts = ?, claim = ?, next_at = ?, first_at = coalesce(first_at, ?), last_at = ?
         WHERE subscriber = ? AND type = ? AND event = ?`,
        to.attempts,
        to.claim,
        to.nextAtMs,
        to.nowMs,
        to.nowMs,
        subscriber,
        type,
        event,
      ),

    giveUp: (row: DeadLetterRow): void => {
      remove(row);
      db.run(
        `INSERT INTO _spine_dead_letters
           (event, subscriber, type, attempts, first_at, last_at, error_code, error_detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (event, subscriber) DO UPDATE SET attempts = excluded.attempts, last_at = excluded.last_at,
           error_code = excluded.error_code, error_detail = excluded.error_detail`,
        row.event,
        row.subscriber,
        row.type,
        row.attempts,
        row.firstAtMs,
        row.lastAtMs,
        row.code,
        row.detail,
      );
    },

    deadLetter: (event: string, subscriber: string): DeadLetterRow | undefined =>
      db.get<DeadLetterRow>(DELIVERY_SQL.deadLetter, event, subscriber),

    /** Returns dead letters, newest event first. `before` is the event and the subscriber of the last one seen. */
    deadLetters: (
      subscriber: string | undefined,
      before: readonly [event: string, subscriber: string] | undefined,
      limit: number,
    ): DeadLetterRow[] => {
      const [event, last] = before ?? [NEWEST, NEWEST];
      return subscriber === undefined
        ? db.all<DeadLetterRow>(DELIVERY_SQL.deadLetters, event, last, limit)
        : db.all<DeadLetterRow>(DELIVERY_SQL.deadLettersOf, subscriber, event, limit);
    },

    /** Puts a dead letter back in line, as if it had never been tried. */
    revive: ({ event, subscriber, type }: DeadLetterRow, nowMs: number): void => {
      db.run('DELETE FROM _spine_dead_letters WHERE event = ? AND subscriber = ?', event, subscriber);
      insert({ subscriber, type, event }, nowMs);
    },

    schedule: (key: string): { readonly pattern: string; readonly nextAtMs: number } | undefined =>
      db.get(DELIVERY_SQL.schedule, key),

    saveSchedule: (row: {
      readonly key: string;
      readonly pattern: string;
      readonly nextAtMs: number;
      readonly ran?: { readonly atMs: number; readonly outcome: string };
    }): void =>
      db.run(
        `INSERT INTO _spine_schedules (key, pattern, next_at, last_at, last_outcome) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (key) DO UPDATE SET pattern = excluded.pattern, next_at = excluded.next_at,
           last_at = coalesce(excluded.last_at, last_at), last_outcome = coalesce(excluded.last_outcome, last_outcome)`,
        row.key,
        row.pattern,
        row.nextAtMs,
        row.ran?.atMs ?? null,
        row.ran?.outcome ?? null,
      ),
  };
}
