/**
 * What the platform does with connections by itself, as far as the directory is concerned: refreshing, verifying,
 * re-sealing. A step that changes a connection's state is written to the admin log like anybody's; a refresh changes no
 * record, and is written to the connection's activity only.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import type { ConnectionReason } from '../declarations/connection-records.ts';
import type { LogHead } from '../declarations/records.ts';
import { loadScope } from '../scopes/store.ts';
import { loadTenant } from '../tenants/store.ts';
import { auditFields, note, takeStep, targetOf } from './connection-record.ts';
import type { SealedCredential } from './credential.ts';
import { hasGrantIn } from './grants-store.ts';
import {
  type ConnectionRef,
  type ConnectionRow,
  type CredentialRow,
  loadCredential,
  replaceSeal,
  requireConnection,
  saveConnection,
  saveCredential,
  setRefreshing,
} from './store.ts';

/** How long one refresher keeps the others out: longer than a provider may take to answer. */
const REFRESH_LEASE_MS = 60_000;

/** Who the log names where nobody called. */
const PLATFORM = { kind: 'system', id: 'connections', name: "The platform's own upkeep" } as const;

/** A connection with the credential that is loaded. */
export interface Loaded {
  readonly connection: ConnectionRow;
  readonly credential: CredentialRow;
}

/** Which credential of which connection something was learned about. */
export interface CredentialRef extends ConnectionRef {
  readonly generation: number;
}

/** @throws PlatformError `not_found`; `conflict`, reason `connection_not_live`, without a credential. */
export function loadLoaded(db: SqlDatabase, ref: ConnectionRef): Loaded {
  const connection = requireConnection(db, ref);
  const credential = loadCredential(db, connection.id);
  if (!credential) throw notLive(connection);
  return { connection, credential };
}

/**
 * The same for somebody who wants to use it.
 * @throws PlatformError also `conflict`, reason `connection_not_live`, while the connection or its tenant is not active.
 */
export function loadForUse(db: SqlDatabase, ref: ConnectionRef): Loaded {
  const loaded = loadLoaded(db, ref);
  if (loaded.connection.state === 'active' && loadTenant(db, ref.tenant)?.status === 'active') return loaded;
  throw notLive(loaded.connection);
}

/**
 * The gate that every delegated call passes (spec 4.4): the connection is active, and may act in the scope.
 * @throws PlatformError `not_found`; `conflict`, reason `connection_not_live`; `forbidden`, reason `not_granted`.
 */
export function requireLive(db: SqlDatabase, ref: ConnectionRef & { readonly scope: string }): ConnectionRow {
  const connection = requireConnection(db, ref);
  if (connection.state !== 'active') throw notLive(connection);
  const scope = loadScope(db, ref);
  if (
    scope?.status !== 'active' ||
    scope.vertical !== connection.vertical ||
    loadTenant(db, ref.tenant)?.status !== 'active' ||
    !hasGrantIn(db, connection.id, ref.scope)
  )
    throw new PlatformError('forbidden', 'This connection may not act in this scope.', {
      reason: 'not_granted',
    });
  return connection;
}

/** Takes the refresher's place. False: somebody else has it, or the credential was replaced. */
export function beginRefresh(context: UnitContext, ref: CredentialRef): boolean {
  const { db } = context;
  const credential = currentCredential(db, ref);
  const nowMs = context.now();
  if (!credential || credential.refreshingUntilMs > nowMs) return false;
  setRefreshing(db, ref.connection, nowMs + REFRESH_LEASE_MS);
  return true;
}

/** How a refresh ended. `failed`: the provider could not be asked, and nothing is known. */
export type RefreshEnd =
  | {
      readonly outcome: 'refreshed';
      readonly credential: SealedCredential;
      readonly scopes: readonly string[] | null;
    }
  | { readonly outcome: 'refused'; readonly reason: ConnectionReason }
  | { readonly outcome: 'failed' };

/** What became of what was learned. */
export interface Ended {
  /** The credential that is loaded now; null when what was learned is about one that is loaded no more. */
  readonly generation: number | null;
  /** The log's new head, when a row was written. */
  readonly head: LogHead | null;
}

