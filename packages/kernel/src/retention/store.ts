/** The SQL of housekeeping, typed in and out. Each search continues from an id. */
import type { SqlDatabase } from '@freehold/store';

export interface OldEvent {
  readonly id: string;
  readonly type: string;
  readonly entityType: string;
  readonly entityId: string;
}

export interface HousekeepingRow {
  readonly nextAtMs: number;
  /** The start of the running round; null between rounds. */
  readonly beganAtMs: number | null;
  readonly step: number;
  /** The last id of this step; empty before the first. */
  readonly after: string;
  /** The end of the last round. */
  readonly lastAtMs: number | null;
}

/** SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`. */
const RANGE = 'id > ? AND id < ? ORDER BY id LIMIT ? + 0';

export const RETENTION_SQL = {
  events: `SELECT id, type, entity_type AS entityType, entity_id AS entityId FROM _spine_events WHERE ${RANGE}`,
  laterEvent: 'SELECT 1 FROM _spine_events WHERE entity_type = ? AND entity_id = ? AND id > ? LIMIT 1',
  deadLetters: 'SELECT subscriber, last_at AS lastAtMs FROM _spine_dead_letters WHERE event = ?',
  nextLane:
    'SELECT subscriber, type FROM _spine_deliveries WHERE (subscriber, type) > (?, ?) ORDER BY subscriber, type LIMIT 1',
  waits: 'SELECT 1 FROM _spine_deliveries WHERE subscriber = ? AND type = ? AND event = ?',
  invocations: `SELECT id FROM _spine_invocations WHERE ${RANGE}`,
  invocationEvent: 'SELECT 1 FROM _spine_events WHERE invocation = ? LIMIT 1',
  newestInvocation: 'SELECT max(id) AS id FROM _spine_invocations',
  requests: `SELECT id, settled_at AS settledAtMs FROM _spine_platform_requests WHERE ${RANGE}`,
  newestRequest: 'SELECT max(id) AS id FROM _spine_platform_requests',
  denials: `SELECT id FROM _spine_denials WHERE ${RANGE}`,
  newestDenial: 'SELECT max(id) AS id FROM _spine_denials',
  housekeeping:
    'SELECT next_at AS nextAtMs, began_at AS beganAtMs, step, after, last_at AS lastAtMs FROM _spine_housekeeping WHERE singleton = 1',
} as const;

type Newest = 'newestInvocation' | 'newestRequest' | 'newestDenial';

export function makeRetentionStore(db: SqlDatabase) {
  const range = <Row>(sql: string, after: string, before: string, limit: number): Row[] =>
    db.all<Row>(sql, after, before, limit);

  return {
    events: (after: string, before: string, limit: number): OldEvent[] =>
      range<OldEvent>(RETENTION_SQL.events, after, before, limit),
    hasLaterEvent: ({ entityType, entityId, id }: OldEvent): boolean =>
      db.get(RETENTION_SQL.laterEvent, entityType, entityId, id) !== undefined,
    deadLetters: (event: string): { readonly subscriber: string; readonly lastAtMs: number }[] =>
      db.all(RETENTION_SQL.deadLetters, event),
    deleteDeadLetter: (event: string, subscriber: string): void =>
      db.run('DELETE FROM _spine_dead_letters WHERE event = ? AND subscriber = ?', event, subscriber),
    deleteEvent: (id: string): void => db.run('DELETE FROM _spine_events WHERE id = ?', id),

    /** Returns every lane with deliveries, also of subscribers that are no longer declared. */
    waitingLanes: (): { readonly subscriber: string; readonly type: string }[] => {
      const lanes: { readonly subscriber: string; readonly type: string }[] = [];
      let last = { subscriber: '', type: '' };
      for (;;) {
        const next = db.get<typeof last>(RETENTION_SQL.nextLane, last.subscriber, last.type);
        if (!next) return lanes;
        last = { subscriber: next.subscriber, type: next.type };
        lanes.push(last);
      }
    },
    waits: (subscriber: string, type: string, event: string): boolean =>
      db.get(RETENTION_SQL.waits, subscriber, type, event) !== undefined,

    invocations: (after: string, before: string, limit: number): { readonly id: string }[] =>
      range(RETENTION_SQL.invocations, after, before, limit),
    hasEvent: (invocation: string): boolean =>
      db.get(RETENTION_SQL.invocationEvent, invocation) !== undefined,
    deleteInvocation: (id: string): void => db.run('DELETE FROM _spine_invocations WHERE id = ?', id),

    requests: (
      after: string,
      before: string,
      limit: number,
    ): { readonly id: string; readonly settledAtMs: number | null }[] =>
      range(RETENTION_SQL.requests, after, before, limit),
    deleteRequest: (id: string): void => db.run('DELETE FROM _spine_platform_requests WHERE id = ?', id),

    denials: (after: string, before: string, limit: number): { readonly id: string }[] =>
      range(RETENTION_SQL.denials, after, before, limit),
    deleteDenial: (id: string): void => db.run('DELETE FROM _spine_denials WHERE id = ?', id),

    /** Returns the newest row of a kind. It stays: an opened scope continues its ids after it. */
    newest: (which: Newest): string | null => db.get<{ id: string | null }>(RETENTION_SQL[which])?.id ?? null,

    load: (): HousekeepingRow | undefined => db.get<HousekeepingRow>(RETENTION_SQL.housekeeping),
    save: (row: HousekeepingRow): void =>
      db.run(
        'INSERT OR REPLACE INTO _spine_housekeeping (singleton, next_at, began_at, step, after, last_at) VALUES (1, ?, ?, ?, ?, ?)',
        row.nextAtMs,
        row.beganAtMs,
        row.step,
        row.after,
        row.lastAtMs,
      ),
  };
}
