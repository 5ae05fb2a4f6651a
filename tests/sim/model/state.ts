/** The model's tables of a scope, and how the scope's database is read for comparison. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '@freehold/contracts';
import { open, type SqlDatabase, type SqlRow } from '@freehold/store';
import type { Invariant } from '../lib/violation.ts';
import { type Contents, makeTables } from './tables.ts';

/** The rows are those of the database. Unpredictable columns, such as sealed text, are left out of both. */
export interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly actor: string;
  readonly operation: string;
  readonly invocation: string;
  readonly cause: string | null;
  /** The number of deliveries that led to it. */
  readonly hops: number;
  readonly proof: string;
  readonly piiClass: string;
  readonly subject: string | null;
  /** JSON; `sealed` for a sealed payload. */
  readonly payload: string | null;
  readonly at: number;
}

export interface InvocationRow {
  readonly id: string;
  readonly operation: string;
  readonly principal: string;
  readonly parent: string | null;
  readonly cause: string | null;
  readonly idempotencyKey: string | null;
  readonly startedAt: number;
}

export interface GrantRow {
  readonly subject: string;
  readonly permission: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly expiresAt: number | null;
  readonly grantedBy: string;
  readonly at: number;
}

export interface DenialRow {
  readonly id: string;
  readonly actor: string;
  readonly permission: string;
  readonly entityType: string | null;
  readonly entityId: string | null;
  readonly operation: string | null;
  readonly at: number;
}

export interface IdempotencyRow {
  readonly principal: string;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the input. */
  readonly fingerprint: string;
  readonly subjects: readonly string[] | null;
  /** Null for a sealed result. */
  readonly result: unknown;
  readonly at: number;
}

export interface DeliveryRow {
  readonly subscriber: string;
  readonly type: string;
  readonly event: string;
  readonly attempts: number;
  readonly claim: number;
  readonly nextAt: number;
  readonly firstAt: number | null;
}

export interface DeadLetterRow {
  readonly event: string;
  readonly subscriber: string;
  readonly type: string;
  readonly attempts: number;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly code: string;
}

export interface ScheduleRow {
  readonly key: string;
  readonly nextAt: number;
  readonly lastAt: number | null;
  readonly outcome: string | null;
}

export interface RequestRow {
  readonly id: string;
  readonly kind: string;
  readonly payload: string;
  readonly status: string;
  readonly revision: number;
  readonly requestedBy: string;
  readonly invocation: string;
  readonly cause: string | null;
  readonly at: number;
  readonly settledAt: number | null;
  readonly result: string | null;
}

/** Makes the tables of one scope. */
export function makeScopeState() {
  const tables = makeTables();
  return {
    tables,
    /** With a mark, an older state came back and answers nothing until the vault was asked for erasures. */
    scope: tables.table<{ tenantId: string; name: string; mark: string | null }>('scope'),
    events: tables.table<EventRow>('events'),
    invocations: tables.table<InvocationRow>('invocations'),
    roles: tables.table<{ role: string; permission: string }>('roles'),
    assignments: tables.table<{ principal: string; role: string; grantedBy: string; at: number }>(
      'assignments',
    ),
    grants: tables.table<GrantRow>('grants'),
    parents: tables.table<{ entityType: string; entityId: string; parentType: string; parentId: string }>(
      'parents',
    ),
    denials: tables.table<DenialRow>('denials'),
    idempotency: tables.table<IdempotencyRow>('idempotency'),
    deliveries: tables.table<DeliveryRow>('deliveries'),
    dead: tables.table<DeadLetterRow>('dead'),
    schedules: tables.table<ScheduleRow>('schedules'),
    requests: tables.table<RequestRow>('requests'),
    settings: tables.table<{ key: string; value: string }>('settings'),
    shredded: tables.table<{ subject: string; keyDigest: string | null; shreddedAt: string }>('shredded'),
    accounts: tables.table<{ id: string; balance: number }>('accounts'),
    notes: tables.table<{ id: string; value: string }>('notes'),
    places: tables.table<{ place: string; person: string }>('places'),
    people: tables.table<{ person: string; name: string }>('people'),
    /** Plain texts by the place of their sealed form. No table of the database. */
    clear: tables.table<string>('clear'),
    /** The newest id of each kind. No table of the database. */
    newest: tables.table<string>('newest'),
  };
}

