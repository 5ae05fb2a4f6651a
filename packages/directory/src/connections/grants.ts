/** Grants of connections: in which scopes a connection may act, and with which permissions. */
import {
  connectorGrantResponse,
  cutPage,
  entityRef,
  type Page,
  PlatformError,
  pageOf,
  pageQuery,
  permissionKey,
  type ScopeId,
  scopeId,
  toTimestamp,
} from '@freehold/contracts';
import type { SqlDatabase, UnitContext } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  type ConnectionGrantRecord,
  connectionGrantRecord,
  ofConnection,
  outsideProblems,
  tag,
} from '../declarations/connections.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import { requireMatch } from '../lib/conditions.ts';
import type { Effect } from '../lib/effects.ts';
import { type CallOf, change, delegated, read } from '../lib/handlers.ts';
import { type PageRequest, pageStatement, type Statement } from '../lib/pages.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { askScope } from '../verticals/client.ts';
import type { VerticalGateway } from '../verticals/gateway.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import { note, targetOf } from './connection-record.ts';
import { type ConnectionRow, requireConnection, saveConnection } from './store.ts';
import type { ConnectionDeps } from './token-keeper.ts';

export const connectionGrantsList = adminOperation({
  name: 'connection-grants.list',
  summary: 'List where a connection may act, and with which permissions',
  description:
    'The version of the list is that of the connection: the ETag is for If-Match, and no answer is ever 304, because a scope that is gone leaves the list without a new one.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: { params: ofConnection, query: z.strictObject(pageQuery) },
  output: pageOf(connectionGrantRecord),
  builder: 'own-tenant',
  etag: true,
  volatile: true,
});

export const readGrants = /* @__PURE__ */ read(connectionGrantsList, ({ db }, { params, query }) => {
  const { id, revision } = requireConnection(db, params);
  return { value: listGrants(db, { ...query, connection: id }), etag: String(revision) };
});

/** The grant to make, with the connection as it was before the call. */
interface Admission {
  readonly connection: ConnectionRow;
  readonly scope: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>;
}

/** @throws PlatformError `not_found`; `invalid_transition`; `conflict`, reason `other_vertical`. */
export function requireAdmission(
  { db }: Pick<UnitContext, 'db'>,
  { params, body }: Pick<CallOf<typeof connectionGrantsPut>, 'params' | 'body'>,
): Admission {
  const connection = requireConnection(db, params);
  if (connection.state !== 'active')
    throw new PlatformError('invalid_transition', `This connection is ${connection.state}.`, {
      reason: 'connection_not_active',
    });
  const { tenant, id, vertical } = requireActiveScope(db, { tenant: params.tenant, scope: body.scope });
  // The consent was given to one application; another application of the same tenant has no part in it.
  if (vertical !== connection.vertical)
    throw new PlatformError('conflict', 'This connection was made for another application.', {
      reason: 'other_vertical',
    });
  return { connection, scope: { tenant, id, vertical } };
}

export const connectionGrantsPut = adminOperation({
  name: 'connection-grants.put',
  summary: 'Let a connection act in a scope with one permission',
  description:
    'The scope is one of the same tenant and vertical. Repeating it delivers the grant again. The version that it makes is one of the connection.',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: {
    params: ofConnection,
    body: z.strictObject({ scope: scopeId, permission: permissionKey, entity: entityRef.optional() }),
  },
  output: connectionGrantRecord,
  builder: 'own-tenant',
  etag: true,
  problems: outsideProblems,
});

