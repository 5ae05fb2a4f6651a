/** The connections and their sealed credentials in SQL. */
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import {
  boolean,
  defineTable,
  hidden,
  integer,
  json,
  nullable,
  type RowOf,
  revision,
  type SqlDatabase,
  text,
  time,
} from '@freehold/store';
import type {
  ConnectionCredentialRecord,
  ConnectionGrantRecord,
  ConnectionReason,
  ConnectionRecord,
} from '../declarations/connections.ts';
import { definePages, type PageRequest } from '../lib/pages.ts';
import { type SealedCredential, sealKeyOf } from './credential.ts';
import type { Disconnecting } from './disconnect.ts';

const connections = defineTable('connections', ['id'], {
  id: text(),
  tenant: text<TenantId>(),
  scope: text<ScopeId>(),
  vertical: text(),
  provider: text(),
  account: nullable(text()),
  accountName: nullable(text()),
  accountKey: hidden(text()),
  subjectRef: text(),
  createdBy: text(),
  scopes: json<string[]>(),
  state: text<ConnectionRecord['state']>(),
  reason: nullable(text<ConnectionReason>()),
  verifiedAtMs: time(),
  createdAtMs: time(),
  updatedAtMs: time(),
  revision: revision(),
});
export type ConnectionRow = RowOf<typeof connections>;

const ofTenant = connections.finding('id', 'tenant');
export const saveConnection = connections.saving(
  ...(['account', 'accountName', 'accountKey', 'subjectRef', 'createdBy', 'scopes', 'state'] as const),
  ...(['reason', 'verifiedAtMs', 'revision', 'updatedAtMs'] as const),
);
export const connectionOfRow = connections.recording<ConnectionRecord>();

/** Which connection of which tenant. */
export interface ConnectionRef {
  readonly tenant: string;
  readonly connection: string;
}

/** @throws PlatformError `not_found`, also for a connection of another tenant. */
export function requireConnection(db: SqlDatabase, { tenant, connection }: ConnectionRef): ConnectionRow {
  const row = ofTenant(db, { id: connection, tenant });
  if (row) return row;
  throw new PlatformError('not_found', 'This tenant has no such connection.', {
    reason: 'unknown_connection',
  });
}

/** Identifies at most one live connection. */
type LiveKey = Pick<ConnectionRow, 'vertical' | 'provider' | 'accountKey'> & {
  readonly tenant: string;
};

const LIVE = `${connections.select}
  WHERE tenant = ? AND vertical = ? AND provider = ? AND account_key = ? AND state <> 'disconnected'`;

export function loadLiveConnection(db: SqlDatabase, key: LiveKey): ConnectionRow | undefined {
  return connections.first(db, LIVE, key.tenant, key.vertical, key.provider, key.accountKey);
}

const credentials = defineTable('connection_credentials', ['connection'], {
  connection: text(),
  kind: text<SealedCredential['kind']>(),
  sealed: hidden(text()),
  fingerprint: text(),
  refreshable: boolean(),
  loadedAtMs: time(),
  expiresAtMs: nullable(time()),
  generation: hidden(integer()),
  /** The end of a refresh's lease; 0 without one. */
  refreshingUntilMs: hidden(time()),
});
export type CredentialRow = RowOf<typeof credentials>;

export const loadCredential = credentials.get;
export const destroyCredential = credentials.delete;
const shownCredential = credentials.recording<Omit<ConnectionCredentialRecord, 'sealKey' | 'scopes'>>();
const replaceCredential = credentials.inserting(
  `ON CONFLICT (connection) DO UPDATE SET kind = excluded.kind, sealed = excluded.sealed,
     fingerprint = excluded.fingerprint, refreshable = excluded.refreshable, expires_at = excluded.expires_at,
     loaded_at = excluded.loaded_at, generation = generation + 1, refreshing_until = 0`,
);
const updateRefreshing = credentials.updating('refreshingUntilMs');
const updateSeal = credentials.updating('sealed');

/** Loads a credential in place of the one before, if there was one. */
export function saveCredential(
  db: SqlDatabase,
  connection: string,
  credential: SealedCredential,
  nowMs: number,
): void {
  const first = { generation: 1, refreshingUntilMs: 0 };
  replaceCredential(db, { ...credential, ...first, connection, loadedAtMs: nowMs });
}

export function setRefreshing(db: SqlDatabase, connection: string, untilMs: number): void {
  updateRefreshing(db, { connection, refreshingUntilMs: untilMs });
}

/** Stores the same credential under another key. */
export function replaceSeal(db: SqlDatabase, connection: string, sealed: string): void {
  updateSeal(db, { connection, sealed });
}

