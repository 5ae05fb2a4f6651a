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
import { keysNeeded, type Sealed, type SubjectKeys } from '../sealing/subject-keys.ts';

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
  readonly piiClass: EventRecord['piiClass'];
  readonly subject: string | null;
  /** JSON; sealed text when there is a subject; null without a payload, or when it was redacted. */
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

const COLUMNS = `id, type, entity_type AS entityType, entity_id AS entityId, actor, operation, invocation, cause,
  pii_class AS piiClass, subject, payload, at AS atMs`;

/** SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`, which costs more than the reading. */
const LIMIT = 'LIMIT ? + 0';

export const EVENT_SQL = {
  history: `SELECT ${COLUMNS} FROM _spine_events WHERE entity_type = ? AND entity_id = ? AND id > ? ORDER BY id ${LIMIT}`,
  one: `SELECT ${COLUMNS} FROM _spine_events WHERE id = ?`,
  exists: 'SELECT 1 FROM _spine_events WHERE id = ?',
  effects: `SELECT ${COLUMNS} FROM _spine_events WHERE cause = ? ORDER BY id ${LIMIT}`,
  invocation: `SELECT ${COLUMNS} FROM _spine_events WHERE invocation = ? ORDER BY id ${LIMIT}`,
  oneInvocation: `SELECT id, operation, principal, parent, cause, idempotency_key AS idempotencyKey,
      started_at AS startedAtMs, duration_ms AS durationMs, outcome FROM _spine_invocations WHERE id = ?`,
  version: 'SELECT id FROM _spine_events WHERE entity_type = ? AND entity_id = ? ORDER BY id DESC LIMIT 1',
} as const;

/** The newest of each kind of id, read along the primary key when a scope is opened. */
const NEWEST_EVENT = 'SELECT id FROM _spine_events ORDER BY id DESC LIMIT 1';
const NEWEST_INVOCATION =
  'SELECT id, started_at + duration_ms AS endedAtMs FROM _spine_invocations ORDER BY id DESC LIMIT 1';

export type EventStore = ReturnType<typeof makeEventStore>;

/** Where an event's payload is sealed to. */
export function eventPlace(id: string): string {
  return `event/${id}`;
}

export function makeEventStore(db: SqlDatabase, subjectKeys: SubjectKeys) {
  /**
   * Rows as records. Opening what is sealed needs the persons' keys, and asks for all that are missing at once; with
   * `sealed` it stays closed.
   */
  const recordsOf = (rows: readonly EventRow[], sealed: boolean): EventRecord[] => {
    if (!sealed) {
      const missing = new Set(
        rows.flatMap(({ subject }) => subject ?? []).filter((each) => !subjectKeys.has(each)),
      );
      if (missing.size > 0) throw keysNeeded([...missing]);
    }
    return rows.map((row) => recordOf(row, sealed ? null : subjectKeys));
  };

  const one = (id: string): EventRow | undefined => db.get<EventRow>(EVENT_SQL.one, id);

  return {
    /** `proof` is the JSON of what let the actor through. */
    append: (event: EventRow, proof: string): void =>
      db.run(
        `INSERT INTO _spine_events
           (id, type, version, entity_type, entity_id, actor, operation, invocation, cause, proof, pii_class, subject, payload, at)
         VALUES (?, ?, ${EVENT_VERSION}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        event.id,
        event.type,
        event.entityType,
        event.entityId,
        event.actor,
        event.operation,
        event.invocation,
        event.cause,
        proof,
        event.piiClass,
        event.subject,
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
      sealed = false,
    }: {
      entity: EntityRef;
      limit: number;
      cursor?: string | undefined;
      sealed?: boolean | undefined;
    }): Page<EventRecord> => {
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      const rows = db.all<EventRow>(EVENT_SQL.history, entity.type, entity.id, after, limit + 1);
      const page = cutPage(
        rows,
        limit,
        (row) => row.id,
        (row) => row,
      );
      return { ...page, items: recordsOf(page.items, sealed) };
    },

    /** Backwards: an event, what caused it, what caused that. Stops at a cycle, which only a damaged log could have. */
    cause: (event: string, sealed = false): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      let next = one(event);
      while (next && !seen.has(next.id) && seen.size < WALK_MAX) {
        seen.set(next.id, next);
        next = next.cause === null ? undefined : one(next.cause);
      }
      const truncated = next !== undefined && !seen.has(next.id);
      return { items: recordsOf([...seen.values()], sealed), truncated };
    },

    /** Forwards, breadth first: what an event set off, then what that set off. */
    effects: (event: string, sealed = false): EventWalkResult => {
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
      const rows = [...seen.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return { items: recordsOf(rows, sealed), truncated };
    },

    /** Everything that one call recorded, or null when there was no such call. */
    invocation: (id: string, sealed = false): InvocationEvents | null => {
      const found = db.get<InvocationColumns>(EVENT_SQL.oneInvocation, id);
      if (!found) return null;
      const { startedAtMs, ...invocation } = found;
      const rows = db.all<EventRow>(EVENT_SQL.invocation, id, WALK_MAX + 1);
      return {
        invocation: { ...invocation, startedAt: toTimestamp(startedAtMs) },
        items: recordsOf(rows.slice(0, WALK_MAX), sealed),
        truncated: rows.length > WALK_MAX,
      };
    },

    record: (id: string, sealed = false): EventRecord | null => {
      const row = one(id);
      return row ? (recordsOf([row], sealed)[0] ?? null) : null;
    },

    exists: (id: string): boolean => db.get(EVENT_SQL.exists, id) !== undefined,
  };
}

function recordOf(row: EventRow, subjectKeys: SubjectKeys | null): EventRecord {
  return {
    id: row.id,
    type: row.type,
    entity: { type: row.entityType, id: row.entityId },
    actor: row.actor,
    operation: row.operation,
    invocation: row.invocation,
    cause: row.cause,
    piiClass: row.piiClass,
    subject: row.subject,
    payload: payloadOf(row, subjectKeys),
    at: toTimestamp(row.atMs),
  };
}

/** The payload in clear, or what stands for one that is sealed or erased. */
function payloadOf({ id, subject, payload }: EventRow, subjectKeys: SubjectKeys | null): unknown {
  if (payload === null) return null;
  if (subject === null || payload.startsWith('{')) return JSON.parse(payload);
  if (subjectKeys === null) return { $sealed: payload } satisfies Sealed;
  const opened = subjectKeys.open(subject, eventPlace(id), payload);
  return 'text' in opened ? JSON.parse(opened.text) : opened;
}
