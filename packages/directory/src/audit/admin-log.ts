/** The admin log in SQL: append-only by trigger, gapless by trigger, and read in keyset pages, newest first. */
import { createHash } from 'node:crypto';
import { canonicalJson, fromTimestamp, type ProblemCode, toTimestamp } from '@freehold/contracts';
import {
  defineTable,
  integer,
  type Migration,
  nullable,
  type RowOf,
  type SqlDatabase,
  text,
  type UnitContext,
} from '@freehold/store';
import type { Actor, AdminCall } from '../access/actors.ts';
import { memberBehind } from '../access/admission.ts';
import type { AdminLogEntry, LoggedActor, LogHead } from '../declarations/records.ts';
import type { AuditEntry } from '../lib/handlers.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { REVOCATION_RULES } from '../revocations/rules.ts';
import { recordRevocations } from '../revocations/store.ts';

export const adminLogMigration: Migration = {
  version: 6,
  name: 'admin log and access log',
  sql: `
    CREATE TABLE admin_log (
      sequence INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      actor_kind TEXT NOT NULL, actor TEXT NOT NULL, actor_name TEXT NOT NULL,
      token TEXT, request TEXT NOT NULL, action TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT, other TEXT,
      before TEXT, after TEXT,
      outcome TEXT NOT NULL, intent INTEGER, code TEXT,
      previous_hash TEXT NOT NULL, hash TEXT NOT NULL
    ) STRICT;
    CREATE INDEX admin_log_tenant ON admin_log (tenant);
    CREATE INDEX admin_log_scope ON admin_log (scope);
    CREATE INDEX admin_log_actor ON admin_log (actor);
    CREATE INDEX admin_log_action ON admin_log (action);
    CREATE INDEX admin_log_outcome ON admin_log (outcome);
    CREATE TRIGGER admin_log_no_update BEFORE UPDATE ON admin_log
      BEGIN SELECT RAISE(ABORT, 'the admin log is append-only'); END;
    CREATE TRIGGER admin_log_no_delete BEFORE DELETE ON admin_log
      BEGIN SELECT RAISE(ABORT, 'the admin log is append-only'); END;
    -- REPLACE deletes without asking the trigger above; this one is asked first.
    CREATE TRIGGER admin_log_gapless BEFORE INSERT ON admin_log
      WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM admin_log)
      BEGIN SELECT RAISE(ABORT, 'the admin log has no gaps'); END;

    CREATE TABLE open_intents (sequence INTEGER PRIMARY KEY) STRICT;

    CREATE TABLE access_log (
      id TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      actor_kind TEXT NOT NULL, actor TEXT NOT NULL, actor_name TEXT NOT NULL,
      token TEXT, request TEXT NOT NULL, operation TEXT NOT NULL,
      tenant TEXT, scope TEXT, vertical TEXT, other TEXT,
      items INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX access_log_tenant ON access_log (tenant);
    CREATE INDEX access_log_scope ON access_log (scope);
    CREATE INDEX access_log_actor ON access_log (actor);
    CREATE INDEX access_log_operation ON access_log (operation);
    CREATE TRIGGER access_log_no_update BEFORE UPDATE ON access_log
      BEGIN SELECT RAISE(ABORT, 'the access log is append-only'); END;
    CREATE TRIGGER access_log_no_delete BEFORE DELETE ON access_log
      BEGIN SELECT RAISE(ABORT, 'the access log is append-only'); END;
  `,
};

const entries = defineTable('admin_log', ['sequence'], {
  sequence: integer(),
  at: integer(),
  actorKind: text(),
  actor: text(),
  actorName: text(),
  token: nullable(text()),
  request: text(),
  action: text(),
  tenant: nullable(text()),
  scope: nullable(text()),
  vertical: nullable(text()),
  other: nullable(text()),
  /** Canonical JSON, which the hash is of. */
  before: nullable(text()),
  after: nullable(text()),
  outcome: text(),
  intent: nullable(integer()),
  code: nullable(text()),
  previousHash: text(),
  hash: text(),
});
/** A row as it is stored. */
export type AdminLogRow = RowOf<typeof entries>;

/** The actor and the action of a row that is about to be written. */
export interface AuditedCall {
  readonly actor: LoggedActor;
  readonly token: string | null;
  readonly requestId: string;
  readonly action: string;
}

interface AuditRowInput extends AuditEntry {
  readonly outcome: AdminLogEntry['outcome'];
  /** The intent that this row settles. */
  readonly intent?: number;
  readonly code?: ProblemCode;
}

/**
 * The actor of a call, as the logs name it, with the program through which a member acts. The id of a service, or of a push token, is that of its token. A member of the
 * roster has a token only through a program; a vertical and the platform itself have none.
 */
export function auditedCall({ actor, requestId, operation }: AdminCall): AuditedCall {
  return {
    actor: { kind: actor.kind, id: actor.id, name: loggedNameOf(actor) },
    token: tokenOf(actor),
    requestId,
    action: operation,
  };
}

/** `Ada`, or `Ada, through Claude Desktop` where a program acts for her. */
function loggedNameOf(actor: Actor): string {
  const program = actor.kind === 'staff' || actor.kind === 'builder' ? actor.program : undefined;
  return program ? `${actor.name}, through ${program.name}` : actor.name;
}

