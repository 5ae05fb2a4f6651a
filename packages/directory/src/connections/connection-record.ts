/**
 * Turns verified credentials into connections, and changes connections: the part that every way of connecting shares. Runs
 * inside the directory's transaction; the caller writes the admin-log row.
 */
import { ID_PREFIXES, PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import {
  computed,
  defineTable,
  integer,
  nullable,
  type SqlDatabase,
  type SqlValue,
  text,
  time,
  type UnitContext,
  unread,
} from '@freehold/store';
import type { ConnectionActivityEntry, ConnectionReason } from '../declarations/connections.ts';
import type { AuditEntry } from '../lib/handlers.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import type { SealedCredential } from './credential.ts';
import type { Account } from './provider-exchange.ts';
import { type ConnectionRow, loadLiveConnection, saveConnection, saveCredential } from './store.ts';

/** The place and the identity of a connection. */
export interface ConnectionTarget extends Pick<Account, 'account'> {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly provider: string;
  readonly subjectRef: string;
}

/** A credential that the provider has accepted, sealed for the connection `connection`. */
export interface VerifiedCredential extends Account {
  readonly connection: string;
  readonly credential: SealedCredential;
  readonly scopes: readonly string[];
}

/** The id to seal a credential for: that of the live connection of this account, or a new one. */
export interface Slot {
  readonly connection: string;
  readonly isNew: boolean;
}

/**
 * Finds the slot. One account is connected once per (tenant, vertical, provider); connecting it again in the same scope
 * loads the new credential into the same connection.
 * @throws PlatformError `conflict`, reason `account_connected`, when another scope has it.
 */
export function findSlot(context: UnitContext, target: ConnectionTarget): Slot {
  const live = loadLiveConnection(context.db, { ...target, accountKey: accountKeyOf(target) });
  if (!live) return { connection: context.newId(ID_PREFIXES.connection), isNew: true };
  if (live.scope !== target.scope) throw accountConnected();
  return { connection: live.id, isNew: false };
}

/**
 * Loads a verified credential into its slot.
 * @throws PlatformError `conflict`, reason `slot_taken`, when another call changed the slot first: a credential that was
 * sealed for one connection opens in no other.
 */
export function fillSlot(
  context: UnitContext,
  target: ConnectionTarget & { readonly by: string; readonly revision: number },
  verified: VerifiedCredential,
): { readonly before: ConnectionRow | null; readonly after: ConnectionRow } {
  const { db } = context;
  const slot = findSlot(context, { ...target, account: verified.account });
  if (slot.isNew ? isKnown(db, verified.connection) : slot.connection !== verified.connection)
    throw new PlatformError('conflict', 'This account is being connected by another call right now.', {
      reason: 'slot_taken',
    });
  const accountKey = accountKeyOf({ ...target, account: verified.account });
  const before = loadLiveConnection(db, { ...target, accountKey }) ?? null;
  const nowMs = context.now();
  const { account, accountName, connection, credential } = verified;
  const after: ConnectionRow = {
    id: connection,
    tenant: target.tenant,
    scope: target.scope,
    vertical: target.vertical,
    provider: target.provider,
    account,
    accountName,
    accountKey,
    subjectRef: target.subjectRef,
    createdBy: target.by,
    scopes: [...verified.scopes],
    state: 'active',
    reason: null,
    verifiedAtMs: nowMs,
    revision: target.revision,
    createdAtMs: before?.createdAtMs ?? nowMs,
    updatedAtMs: nowMs,
  };
  saveConnection(db, after);
  saveCredential(db, connection, credential, nowMs);
  note(context, { connection, kind: before ? 'reconnected' : 'connected', by: target.by });
  return { before, after };
}

/** A step of a connection from one state to another, or within one. */
interface Step {
  readonly state: ConnectionRow['state'];
  readonly reason: ConnectionReason | null;
  readonly revision: number;
  /** Whether the provider has just accepted the credential. */
  readonly verified: boolean;
}

/** Takes the step, and returns the connection after it. */
export function takeStep(context: UnitContext, before: ConnectionRow, step: Step): ConnectionRow {
  const nowMs = context.now();
  const { state, reason, revision } = step;
  const verifiedAtMs = step.verified ? nowMs : before.verifiedAtMs;
  const after: ConnectionRow = { ...before, state, reason, revision, verifiedAtMs, updatedAtMs: nowMs };
  saveConnection(context.db, after);
  return after;
}

export function targetOf(row: ConnectionRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.id };
}

