/** The SQL of invocations and events, typed in and out. Every read is served by an index. */
import {
  type EntityRef,
  type EventId,
  type EventRecord,
  type InvocationEvents,
  type InvocationId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { keysNeeded } from '../keys/key-needs.ts';
import type { Sealed, SubjectKeys } from '../keys/subject-keys.ts';
import type { HeldKeys } from '../keys/vault.ts';
import { storedProgram } from '../lib/programs.ts';

/** The version of an event's row, for readers of old rows. */
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
  /** The number of deliveries between this event and the one that began its chain. */
  readonly hops: number;
  readonly piiClass: EventRecord['piiClass'];
  readonly subject: string | null;
  /** JSON; sealed text when there is a subject; null without a payload, or when it was redacted. */
  readonly payload: string | null;
  /** JSON: the program through which the actor did it. */
  readonly program: string | null;
  readonly atMs: number;
}

export interface InvocationRow {
  readonly id: InvocationId;
  readonly operation: string;
  readonly principal: string;
  readonly parent: InvocationId | null;
  readonly cause: EventId | null;
  readonly idempotencyKey: string | null;
  /** JSON, as in an event. */
  readonly program: string | null;
  readonly startedAtMs: number;
  readonly durationMs: number;
}

type InvocationColumns = Omit<InvocationEvents['invocation'], 'startedAt' | 'program'> & {
  readonly startedAtMs: number;
  readonly program: string | null;
};

const COLUMNS = `id, type, entity_type AS entityType, entity_id AS entityId, actor, operation, invocation, cause, hops,
  pii_class AS piiClass, subject, payload, program, at AS atMs`;

/** SQLite prepares a statement anew whenever a value is bound to a bare `LIMIT ?`, which costs more than the reading. */
const LIMIT = 'LIMIT ? + 0';

export const EVENT_SQL = {
  history: `SELECT ${COLUMNS} FROM _spine_events WHERE entity_type = ? AND entity_id = ? AND id > ? ORDER BY id ${LIMIT}`,
  one: `SELECT ${COLUMNS} FROM _spine_events WHERE id = ?`,
  hops: 'SELECT hops FROM _spine_events WHERE id = ?',
  subject: 'SELECT subject FROM _spine_events WHERE id = ?',
  effects: `SELECT ${COLUMNS} FROM _spine_events WHERE cause = ? ORDER BY id ${LIMIT}`,
  invocation: `SELECT ${COLUMNS} FROM _spine_events WHERE invocation = ? ORDER BY id ${LIMIT}`,
  oneInvocation: `SELECT id, operation, principal, parent, cause, idempotency_key AS idempotencyKey,
      started_at AS startedAtMs, duration_ms AS durationMs, outcome, program FROM _spine_invocations WHERE id = ?`,
  version: 'SELECT id FROM _spine_events WHERE entity_type = ? AND entity_id = ? ORDER BY id DESC LIMIT 1',
} as const;

/** The newest of each kind of id, read along the primary key when a scope is opened. */
export const NEWEST_EVENT_SQL = {
  event: 'SELECT id FROM _spine_events ORDER BY id DESC LIMIT 1',
  invocation:
    'SELECT id, started_at + duration_ms AS endedAtMs FROM _spine_invocations ORDER BY id DESC LIMIT 1',
} as const;

export type EventStore = ReturnType<typeof makeEventStore>;

/** Returns the place that an event's payload is sealed to. */
export function eventPlace(id: string): string {
  return `event/${id}`;
}

export function makeEventStore(db: SqlDatabase, subjectKeys: SubjectKeys) {
  /** Returns rows as records. Opening sealed payloads asks for all missing keys at once; with `sealed` they stay closed. */
  const recordsOf = (rows: readonly EventRow[], sealed: boolean): EventRecord[] => {
    if (!sealed) {
      const missing = subjectKeys.missing(rows.flatMap(({ subject }) => subject ?? []));
      if (missing.length > 0) throw keysNeeded({ subjects: missing, pool: null });
    }
    return rows.map((row) => recordOf(row, sealed ? null : subjectKeys));
  };

  const one = (id: string): EventRow | undefined => db.get<EventRow>(EVENT_SQL.one, id);

  return {
    recordsOf,
    one,

    /** Appends an event; `proof` is the JSON of the actor's proof. */
    append: (event: EventRow, proof: string): void =>
      db.run(
        `INSERT INTO _spine_events
           (id, type, version, entity_type, entity_id, actor, operation, invocation, cause, hops, proof, pii_class, subject, payload, program, at)
         VALUES (?, ?, ${EVENT_VERSION}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
        event.program,
        event.atMs,
      ),

    saveInvocation: (row: InvocationRow): void =>
      db.run(
        `INSERT INTO _spine_invocations (id, operation, principal, parent, cause, idempotency_key, program, started_at, duration_ms, outcome)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'done')`,
        row.id,
        row.operation,
        row.principal,
        row.parent,
        row.cause,
        row.idempotencyKey,
        row.program,
        row.startedAtMs,
        row.durationMs,
      ),

    /** Returns the id of the last event on a record: its version. */
    version: (entity: EntityRef): string | null =>
      db.get<{ id: string }>(EVENT_SQL.version, entity.type, entity.id)?.id ?? null,

    /** Returns the ids of the newest event and invocation, and the end of that invocation. */
    newest: (): { readonly ids: string[]; readonly endedAtMs: number } => {
      const event = db.get<{ id: string }>(NEWEST_EVENT_SQL.event);
      const invocation = db.get<{ id: string; endedAtMs: number }>(NEWEST_EVENT_SQL.invocation);
      const ids = [event, invocation].flatMap((row) => (row ? [row.id] : []));
      return { ids, endedAtMs: invocation?.endedAtMs ?? 0 };
    },

    ofEntity: ({ type, id }: EntityRef, after: string, limit: number): EventRow[] =>
      db.all<EventRow>(EVENT_SQL.history, type, id, after, limit),
    effectsOf: (event: string, limit: number): EventRow[] =>
      db.all<EventRow>(EVENT_SQL.effects, event, limit),
    ofInvocation: (id: string, limit: number): EventRow[] =>
      db.all<EventRow>(EVENT_SQL.invocation, id, limit),
    invocation: (id: string): InvocationColumns | undefined =>
      db.get<InvocationColumns>(EVENT_SQL.oneInvocation, id),

    record: (id: string, sealed = false): EventRecord | null => {
      const row = one(id);
      return row ? (recordsOf([row], sealed)[0] ?? null) : null;
    },

    /** Returns those of the events' persons whose keys are not in memory. */
    keyless: (ids: readonly string[]): HeldKeys[] =>
      subjectKeys.missing(
        ids.flatMap((id) => db.get<{ subject: string | null }>(EVENT_SQL.subject, id)?.subject ?? []),
      ),

    /** Returns the length of the chain that led to an event; undefined when there is no such event. */
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
    ...storedProgram(row.program),
    at: toTimestamp(row.atMs),
  };
}

/** Returns the payload in clear, or what stands for a sealed or erased one. */
function payloadOf({ id, subject, payload }: EventRow, subjectKeys: SubjectKeys | null): unknown {
  if (payload === null) return null;
  if (subject === null || payload.startsWith('{')) return JSON.parse(payload);
  if (subjectKeys === null) return { $sealed: payload } satisfies Sealed;
  const opened = subjectKeys.open(subject, eventPlace(id), payload);
  return 'text' in opened ? JSON.parse(opened.text) : opened;
}