/** Somebody replaced or destroyed the credential meanwhile: nothing that was learned is about what is there. */
const SUPERSEDED: Ended = { generation: null, head: null };

/** Gives the place back and writes down what became of it; nothing when the credential was replaced or destroyed. */
export function endRefresh(
  context: UnitContext,
  { end, requestId, ...ref }: CredentialRef & { readonly end: RefreshEnd; readonly requestId: string },
): Ended {
  const { db } = context;
  const { generation } = ref;
  if (!currentCredential(db, ref)) return SUPERSEDED;
  setRefreshing(db, ref.connection, 0);
  const connection = requireConnection(db, ref);
  if (end.outcome === 'failed') return { generation, head: null };
  if (end.outcome === 'refused')
    return { generation, head: becomeBroken(context, connection, end.reason, requestId) };
  saveCredential(db, connection.id, end.credential, context.now());
  note(context, { connection: connection.id, kind: 'refreshed', by: PLATFORM.id });
  const scopes = end.scopes === null ? connection.scopes : JSON.stringify(end.scopes);
  return { generation: generation + 1, head: becomeActive(context, { ...connection, scopes }, requestId) };
}

/** Writes down what a provider said of a credential when the platform asked by itself. */
export function recordCheck(
  context: UnitContext,
  {
    reason,
    requestId,
    ...ref
  }: CredentialRef & { readonly reason: ConnectionReason | null; readonly requestId: string },
): Ended {
  const { db } = context;
  if (!currentCredential(db, ref)) return SUPERSEDED;
  const connection = requireConnection(db, ref);
  const head =
    reason === null
      ? becomeActive(context, connection, requestId)
      : becomeBroken(context, connection, reason, requestId);
  return { generation: ref.generation, head };
}

/** Puts the same credential under another key, unless it was replaced meanwhile. */
export function reseal(
  context: UnitContext,
  { sealed, ...ref }: CredentialRef & { readonly sealed: string },
): boolean {
  if (!currentCredential(context.db, ref)) return false;
  replaceSeal(context.db, ref.connection, sealed);
  return true;
}

/** The credential that is meant, or undefined when it is there no more. */
function currentCredential(db: SqlDatabase, ref: CredentialRef): CredentialRow | undefined {
  const credential = loadCredential(db, ref.connection);
  return credential?.generation === ref.generation ? credential : undefined;
}

function becomeActive(context: UnitContext, row: ConnectionRow, requestId: string): LogHead | null {
  if (row.state !== 'active')
    return logged(context, row, { state: 'active', reason: null, verified: true }, requestId);
  // The provider has just taken it. Like a token's last use, that makes no new version of the record.
  saveConnection(context.db, { ...row, verifiedAtMs: context.now() });
  return null;
}

function becomeBroken(
  context: UnitContext,
  row: ConnectionRow,
  reason: ConnectionReason,
  requestId: string,
): LogHead | null {
  if (row.state !== 'active') return null;
  note(context, { connection: row.id, kind: 'broken', reason, by: PLATFORM.id });
  return logged(context, row, { state: 'broken', reason, verified: false }, requestId);
}

function logged(
  context: UnitContext,
  before: ConnectionRow,
  step: Omit<Parameters<typeof takeStep>[2], 'revision'>,
  requestId: string,
): LogHead {
  const revision = (logHead(context.db)?.sequence ?? 0) + 1;
  const after = takeStep(context, before, { ...step, revision });
  return appendAdminLog(
    context,
    { actor: PLATFORM, token: null, requestId, action: 'connections.upkeep' },
    { target: targetOf(after), before: auditFields(before), after: auditFields(after), outcome: 'done' },
  );
}

function notLive(row: ConnectionRow): PlatformError {
  const why = row.state === 'active' ? 'belongs to a tenant that is not active' : `is ${row.state}`;
  return new PlatformError('conflict', `This connection ${why}.`, { reason: 'connection_not_live' });
}
