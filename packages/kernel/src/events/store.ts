/** The SQL of invocations and events, typed in and out. Every read is served by an index. */
import {
  cutPage,
  decodeCursor,
  type EntityRef,
  type EventId,
  type EventRecord,
  firstIdAt,
  ID_PREFIXES,
  type InvocationEvents,
  type InvocationId,
  PlatformError,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { Pruned, PrunedPage } from '../retention/pruned.ts';
import type { EventWalkResult } from '../scope-methods.ts';
import { keysNeeded } from '../sealing/key-needs.ts';
import type { Sealed, SubjectKeys } from '../sealing/subject-keys.ts';
import type { HeldKeys } from '../sealing/vault.ts';

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
  /** How many deliveries lie between it and the event that began it. */
  readonly hops: number;
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

const COLUMNS = `id, type, entity_type AS entityType, entity_id AS entityId, actor, operation, invocation, cause, hops,
  pii_class AS piiClass, subject, payload, at AS atMs`;

/** SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`, which costs more than the reading. */
const LIMIT = 'LIMIT ? + 0';

export const EVENT_SQL = {
  history: `SELECT ${COLUMNS} FROM _spine_events WHERE entity_type = ? AND entity_id = ? AND id > ? ORDER BY id ${LIMIT}`,
  one: `SELECT ${COLUMNS} FROM _spine_events WHERE id = ?`,
  exists: 'SELECT 1 FROM _spine_events WHERE id = ?',
  hops: 'SELECT hops FROM _spine_events WHERE id = ?',
  subject: 'SELECT subject FROM _spine_events WHERE id = ?',
  effects: `SELECT ${COLUMNS} FROM _spine_events WHERE cause = ? ORDER BY id ${LIMIT}`,
  invocation: `SELECT ${COLUMNS} FROM _spine_events WHERE invocation = ? ORDER BY id ${LIMIT}`,
  oneInvocation: `SELECT id, operation, principal, parent, cause, idempotency_key AS idempotencyKey,
      started_at AS startedAtMs, duration_ms AS durationMs, outcome FROM _spine_invocations WHERE id = ?`,
  version: 'SELECT id FROM _spine_events WHERE entity_type = ? AND entity_id = ? ORDER BY id DESC LIMIT 1',
} as const;

/** The newest of each kind of id, read along the primary key when a scope is opened. */
export const NEWEST_EVENT_SQL = {
  event: 'SELECT id FROM _spine_events ORDER BY id DESC LIMIT 1',
  invocation:
    'SELECT id, started_at + duration_ms AS endedAtMs FROM _spine_invocations ORDER BY id DESC LIMIT 1',
} as const;

export type EventStore = ReturnType<typeof makeEventStore>;

/** Where an event's payload is sealed to. */
export function eventPlace(id: string): string {
  return `event/${id}`;
}

export function makeEventStore(db: SqlDatabase, subjectKeys: SubjectKeys, pruned: Pruned) {
  /**
   * Rows as records. Opening what is sealed needs the persons' keys, and asks for all that are missing at once; with
   * `sealed` it stays closed.
   */
  const recordsOf = (rows: readonly EventRow[], sealed: boolean): EventRecord[] => {
    if (!sealed) {
      const missing = subjectKeys.missing(rows.flatMap(({ subject }) => subject ?? []));
      if (missing.length > 0) throw keysNeeded({ subjects: missing, pool: null });
    }
    return rows.map((row) => recordOf(row, sealed ? null : subjectKeys));
  };

  const one = (id: string): EventRow | undefined => db.get<EventRow>(EVENT_SQL.one, id);

  /** Whether what such an id names, or what it set off, may have been removed. */
  const isPruned = (prefix: string, id: string): boolean => {
    const beforeMs = pruned.beforeMs('history');
    return beforeMs !== null && id < firstIdAt(prefix, beforeMs);
  };
  const unknown = (prefix: string, id: string, words: string, reason?: string): PlatformError => {
    if (isPruned(prefix, id))
      return new PlatformError('not_found', 'What happened so long ago is not kept here any more.', {
        reason: 'history_pruned',
      });
    return new PlatformError('not_found', words, reason === undefined ? {} : { reason });
  };

  return {
    /** `proof` is the JSON of what let the actor through. */
    append: (event: EventRow, proof: string): void =>
      db.run(
        `INSERT INTO _spine_events
           (id, type, version, entity_type, entity_id, actor, operation, invocation, cause, hops, proof, pii_class, subject, payload, at)
         VALUES (?, ?, ${EVENT_VERSION}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        event.id,
        event.type,
        event.entityType,
        event.entityId,
        event.actor,
        event.operation,
        event.invocation,
        event.cause,
        event.hops,
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
      const event = db.get<{ id: string }>(NEWEST_EVENT_SQL.event);
      const invocation = db.get<{ id: string; endedAtMs: number }>(NEWEST_EVENT_SQL.invocation);
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
    }): PrunedPage<EventRecord> => {
      const after = cursor === undefined ? '' : decodeCursor(cursor);
      const rows = db.all<EventRow>(EVENT_SQL.history, entity.type, entity.id, after, limit + 1);
      const page = cutPage(
        rows,
        limit,
        (row) => row.id,
        (row) => row,
      );
      return { ...page, items: recordsOf(page.items, sealed), ...pruned.said('history') };
    },

    /**
     * Backwards: the event itself, what caused it, what caused that. Stops at a cycle, which only a damaged log could have, and
     * where a cause is not kept any more.
     */
    cause: (event: string, sealed = false): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      let next = one(event);
      let isMissing = false;
      while (next && !seen.has(next.id) && seen.size < WALK_MAX) {
        seen.set(next.id, next);
        const { cause }: EventRow = next;
        next = cause === null ? undefined : one(cause);
        isMissing = cause !== null && next === undefined;
      }
      const truncated = isMissing || (next !== undefined && !seen.has(next.id));
      return { items: recordsOf([...seen.values()], sealed), truncated };
    },

    /**
     * Forwards, breadth first: what an event set off, then what that set off; not the event itself. Of one that is older than what is kept, some
     * may be missing.
     */
    effects: (event: string, sealed = false): EventWalkResult => {
      const seen = new Map<string, EventRow>();
      const frontier = [event];
      // What is set off has the greater id: only what the oldest of them set off can be missing.
      const isMissing = isPruned(ID_PREFIXES.event, event);
      let isFull = false;
      for (let at = 0; at < frontier.length && !isFull; at++) {
        for (const row of db.all<EventRow>(EVENT_SQL.effects, frontier[at] as string, WALK_MAX + 1)) {
          if (row.id === event || seen.has(row.id)) continue;
          if (seen.size === WALK_MAX) {
            isFull = true;
            break;
          }
          seen.set(row.id, row);
          frontier.push(row.id);
        }
      }
      const rows = [...seen.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return { items: recordsOf(rows, sealed), truncated: isFull || isMissing };
    },

    /**
     * Everything that one call recorded.
     * @throws PlatformError `not_found`, reason `unknown_invocation` or `history_pruned`.
     */
    invocation: (id: string, sealed = false): InvocationEvents => {
      const found = db.get<InvocationColumns>(EVENT_SQL.oneInvocation, id);
      if (!found)
        throw unknown(
          ID_PREFIXES.invocation,
          id,
          'There is no such invocation in this scope.',
          'unknown_invocation',
        );
      const { startedAtMs, ...invocation } = found;
      const rows = db.all<EventRow>(EVENT_SQL.invocation, id, WALK_MAX + 1);
      return {
        invocation: { ...invocation, startedAt: toTimestamp(startedAtMs) },
        items: recordsOf(rows.slice(0, WALK_MAX), sealed),
        truncated: rows.length > WALK_MAX || isPruned(ID_PREFIXES.invocation, id),
      };
    },

    record: (id: string, sealed = false): EventRecord | null => {
      const row = one(id);
      return row ? (recordsOf([row], sealed)[0] ?? null) : null;
    },

    /** The same in clear, with how long the chain is that set it off. */
    delivered: (id: string): { readonly event: EventRecord; readonly hops: number } | null => {
      const row = one(id);
      const [event] = row ? recordsOf([row], false) : [];
      return row && event ? { event, hops: row.hops } : null;
    },

    /** @throws PlatformError `not_found`; reason `history_pruned` for one that may have been there. */
    require: (id: string): void => {
      if (db.get(EVENT_SQL.exists, id) === undefined)
        throw unknown(ID_PREFIXES.event, id, 'There is no such event in this scope.');
    },

    /** The persons whom some events are about, and whose keys are not here. */
    keyless: (ids: readonly string[]): HeldKeys[] =>
      subjectKeys.missing(
        ids.flatMap((id) => db.get<{ subject: string | null }>(EVENT_SQL.subject, id)?.subject ?? []),
      ),

    /** How long the chain is that set an event off; undefined when there is no such event. */
    hops: (id: string): number | undefined => db.get<{ hops: number }>(EVENT_SQL.hops, id)?.hops,
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
