/** Where a connection may act, in SQL. */
import { cutPage, type Page, type ScopeId, toTimestamp } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import type { ConnectionGrantRecord } from '../declarations/connection-records.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';

export interface GrantRow {
  readonly id: string;
  readonly connection: string;
  readonly scope: ScopeId;
  readonly permission: string;
  /** Both empty: the grant is not narrowed to one record. */
  readonly entityType: string;
  readonly entityId: string;
  readonly grantedBy: string;
  readonly grantedAtMs: number;
}

const COLUMNS = `id, connection, scope, permission, entity_type AS entityType, entity_id AS entityId,
  granted_by AS grantedBy, granted_at AS grantedAtMs`;

/** Saves a grant and answers it; one that is there already stays as it is. */
export function saveGrant(db: SqlDatabase, row: GrantRow): GrantRow {
  db.run(
    `INSERT INTO connection_grants (id, connection, scope, permission, entity_type, entity_id, granted_by, granted_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (connection, scope, permission, entity_type, entity_id) DO NOTHING`,
    ...[row.id, row.connection, row.scope, row.permission, row.entityType, row.entityId],
    ...[row.grantedBy, row.grantedAtMs],
  );
  const saved = db.get<GrantRow>(
    `SELECT ${COLUMNS} FROM connection_grants
     WHERE connection = ? AND scope = ? AND permission = ? AND entity_type = ? AND entity_id = ?`,
    ...[row.connection, row.scope, row.permission, row.entityType, row.entityId],
  );
  if (!saved) throw new TypeError('a grant was saved and is not there');
  return saved;
}

/** Whether a connection may act in a scope at all; the scope's own permissions decide the rest. */
export function hasGrantIn(db: SqlDatabase, connection: string, scope: string): boolean {
  const found = db.get(
    'SELECT 1 FROM connection_grants WHERE connection = ? AND scope = ? LIMIT 1',
    connection,
    scope,
  );
  return found !== undefined;
}

/** In which scopes a connection may act, and by how many grants. */
export function grantsOf(db: SqlDatabase, connection: string): { scope: ScopeId; n: number }[] {
  return db.all<{ scope: ScopeId; n: number }>(
    'SELECT scope, count(*) AS n FROM connection_grants WHERE connection = ? GROUP BY scope ORDER BY scope',
    connection,
  );
}

export function deleteGrantsIn(db: SqlDatabase, connection: string, scope: string): void {
  db.run('DELETE FROM connection_grants WHERE connection = ? AND scope = ?', connection, scope);
}

export function deleteGrants(db: SqlDatabase, connection: string): void {
  db.run('DELETE FROM connection_grants WHERE connection = ?', connection);
}

export interface GrantFilter extends PageRequest {
  readonly connection: string;
}

export function grantsPage(filter: GrantFilter): Statement {
  return pageStatement(
    {
      select: `SELECT ${COLUMNS} FROM connection_grants`,
      where: { connection: filter.connection },
      key: 'id',
      order: 'ASC',
    },
    filter,
  );
}

export function listGrants(db: SqlDatabase, filter: GrantFilter): Page<ConnectionGrantRecord> {
  const { sql, params } = grantsPage(filter);
  return cutPage(db.all<GrantRow>(sql, ...params), filter.limit, (row) => row.id, grantOfRow);
}

export function grantOfRow(row: GrantRow): ConnectionGrantRecord {
  return {
    id: row.id,
    connection: row.connection,
    scope: row.scope,
    subject: `connection:${row.connection}`,
    permission: row.permission,
    entity: row.entityType === '' ? null : { type: row.entityType, id: row.entityId },
    grantedBy: row.grantedBy,
    grantedAt: toTimestamp(row.grantedAtMs),
  };
}
