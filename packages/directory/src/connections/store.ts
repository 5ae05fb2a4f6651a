/** The connections and their sealed credentials in SQL. */
import {
  cutPage,
  type Page,
  PlatformError,
  type ScopeId,
  type TenantId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type {
  ConnectionCredentialRecord,
  ConnectionReason,
  ConnectionRecord,
} from '../declarations/connections.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { type SealedCredential, sealKeyOf } from './credential.ts';
import type { Disconnecting } from './disconnect.ts';

export interface ConnectionRow {
  readonly id: string;
  readonly tenant: TenantId;
  readonly scope: ScopeId;
  readonly vertical: string;
  readonly provider: string;
  readonly account: string | null;
  readonly accountName: string | null;
  readonly accountKey: string;
  readonly subjectRef: string;
  readonly createdBy: string;
  /** A JSON list. */
  readonly scopes: string;
  readonly state: ConnectionRecord['state'];
  readonly reason: ConnectionReason | null;
  readonly verifiedAtMs: number;
  readonly revision: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

const COLUMNS = `id, tenant, scope, vertical, provider, account, account_name AS accountName,
  account_key AS accountKey, subject_ref AS subjectRef, created_by AS createdBy, scopes, state, reason,
  verified_at AS verifiedAtMs, revision, created_at AS createdAtMs, updated_at AS updatedAtMs`;

/** Which connection of which tenant. */
export interface ConnectionRef {
  readonly tenant: string;
  readonly connection: string;
}

/** @throws PlatformError `not_found`, also for a connection of another tenant. */
export function requireConnection(db: SqlDatabase, { tenant, connection }: ConnectionRef): ConnectionRow {
  const row = db.get<ConnectionRow>(
    `SELECT ${COLUMNS} FROM connections WHERE id = ? AND tenant = ?`,
    connection,
    tenant,
  );
  if (row) return row;
  throw new PlatformError('not_found', 'This tenant has no such connection.', {
    reason: 'unknown_connection',
  });
}

/** Identifies at most one live connection. */
type LiveKey = Pick<ConnectionRow, 'vertical' | 'provider' | 'accountKey'> & {
  readonly tenant: string;
};

export function loadLiveConnection(db: SqlDatabase, key: LiveKey): ConnectionRow | undefined {
  return db.get<ConnectionRow>(
    `SELECT ${COLUMNS} FROM connections
     WHERE tenant = ? AND vertical = ? AND provider = ? AND account_key = ? AND state <> 'disconnected'`,
    key.tenant,
    key.vertical,
    key.provider,
    key.accountKey,
  );
}

export function saveConnection(db: SqlDatabase, row: ConnectionRow): void {
  db.run(
    `INSERT INTO connections (id, tenant, scope, vertical, provider, account, account_name, account_key, subject_ref,
       created_by, scopes, state, reason, verified_at, revision, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET account = excluded.account, account_name = excluded.account_name,
       account_key = excluded.account_key, subject_ref = excluded.subject_ref, created_by = excluded.created_by,
       scopes = excluded.scopes, state = excluded.state, reason = excluded.reason,
       verified_at = excluded.verified_at, revision = excluded.revision, updated_at = excluded.updated_at`,
    ...[row.id, row.tenant, row.scope, row.vertical, row.provider, row.account, row.accountName],
    ...[row.accountKey, row.subjectRef, row.createdBy, row.scopes, row.state, row.reason, row.verifiedAtMs],
    ...[row.revision, row.createdAtMs, row.updatedAtMs],
  );
}

export interface CredentialRow extends Omit<SealedCredential, 'refreshable'> {
  /** 0 or 1. */
  readonly refreshable: number;
  readonly loadedAtMs: number;
  readonly generation: number;
  /** The end of a refresh's lease; 0 without one. */
  readonly refreshingUntilMs: number;
}

export function loadCredential(db: SqlDatabase, connection: string): CredentialRow | undefined {
  return db.get<CredentialRow>(
    `SELECT kind, sealed, fingerprint, refreshable, expires_at AS expiresAtMs, loaded_at AS loadedAtMs, generation,
       refreshing_until AS refreshingUntilMs
     FROM connection_credentials WHERE connection = ?`,
    connection,
  );
}

/** Loads a credential in place of the one before, if there was one. */
export function saveCredential(
  db: SqlDatabase,
  connection: string,
  credential: SealedCredential,
  nowMs: number,
): void {
  const { kind, sealed, fingerprint, refreshable, expiresAtMs } = credential;
  db.run(
    `INSERT INTO connection_credentials (connection, kind, sealed, fingerprint, refreshable, expires_at, loaded_at,
       generation, refreshing_until)
     VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0)
     ON CONFLICT (connection) DO UPDATE SET kind = excluded.kind, sealed = excluded.sealed,
       fingerprint = excluded.fingerprint, refreshable = excluded.refreshable, expires_at = excluded.expires_at,
       loaded_at = excluded.loaded_at, generation = generation + 1, refreshing_until = 0`,
    ...[connection, kind, sealed, fingerprint, refreshable ? 1 : 0, expiresAtMs, nowMs],
  );
}

export function setRefreshing(db: SqlDatabase, connection: string, untilMs: number): void {
  db.run('UPDATE connection_credentials SET refreshing_until = ? WHERE connection = ?', untilMs, connection);
}

/** Stores the same credential under another key. */
export function replaceSeal(db: SqlDatabase, connection: string, sealed: string): void {
  db.run('UPDATE connection_credentials SET sealed = ? WHERE connection = ?', sealed, connection);
}

export function destroyCredential(db: SqlDatabase, connection: string): void {
  db.run('DELETE FROM connection_credentials WHERE connection = ?', connection);
}

interface ConnectionFilter extends PageRequest {
  readonly tenant: string;
  readonly scope?: string | undefined;
  readonly state?: string | undefined;
}

export function connectionsPage(filter: ConnectionFilter): Statement {
  const { tenant, scope, state } = filter;
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM connections`,
      where: { tenant, scope, state },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listConnections(db: SqlDatabase, filter: ConnectionFilter): Page<ConnectionRecord> {
  const { sql, params } = connectionsPage(filter);
  return cutPage(db.all<ConnectionRow>(sql, ...params), filter.limit, (row) => row.id, connectionOfRow);
}

export function connectionOfRow(row: ConnectionRow): ConnectionRecord {
  return {
    id: row.id,
    tenant: row.tenant,
    scope: row.scope,
    vertical: row.vertical,
    provider: row.provider,
    account: row.account,
    accountName: row.accountName,
    subjectRef: row.subjectRef,
    createdBy: row.createdBy,
    scopes: JSON.parse(row.scopes),
    state: row.state,
    reason: row.reason,
    verifiedAt: toTimestamp(row.verifiedAtMs),
    createdAt: toTimestamp(row.createdAtMs),
    updatedAt: toTimestamp(row.updatedAtMs),
    etag: String(row.revision),
  };
}

export function credentialOfRow(row: ConnectionRow, credential: CredentialRow): ConnectionCredentialRecord {
  return {
    connection: row.id,
    kind: credential.kind,
    fingerprint: credential.fingerprint,
    sealKey: sealKeyOf(credential.sealed),
    scopes: JSON.parse(row.scopes),
    loadedAt: toTimestamp(credential.loadedAtMs),
    expiresAt: credential.expiresAtMs === null ? null : toTimestamp(credential.expiresAtMs),
    refreshable: credential.refreshable === 1,
  };
}

/** A row of the sweep. */
export interface MaintenanceRow
  extends Pick<
    ConnectionRow,
    'id' | 'tenant' | 'scope' | 'vertical' | 'provider' | 'state' | 'verifiedAtMs'
  > {
  readonly kind: SealedCredential['kind'];
  readonly sealed: string;
  readonly refreshable: number;
  readonly expiresAtMs: number | null;
  readonly generation: number;
}

export const MAINTENANCE_PAGE = `SELECT c.id, c.tenant, c.scope, c.vertical, c.provider, c.state,
     c.verified_at AS verifiedAtMs, k.kind, k.sealed, k.refreshable, k.expires_at AS expiresAtMs, k.generation
   FROM connection_credentials k CROSS JOIN connections c ON c.id = k.connection
   WHERE k.connection > ? ORDER BY k.connection LIMIT ?`;

export function listForMaintenance(
  db: SqlDatabase,
  { after, limit }: { readonly after: string; readonly limit: number },
): MaintenanceRow[] {
  return db.all<MaintenanceRow>(MAINTENANCE_PAGE, after, limit);
}

export const CONNECTIONS_OF_SCOPE = `SELECT c.tenant, c.id AS connection, c.provider, k.sealed, c.revision
   FROM connections c LEFT JOIN connection_credentials k ON k.connection = c.id WHERE c.scope = ? ORDER BY c.id`;

/** The connections that were made in a scope, ready to be disconnected. */
export function connectionsOfScope(db: SqlDatabase, scope: string): Disconnecting[] {
  return db.all<Disconnecting & Record<string, string | number | null>>(CONNECTIONS_OF_SCOPE, scope);
}

/** Another scope in which a connection acts, the oldest grant first; null without one. */
export function actsElsewhere(
  db: SqlDatabase,
  { connection, scope }: { readonly connection: string; readonly scope: string },
): string | null {
  const row = db.get<{ scope: string }>(
    `SELECT g.scope FROM connection_grants g JOIN scopes s ON s.id = g.scope
     WHERE g.connection = ? AND g.scope <> ? AND s.status <> 'reaped' ORDER BY g.granted_at, g.id LIMIT 1`,
    connection,
    scope,
  );
  return row?.scope ?? null;
}

/** Makes a connection one of another scope of the same application. */
export function moveConnection(
  db: SqlDatabase,
  {
    connection,
    to,
    revision,
    nowMs,
  }: {
    readonly connection: string;
    readonly to: string;
    readonly revision: number;
    readonly nowMs: number;
  },
): void {
  // Without an account, the scope and the caller's name identify it; that name may be taken in the new scope.
  db.run(
    `UPDATE connections SET scope = ?1, revision = ?2, updated_at = ?3,
       account_key = CASE WHEN account IS NULL THEN 'subject:' || ?1 || ':' || subject_ref || ' ' || id ELSE account_key END
     WHERE id = ?4`,
    ...[to, revision, nowMs, connection],
  );
}
