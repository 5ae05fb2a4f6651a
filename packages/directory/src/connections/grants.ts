/** Grants of connections: in which scopes a connection may act, and with which permissions. */
import {
  connectorGrantResponse,
  entityRef,
  PlatformError,
  pageOf,
  pageQuery,
  permissionKey,
  scopeId,
} from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import { connectionGrantRecord, ofConnection, outsideProblems, tag } from '../declarations/connections.ts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { Effect } from '../lib/effects.ts';
import { type CallOf, change, delegated, read } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { askScope } from '../verticals/client.ts';
import type { VerticalGateway } from '../verticals/gateway.ts';
import { requireKnownVertical } from '../verticals/reach.ts';
import { note, targetOf } from './connection-record.ts';
import {
  type ConnectionRow,
  deleteGrantsIn,
  grantOfRow,
  hasGrantIn,
  listGrants,
  requireConnection,
  saveConnection,
  saveGrant,
} from './store.ts';
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
export interface Admission {
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
    deleteGrantsIn(db, row.id, query.scope);
    saveConnection(db, { ...row, revision, updatedAtMs: context.now() });
    note(context, { connection: row.id, kind: 'shut_out', by: actor.id });
    const target = { ...targetOf(row), scope: query.scope };
    return { audit: { target, before: null, after: { acts: false } } };
  },
);