function tokenOf(actor: Actor): string | null {
  if (actor.kind === 'vertical' || actor.kind === 'system') return null;
  const isPerson = actor.kind === 'staff' || (actor.kind === 'builder' && memberBehind(actor) !== null);
  return isPerson ? (actor.token ?? null) : actor.id;
}

/** The newest row's sequence and hash, or null while the log is empty. */
export function logHead(db: SqlDatabase): LogHead | null {
  const head = db.get<LogHead>('SELECT sequence, hash FROM admin_log ORDER BY sequence DESC LIMIT 1');
  return head ? { sequence: head.sequence, hash: head.hash } : null;
}

/** Appends one row and returns the new head. */
export function appendAdminLog(context: UnitContext, call: AuditedCall, row: AuditRowInput): LogHead {
  const { db } = context;
  const head = logHead(db);
  const at = context.now();
  const unhashed: Omit<AdminLogEntry, 'hash'> = {
    sequence: (head?.sequence ?? 0) + 1,
    at: toTimestamp(at),
    actor: call.actor,
    token: call.token,
    requestId: call.requestId,
    action: call.action,
    target: row.target,
    before: row.before,
    after: row.after,
    outcome: row.outcome,
    intent: row.intent ?? null,
    code: row.code ?? null,
    previousHash: head?.hash ?? GENESIS_HASH,
  };
  const hash = hashOfEntry(unhashed);
  const { sequence, outcome, intent, code, previousHash } = unhashed;
  entries.insert(db, {
    ...{ sequence, at, actorKind: call.actor.kind, actor: call.actor.id, actorName: call.actor.name },
    ...{ token: call.token, request: call.requestId, action: call.action },
    ...row.target,
    before: row.before === null ? null : canonicalJson(row.before),
    after: row.after === null ? null : canonicalJson(row.after),
    ...{ outcome, intent, code, previousHash, hash },
  });
  if (row.outcome === 'done' && Object.hasOwn(REVOCATION_RULES, call.action))
    recordRevocations(db, {
      ...{ sequence, at, action: call.action, ...row.target },
      ...{ before: row.before ?? {}, after: row.after ?? {} },
    });
  if (row.outcome === 'intent') db.run('INSERT INTO open_intents (sequence) VALUES (?)', sequence);
  if (row.intent !== undefined) db.run('DELETE FROM open_intents WHERE sequence = ?', row.intent);
  return { sequence, hash };
}

/** The row with this sequence, or undefined. */
export const loadAdminLogRow = entries.get;

/** Rows from a sequence on, oldest first, for verification. */
export function adminLogSlice(
  db: SqlDatabase,
  { from, limit }: { readonly from: number; readonly limit: number },
): AdminLogRow[] {
  return entries.all(db, `${entries.select} WHERE sequence >= ? ORDER BY sequence LIMIT ?`, from, limit);
}

interface AdminLogFilter extends PageRequest {
  readonly tenant?: string | undefined;
  readonly scope?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly outcome?: AdminLogEntry['outcome'] | 'unsettled' | undefined;
}

const UNSETTLED = { sql: 'sequence IN (SELECT sequence FROM open_intents)', params: [] };

export const { statement: adminLogPage, list: listAdminLog } = definePages({
  from: entries,
  where: ({ tenant, scope, actor, action, outcome }: AdminLogFilter) => ({
    ...{ tenant, scope, actor, action },
    outcome: outcome === 'unsettled' ? undefined : outcome,
  }),
  and: ({ outcome }) => (outcome === 'unsettled' ? [UNSETTLED] : []),
  key: 'sequence',
  numeric: true,
  order: 'DESC',
  item: entryOfRow,
});

/** A stored row as the wire shows it and as it was hashed. @throws on a row that this code has not written. */
export function entryOfRow(row: AdminLogRow): AdminLogEntry {
  const at = toTimestamp(row.at);
  if (fromTimestamp(at) !== row.at) throw new RangeError('not a time in milliseconds');
  return {
    sequence: row.sequence,
    at,
    actor: { kind: row.actorKind as LoggedActor['kind'], id: row.actor, name: row.actorName },
    token: row.token,
    requestId: row.request,
    action: row.action,
    target: { tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.other },
    before: row.before === null ? null : JSON.parse(row.before),
    after: row.after === null ? null : JSON.parse(row.after),
    outcome: row.outcome as AdminLogEntry['outcome'],
    intent: row.intent,
    code: row.code,
    previousHash: row.previousHash,
    hash: row.hash,
  };
}

const DOMAIN_TAG = 'freehold.admin-log.v1';

/** The previous hash of the first row. */
export const GENESIS_HASH = '0'.repeat(64);

/**
 * The hash of a row, in hexadecimal (design: control-plane, "Audit"): SHA-256 over the domain tag, a line feed and the RFC
 * 8785 form of the row without `hash`. It covers exactly the fields that `GET /admin-log` shows, so that an export can be
 * verified without this platform.
 */
export function hashOfEntry(entry: Omit<AdminLogEntry, 'hash'>): string {
  return createHash('sha256')
    .update(`${DOMAIN_TAG}\n${canonicalJson(entry)}`)
    .digest('hex');
}
