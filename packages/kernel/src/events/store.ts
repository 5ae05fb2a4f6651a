/** The SQL of invocations and events, typed in and out. Every read is served by an index. */
import {
  cutPage,
  decodeCursor,
  type EntityRef,
  type EventId,
  type EventRecord,
  type InvocationEvents,
  type InvocationId,
  type Page,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { EventWalkResult } from '../scope-methods.ts';

/** How many events one walk answers at most. */
export const WALK_MAX = 500;

/** The version of an event's row: what a reader of old rows can rely on. */
const EVENT_VERSION = 1;

export interface EventRow {
  readonly id: EventId;
  readonly type: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly actor: string;
  readonly operation: string;
  readonly invocation: InvocationId;
  readonly cause: EventId | null;
  readonly payload: string | null;
  readonly atMs: number;
}

export interface InvocationRow {
  readonly id: InvocationId;
  readonly operation: string;
  readonly principal: string;
  readonly parent: InvocationId | null;
  readonly cause: EventId | null;
  readonly idempotencyKey: string | null;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

type InvocationColumns = Omit<InvocationEvents['invocation'], 'startedAt'> & { readonly startedAtMs: number };

const COLUMNS = `id, type, entity_type AS entityType, entity_id AS entityId, actor, operation, invocation, cause, payload, at AS atMs`;

export const EVENT_SQL = {
  history: `SELECT ${COLUMNS} FROM _spine_events WHERE entity_type = ? AND entity_id = ? AND id > ? ORDER BY id LIMIT ?`,
  one: `SELECT ${COLUMNS} FROM _spine_events WHERE id = ?`,
  effects: `SELECT ${COLUMNS} FROM _spine_events WHERE cause = ? ORDER BY id LIMIT ?`,
  invocation: `SELECT ${COLUMNS} FROM _spine_events WHERE invocation = ? ORDER BY id LIMIT ?`,
  oneInvocation: `SELECT id, operation, principal, parent, cause, idempotency_key AS idempotencyKey,
      started_at AS startedAtMs, duration_ms AS durationMs, outcome FROM _spine_invocations WHERE id = ?`,
  version: 'SELECT id FROM _spine_events WHERE entity_type = ? AND entity_id = ? ORDER BY id DESC LIMIT 1',
} as const;

/** The newest of each kind of id, read along the primary key when a scope is opened. */
const NEWEST_EVENT = 'SELECT id FROM _spine_events ORDER BY id DESC LIMIT 1';
const NEWEST_INVOCATION =
  'SELECT id, started_at + duration_ms AS endedAtMs FROM _spine_invocations ORDER BY id DESC LIMIT 1';

export type EventStore = ReturnType<typeof makeEventStore>;

export function makeEventStore(db: SqlDatabase) {
  const one = (id: string): EventRow | undefined => db.get<EventRow>(EVENT_SQL.one, id);

  return {
    /** `proof` is the JSON of what let the actor through. */
    append: (event: EventRow, proof: string): void =>
      db.run(
        `INSERT INTO _spine_events
           (id, type, version, entity_type, entity_id, actor, operation, invocation, cause, proof, pii_class, subject, payload, at)
         VALUES (?, ?, ${EVENT_VERSION}, ?, ?, ?, ?, ?, ?, ?, 'none', NULL, ?, ?)`,
        event.id,
        event.type,
        event.entityType,
        event.entityId,
        event.actor,
        event.operation,
        event.invocation,
        event.cause,
        proof,
        event.payload,
        event.atMs,
      ),

    saveInvocation: (row: InvocationRow): void =>
      db.run(
        `INSERT INTO _spine_invocations (id, operation, principal, parent, cause, idempotency_key, started_at, duration_ms, outcome)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'done')`,
        row.id,
        row.operation,
        row.principal,
        row.parent,
        row.cause,
        row.idempotencyKey,
        row.startedAtMs,
        row.durationMs,
      ),

    /** The id of the last event on a record: its version. */
    version: (entity: EntityRef): string | null =>
      db.get<{ id: string }>(EVENT_SQL.version, entity.type, entity.id)?.id ?? null,

    /** The newest event and invocation, and when that invocation ended; what there is of them. */
    newest: (): { readonly ids: string[]; readonly endedAtMs: number } => {
      const event = db.get<{ id: string }>(NEWEST_EVENT);
      const invocation = db.get<{ id: string; endedAtMs: number }>(NEWEST_INVOCATION);
      const ids = [event, invocation].flatMap((row) => (row ? [row.id] : []));
      return { ids, endedAtMs: invocation?.endedAtMs ?? 0 };
    },

    history: ({
      entity,
      limit,
      cursor,
    }: {
      entity: EntityRef;
      limit: number;
      cursor?: string | undefined;
    }): Page<EventRecord> => {
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      const rows = db.all<EventRow>(EVENT_SQL.history, entity.type, entity.id, after, limit + 1);
      return cutPage(rows, limit, (row) => row.id, recordOf);
    },

    /** Backwards: an event, what caused it, what caused that. Stops at a cycle, which only a damaged log could have. */
    cause: (event: string): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      let next = one(event);
      while (next && !seen.has(next.id) && seen.size < WALK_MAX) {
        seen.set(next.id, next);
        next = next.cause === null ? undefined : one(next.cause);
      }
      const truncated = next !== undefined && !seen.has(next.id);
      return { items: [...seen.values()].map(recordOf), truncated };
    },

    /** Forwards, breadth first: what an event set off, then what that set off. */
    effects: (event: string): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      const frontier = [event];
      let truncated = false;
      for (let at = 0; at < frontier.length && !truncated; at++) {
        for (const row of db.all<EventRow>(EVENT_SQL.effects, frontier[at] as string, WALK_MAX + 1)) {
          if (row.id === event || seen.has(row.id)) continue;
          if (seen.size === WALK_MAX) {
            truncated = true;
            break;
          }
          seen.set(row.id, row);
          frontier.push(row.id);
        }
      }
      return { items: [...seen.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(recordOf), truncated };
    },

    /** Everything that one call recorded, or null when there was no such call. */
    invocation: (id: string): InvocationEvents | null => {
      const found = db.get<InvocationColumns>(EVENT_SQL.oneInvocation, id);
      if (!found) return null;
      const { startedAtMs, ...invocation } = found;
      const rows = db.all<EventRow>(EVENT_SQL.invocation, id, WALK_MAX + 1);
      return {
        invocation: { ...invocation, startedAt: toTimestamp(startedAtMs) },
        items: rows.slice(0, WALK_MAX).map(recordOf),
        truncated: rows.length > WALK_MAX,
      };
    },

    record: (id: string): EventRecord | null => {
      const row = one(id);
      return row ? recordOf(row) : null;
    },

    exists: (id: string): boolean => one(id) !== undefined,
  };
}

function recordOf(row: EventRow): EventRecord {
  return {
    id: row.id,
    type: row.type,
    entity: { type: row.entityType, id: row.entityId },
    actor: row.actor,
    operation: row.operation,
    invocation: row.invocation,
    cause: row.cause,
    piiClass: 'none',
    subject: null,
    payload: row.payload === null ? null : JSON.parse(row.payload),
    at: toTimestamp(row.atMs),
  };
}
