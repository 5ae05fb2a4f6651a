/**
 * How a verified credential becomes a connection, and how a connection changes: the part that every way of connecting
 * shares. Runs inside the directory's transaction; the caller writes the admin-log row.
 */
import { ID_PREFIXES, PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import type { ConnectionReason } from '../declarations/connection-records.ts';
import type { AuditEntry } from '../lib/handlers.ts';
import type { Account } from './account-probe.ts';
import { appendActivity, type NewActivity } from './activity-store.ts';
import type { SealedCredential } from './credential.ts';
import { type ConnectionRow, loadLiveConnection, saveConnection, saveCredential } from './store.ts';

/** Where a connection belongs, and what tells it from others. */
export interface ConnectionTarget extends Pick<Account, 'account'> {
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly provider: string;
  readonly subjectRef: string;
}

/** A credential that the provider has taken, sealed for the connection `connection`. */
export interface VerifiedCredential extends Account {
  readonly connection: string;
  readonly credential: SealedCredential;
  readonly scopes: readonly string[];
}

/** The id that a credential is to be sealed for: that of the live connection of this account, or a new one. */
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
 * @throws PlatformError `conflict`, reason `slot_taken`, when the slot is not what it was found to be: another call was
 * faster, and what was sealed for one connection opens in no other.
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
    scopes: JSON.stringify(verified.scopes),
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
export interface Step {
  readonly state: ConnectionRow['state'];
  readonly reason: ConnectionReason | null;
  readonly revision: number;
  /** Whether the provider has just taken the credential. */
  readonly verified: boolean;
}

/** Takes the step and answers the connection after it. */
export function takeStep(context: UnitContext, before: ConnectionRow, step: Step): ConnectionRow {
  const nowMs = context.now();
  const { state, reason, revision } = step;
  const verifiedAtMs = step.verified ? nowMs : before.verifiedAtMs;
  const after: ConnectionRow = { ...before, state, reason, revision, verifiedAtMs, updatedAtMs: nowMs };
  saveConnection(context.db, after);
  return after;
}

/** Writes one entry of the connection's story. */
export function note(context: UnitContext, entry: Omit<NewActivity, 'atMs'>): void {
  appendActivity(context.db, { ...entry, atMs: context.now() });
}

/** What a log row about this connection is about. */
export function targetOf(row: ConnectionRow): AuditEntry['target'] {
  return { tenant: row.tenant, scope: row.scope, vertical: row.vertical, other: row.id };
}

/** Account and account name may be a person's: the log, which is never swept, does not keep them. */
export function auditFields(row: ConnectionRow): NonNullable<AuditEntry['after']> {
  const { provider, subjectRef, createdBy, scopes, state, reason } = row;
  return { provider, subjectRef, createdBy, scopes: JSON.parse(scopes), state, reason };
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

/** A provider that does not tell whose account it is leaves only the caller's own name for it. */
function accountKeyOf({ account, scope, subjectRef }: ConnectionTarget): string {
  return account === null ? `subject:${scope}:${subjectRef}` : `account:${account}`;
}

function isKnown(db: SqlDatabase, connection: string): boolean {
  return db.get('SELECT 1 FROM connections WHERE id = ?', connection) !== undefined;
}