export type ScopeState = ReturnType<typeof makeScopeState>;

/** A table of the model, and the query of the database rows that must equal it. */
export interface Mirror {
  readonly table: string;
  readonly invariant: Invariant;
  readonly sql: string;
  /** The key in the model. */
  readonly key: (row: SqlRow) => string;
  /** The row as the model has it. Default: as it was read. */
  readonly row?: (row: SqlRow) => unknown;
}

/** The text of a sealed column begins with the version of the sealing. */
const SEALED = `CASE WHEN subject IS NOT NULL AND substr(payload, 1, 1) <> '{' THEN 'sealed' ELSE payload END`;

export const EVENT_ROWS = `SELECT id, type, entity_type AS entityType, entity_id AS entityId, actor, operation,
  invocation, cause, hops, proof, pii_class AS piiClass, subject, ${SEALED} AS payload, at FROM _spine_events`;
export const INVOCATION_ROWS = `SELECT id, operation, principal, parent, cause, idempotency_key AS idempotencyKey,
  started_at AS startedAt FROM _spine_invocations`;
export const DENIAL_ROWS = `SELECT id, actor, permission, entity_type AS entityType, entity_id AS entityId, operation,
  at FROM _spine_denials`;
export const REQUEST_ROWS = `SELECT id, kind, payload, status, revision, requested_by AS requestedBy, invocation, cause,
  at, settled_at AS settledAt, result FROM _spine_platform_requests`;

const id = (row: SqlRow): string => String(row.id);
const keyed =
  (...columns: readonly string[]) =>
  (row: SqlRow): string =>
    columns.map((column) => row[column]).join(' ');

export const MIRRORS: readonly Mirror[] = [
  {
    table: 'scope',
    invariant: 'acknowledged_is_durable',
    sql: 'SELECT tenant_id AS tenantId, name, latecomers AS mark FROM _spine_scope',
    key: () => 'scope',
  },
  { table: 'events', invariant: 'history', sql: EVENT_ROWS, key: id },
  { table: 'invocations', invariant: 'history', sql: INVOCATION_ROWS, key: id },
  {
    table: 'roles',
    invariant: 'all_or_nothing',
    sql: 'SELECT role, permission FROM _spine_roles',
    key: keyed('role', 'permission'),
  },
  {
    table: 'assignments',
    invariant: 'all_or_nothing',
    sql: 'SELECT principal, role, granted_by AS grantedBy, at FROM _spine_assignments',
    key: keyed('principal', 'role'),
  },
  {
    table: 'grants',
    invariant: 'all_or_nothing',
    sql: `SELECT subject, permission, entity_type AS entityType, entity_id AS entityId, expires_at AS expiresAt,
      granted_by AS grantedBy, at FROM _spine_grants`,
    key: keyed('subject', 'permission', 'entityType', 'entityId'),
  },
  {
    table: 'parents',
    invariant: 'all_or_nothing',
    sql: `SELECT entity_type AS entityType, entity_id AS entityId, parent_type AS parentType, parent_id AS parentId
      FROM _spine_parents`,
    key: keyed('entityType', 'entityId'),
  },
  { table: 'denials', invariant: 'denials', sql: DENIAL_ROWS, key: id },
  {
    table: 'idempotency',
    invariant: 'outcome',
    sql: `SELECT principal, operation, key, fingerprint, subjects, result, at FROM _spine_idempotency`,
    key: keyed('principal', 'operation', 'key'),
    row: ({ subjects, result, ...row }) => ({
      ...row,
      subjects: subjects === null ? null : JSON.parse(String(subjects)),
      result: subjects === null ? JSON.parse(String(result)) : null,
    }),
  },
  {
    table: 'deliveries',
    invariant: 'deliveries',
    sql: `SELECT subscriber, type, event, attempts, claim, next_at AS nextAt, first_at AS firstAt
      FROM _spine_deliveries`,
    key: keyed('subscriber', 'type', 'event'),
  },
  {
    table: 'dead',
    invariant: 'deliveries',
    sql: `SELECT event, subscriber, type, attempts, first_at AS firstAt, last_at AS lastAt, error_code AS code
      FROM _spine_dead_letters`,
    key: keyed('event', 'subscriber'),
  },
  {
    table: 'schedules',
    invariant: 'deliveries',
    sql: 'SELECT key, next_at AS nextAt, last_at AS lastAt, last_outcome AS outcome FROM _spine_schedules',
    key: keyed('key'),
  },
  { table: 'requests', invariant: 'all_or_nothing', sql: REQUEST_ROWS, key: id },
  {
    table: 'settings',
    invariant: 'all_or_nothing',
    sql: `SELECT key, value FROM _spine_settings WHERE kind = 'setting'`,
    key: keyed('key'),
  },
  {
    table: 'shredded',
    invariant: 'erasure',
    sql: 'SELECT subject, key_digest AS keyDigest, shredded_at AS shreddedAt FROM _spine_shredded',
    key: keyed('subject'),
  },
  { table: 'accounts', invariant: 'all_or_nothing', sql: 'SELECT id, balance FROM accounts', key: id },
  { table: 'notes', invariant: 'all_or_nothing', sql: 'SELECT id, value FROM notes', key: id },
  {
    table: 'places',
    invariant: 'all_or_nothing',
    sql: 'SELECT place, person FROM kept',
    key: keyed('place'),
  },
  { table: 'people', invariant: 'erasure', sql: 'SELECT person, name FROM people', key: keyed('person') },
];