/** Leaves out the account and its name: they may identify a person, and the log is kept for ever. */
export function auditFields(row: ConnectionRow): NonNullable<AuditEntry['after']> {
  const { provider, subjectRef, createdBy, scopes, state, reason } = row;
  return { provider, subjectRef, createdBy, scopes, state, reason };
}

/** @throws PlatformError `invalid_transition`, reason `connection_disconnected`. */
export function requireConnected(row: ConnectionRow): void {
  if (row.state !== 'disconnected') return;
  throw new PlatformError(
    'invalid_transition',
    'This connection is disconnected. Connect the account anew.',
    {
      reason: 'connection_disconnected',
    },
  );
}

export function accountConnected(): PlatformError {
  return new PlatformError('conflict', 'This account is connected already.', { reason: 'account_connected' });
}

/** Where a provider does not name the account, the caller's own name for it tells connections apart. */
function accountKeyOf({ account, scope, subjectRef }: ConnectionTarget): string {
  return account === null ? `subject:${scope}:${subjectRef}` : `account:${account}`;
}

function isKnown(db: SqlDatabase, connection: string): boolean {
  return db.get('SELECT 1 FROM connections WHERE id = ?', connection) !== undefined;
}

/** The most entries of one connection: three weeks of hourly refreshes. */
const ENTRIES_MAX = 500;

const activity = defineTable('connection_activity', ['sequence'], {
  sequence: computed('sequence', integer()),
  connection: unread(text()),
  atMs: time(),
  kind: text<ConnectionActivityEntry['kind']>(),
  reason: nullable(text<ConnectionReason>()),
  by: text('actor'),
});
const shownActivity = activity.recording<ConnectionActivityEntry & { sequence: number }>();

interface NewActivity {
  readonly connection: string;
  readonly kind: ConnectionActivityEntry['kind'];
  readonly reason?: ConnectionReason | null;
  readonly by: string;
}

/** Appends to the connection's activity, which is for operators; the evidence is the admin log. */
export function note({ db, now }: UnitContext, entry: NewActivity): void {
  activity.insert(db, { ...entry, atMs: now(), reason: entry.reason ?? null });
  db.run(
    `DELETE FROM connection_activity WHERE connection = ?1 AND sequence <=
       (SELECT sequence FROM connection_activity WHERE connection = ?1 ORDER BY sequence DESC LIMIT 1 OFFSET ?2)`,
    entry.connection,
    ENTRIES_MAX,
  );
}

type ActivityFilter = PageRequest & { readonly connection: string };

export const { statement: activityPage, list: listActivity } = definePages({
  from: activity,
  where: ({ connection }: ActivityFilter) => ({ connection }),
  key: 'sequence',
  numeric: true,
  order: 'DESC',
  item: (row): ConnectionActivityEntry => {
    const { sequence: _, ...entry } = shownActivity(row);
    return entry;
  },
});

type Row = Readonly<Record<string, SqlValue>>;

/** Tables whose rows belong to one connection, and say what it may do. */
const OWN_TABLES = ['connection_credentials', 'connection_grants'] as const;

/**
 * Remembers the connections before a restore of the directory, and returns a function that gives the restored ones their
 * present credentials, grants and states. An earlier credential was exchanged, perhaps because it was stolen, or is a
 * refresh token that was used up: a provider that sees it again ends the connection (RFC 9700, section 4.14.2).
 */
export function rememberConnections(db: SqlDatabase): () => void {
  const before = db.all<Row>('SELECT id, state, reason, verified_at FROM connections');
  const rowsOf = OWN_TABLES.map((table) => ({ table, rows: db.all<Row>(`SELECT * FROM ${table}`) }));
  return () => {
    for (const { id, state, reason, verified_at } of before) {
      for (const table of OWN_TABLES) db.run(`DELETE FROM ${table} WHERE connection = ?`, id as string);
      db.run(
        'UPDATE connections SET state = ?, reason = ?, verified_at = ? WHERE id = ?',
        ...[state as string, reason as string | null, verified_at as number, id as string],
      );
    }
    for (const { table, rows } of rowsOf) for (const row of rows) putBack(db, table, row);
  };
}

/** The restored directory may lack the connection, or the scope of a grant. */
function putBack(db: SqlDatabase, table: (typeof OWN_TABLES)[number], row: Row): void {
  const isThere = (of: 'connections' | 'scopes', id: SqlValue | undefined): boolean =>
    id === undefined || db.get(`SELECT 1 FROM ${of} WHERE id = ?`, id) !== undefined;
  if (!isThere('connections', row.connection) || !isThere('scopes', row.scope)) return;
  const columns = Object.keys(row);
  db.run(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...columns.map((column) => row[column] as SqlValue),
  );
}