interface ConnectionFilter extends PageRequest {
  readonly tenant: string;
  readonly scope?: string | undefined;
  readonly state?: string | undefined;
}

export const { statement: connectionsPage, list: listConnections } = definePages({
  from: connections,
  where: ({ tenant, scope, state }: ConnectionFilter) => ({ tenant, scope, state }),
  key: 'id',
  item: connectionOfRow,
});

export function credentialOfRow(row: ConnectionRow, credential: CredentialRow): ConnectionCredentialRecord {
  return { ...shownCredential(credential), sealKey: sealKeyOf(credential.sealed), scopes: [...row.scopes] };
}

/**
 * Whether a token expires within `aheadMs`. One that can be refreshed and was loaded in the future also does: the clock was
 * ahead then, so that its expiry is too late.
 */
export function needsRefresh(
  {
    expiresAtMs,
    loadedAtMs,
    refreshable,
  }: Pick<CredentialRow, 'expiresAtMs' | 'loadedAtMs'> & { readonly refreshable: boolean | 0 | 1 },
  nowMs: number,
  aheadMs: number,
): boolean {
  if (expiresAtMs === null) return false;
  return expiresAtMs - nowMs <= aheadMs || (Boolean(refreshable) && loadedAtMs > nowMs);
}

/** A row of the sweep. */
export type MaintenanceRow = Pick<
  ConnectionRow,
  'id' | 'tenant' | 'scope' | 'vertical' | 'provider' | 'state' | 'verifiedAtMs'
> &
  Pick<CredentialRow, 'kind' | 'sealed' | 'expiresAtMs' | 'loadedAtMs' | 'generation'> & {
    readonly refreshable: 0 | 1;
  };

export const MAINTENANCE_PAGE = `SELECT c.id, c.tenant, c.scope, c.vertical, c.provider, c.state,
     c.verified_at AS verifiedAtMs, k.kind, k.sealed, k.refreshable, k.expires_at AS expiresAtMs,
     k.loaded_at AS loadedAtMs, k.generation
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

/** Where connections may act. */
const grants = defineTable('connection_grants', ['id'], {
  id: text(),
  connection: text(),
  scope: text<ScopeId>(),
  permission: text(),
  /** Both empty: the grant is not narrowed to one record. */
  entityType: hidden(text()),
  entityId: hidden(text()),
  grantedBy: text(),
  grantedAtMs: time(),
});
export type GrantRow = RowOf<typeof grants>;

export const deleteGrants = grants.deleting('connection');
const insertGrant = grants.inserting(
  'ON CONFLICT (connection, scope, permission, entity_type, entity_id) DO NOTHING',
);
const findSameGrant = grants.finding('connection', 'scope', 'permission', 'entityType', 'entityId');
const deleteGrantsInScope = grants.deleting('connection', 'scope');
const shownGrant = grants.recording<Omit<ConnectionGrantRecord, 'subject' | 'entity'>>();

/** Saves a grant and answers it; one that is there already stays as it is. */
export function saveGrant(db: SqlDatabase, row: GrantRow): GrantRow {
  insertGrant(db, row);
  const saved = findSameGrant(db, row);
  if (!saved) throw new TypeError('a grant was saved and is not there');
  return saved;
}

/** Whether a connection may act in a scope at all; the scope's own permissions decide with what. */
export function hasGrantIn(db: SqlDatabase, connection: string, scope: string): boolean {
  const found = db.get(
    'SELECT 1 FROM connection_grants WHERE connection = ? AND scope = ? LIMIT 1',
    connection,
    scope,
  );
  return found !== undefined;
}

/** The scopes in which a connection may act, with the number of its grants. */
export function grantsOf(db: SqlDatabase, connection: string): { scope: ScopeId; n: number }[] {
  return db.all<{ scope: ScopeId; n: number }>(
    'SELECT scope, count(*) AS n FROM connection_grants WHERE connection = ? GROUP BY scope ORDER BY scope',
    connection,
  );
}

export function deleteGrantsIn(db: SqlDatabase, connection: string, scope: string): void {
  deleteGrantsInScope(db, { connection, scope });
}

type GrantFilter = PageRequest & { readonly connection: string };

export const { statement: grantsPage, list: listGrants } = definePages({
  from: grants,
  where: ({ connection }: GrantFilter) => ({ connection }),
  key: 'id',
  item: grantOfRow,
});

export function grantOfRow(row: GrantRow): ConnectionGrantRecord {
  return {
    ...shownGrant(row),
    subject: `connection:${row.connection}`,
    entity: row.entityType === '' ? null : { type: row.entityType, id: row.entityId },
  };
}