export interface Difference {
  readonly invariant: Invariant;
  readonly detail: string;
  /** The database has a row too many. */
  readonly isTooMuch: boolean;
}

function asRead(row: SqlRow): unknown {
  return row;
}

/** Returns the first difference between a database and a model, or null. */
export function difference(
  db: SqlDatabase,
  contents: Contents,
  mirrors: readonly Mirror[],
): Difference | null {
  for (const { table, invariant, sql, key, row: rowOf = asRead } of mirrors) {
    const expected = contents.get(table) ?? new Map();
    const rows = db.all(sql);
    for (const row of rows) {
      const name = key(row);
      const wanted = expected.get(name);
      if (wanted === undefined)
        return {
          invariant,
          detail: `${table} has a row too much: ${canonicalJson({ ...row })}`,
          isTooMuch: true,
        };
      const found = canonicalJson({ ...(rowOf(row) as object) });
      if (found !== textOfRow(wanted))
        return {
          invariant,
          detail: `${table} has ${found} instead of ${textOfRow(wanted)}`,
          isTooMuch: false,
        };
    }
    if (rows.length < expected.size) {
      const found = new Set(rows.map(key));
      const missing = [...expected].find(([name]) => !found.has(name));
      return { invariant, detail: `${table} lacks ${canonicalJson(missing?.[1])}`, isTooMuch: false };
    }
  }
  return null;
}

/** Rows of the model are compared over and over, and never change. */
const texts = new WeakMap<object, string>();
function textOfRow(row: object): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = canonicalJson(row);
    texts.set(row, text);
  }
  return text;
}

/** Checks that the sealed texts of a scope open to the expected plain texts. */
export function sealedDifference(
  db: SqlDatabase,
  scopeId: string,
  clear: ReadonlyMap<string, unknown>,
  keyOf: (person: string) => Uint8Array | 'destroyed' | undefined,
): Difference | null {
  const sealed = db.all<{ person: string; place: string; text: string }>(
    `SELECT subject AS person, 'event/' || id AS place, payload AS text FROM _spine_events
       WHERE subject IS NOT NULL AND substr(payload, 1, 1) <> '{'
     UNION ALL SELECT person, 'value/' || place, sealed FROM kept`,
  );
  for (const { person, place, text } of sealed) {
    const key = keyOf(person);
    if (key === 'destroyed') continue;
    const opened = key && open(key, `${scopeId}/${person}/${place}`, text);
    const wanted = clear.get(place);
    if (opened !== wanted)
      return {
        invariant: 'acknowledged_is_durable',
        detail: `what is sealed for ${person} at ${place} opens to ${opened} instead of ${String(wanted)}`,
        isTooMuch: false,
      };
  }
  return null;
}

export function fingerprintOf(input: unknown): string {
  return createHash('sha256')
    .update(canonicalJson(input ?? null))
    .digest('hex');
}