export const putGrant = /* @__PURE__ */ delegated<typeof connectionGrantsPut, Admission, { granted: true }>(
  connectionGrantsPut,
  {
    begin: (context, call) => {
      const { db, resumes, revision } = context;
      const admission = requireAdmission(context, call);
      const { connection } = admission;
      requireMatch(call.ifMatch, String(connection.revision), resumes);
      // Grants belong to the connection's version: a second call with the same tag is refused while this one is running.
      saveConnection(db, { ...connection, revision });
      const target = { ...targetOf(connection), scope: call.body.scope };
      return { intent: { target, before: null, after: grantFields(call) }, prepared: admission };
    },
    settle: (context, call) => {
      const { db, revision } = context;
      const { params, body, actor } = call;
      const connection = requireConnection(db, params);
      saveConnection(db, { ...connection, revision, updatedAtMs: context.now() });
      const grant = saveGrant(db, {
        id: context.newId('cgr'),
        connection: connection.id,
        scope: body.scope,
        permission: body.permission,
        entityType: body.entity?.type ?? '',
        entityId: body.entity?.id ?? '',
        grantedBy: actor.id,
        grantedAtMs: context.now(),
      });
      note(context, { connection: connection.id, kind: 'granted', by: actor.id });
      const target = { ...targetOf(connection), scope: body.scope };
      const audit = { target, before: null, after: grantFields(call) };
      return { value: grantOfRow(grant), etag: String(revision), audit };
    },
    undo: (context, { params }, { connection: { revision } }) => {
      const row = requireConnection(context.db, params);
      if (row.revision === context.intent) saveConnection(context.db, { ...row, revision });
    },
    supersedes: (call, earlier) => JSON.stringify(grantFields(call)) === JSON.stringify(earlier),
  },
);

function grantFields({ params, body }: Pick<CallOf<typeof connectionGrantsPut>, 'params' | 'body'>) {
  return {
    connection: params.connection,
    entity: body.entity ? { id: body.entity.id, type: body.entity.type } : null,
    permission: body.permission,
  };
}

/** Delivers the grant to the vertical. */
export function makeGrantEffect({
  directory,
  gateway,
}: Pick<ConnectionDeps, 'directory'> & { readonly gateway: VerticalGateway }): Effect<Admission> {
  return {
    check: async (_deps, call) =>
      requireKnownVertical(gateway, (await directory.connectionAdmission({ call })).connection.vertical),
    run: async (deps, call, { scope }) => {
      const { params, body } = call as unknown as CallOf<typeof connectionGrantsPut>;
      const { permission, entity } = body;
      const grant = {
        connection: params.connection,
        permission,
        ...(entity === undefined ? {} : { entity }),
      };
      await askScope(deps, scope, {
        path: 'connector-grant',
        body: grant,
        answer: connectorGrantResponse,
        local: (host, ref) => host.connectorGrantLocal({ ...ref, ...grant }),
      });
      return { facts: { granted: true } };
    },
  };
}

export const connectionGrantsDelete = adminOperation({
  name: 'connection-grants.delete',
  summary: 'Shut a connection out of a scope',
  description:
    'It takes effect on the very next call. An application keeps the grants that it was given, so they count again when the connection is let back into the scope. Shutting it out again changes nothing.',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/connections/:connection/connection-grants',
  input: {
    params: ofConnection,
    query: z.strictObject({ scope: scopeId.describe('The scope that it is shut out of') }),
  },
  output: z.null(),
  success: 204,
  builder: 'own-tenant',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

/** Removes the grants of one scope: the platform stops calling, although the application still has its own grants. */
export const removeGrants = /* @__PURE__ */ change(
  connectionGrantsDelete,
  (context, { params, query, actor, ifMatch }) => {
    const { db, revision } = context;
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision));
    if (!hasGrantIn(db, row.id, query.scope)) return { audit: null };
    db.run('DELETE FROM connection_grants WHERE connection = ? AND scope = ?', row.id, query.scope);
    saveConnection(db, { ...row, revision, updatedAtMs: context.now() });
    note(context, { connection: row.id, kind: 'shut_out', by: actor.id });
    const target = { ...targetOf(row), scope: query.scope };
    return { audit: { target, before: null, after: { acts: false } } };
  },
);

interface GrantRow {
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
function saveGrant(db: SqlDatabase, row: GrantRow): GrantRow {
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

export function deleteGrants(db: SqlDatabase, connection: string): void {
  db.run('DELETE FROM connection_grants WHERE connection = ?', connection);
}

type GrantFilter = PageRequest & { readonly connection: string };

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

function listGrants(db: SqlDatabase, filter: GrantFilter): Page<ConnectionGrantRecord> {
  const { sql, params } = grantsPage(filter);
  return cutPage(db.all<GrantRow>(sql, ...params), filter.limit, (row) => row.id, grantOfRow);
}

function grantOfRow(row: GrantRow): ConnectionGrantRecord {
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
