/** The two operations on connections whose effect lies elsewhere: at the provider, and in a vertical. */

import { entityRef, PlatformError, permissionKey, scopeId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import type { ConnectionReason } from '../declarations/connection-records.ts';
import { connectionGrantRecord, connectionRecord } from '../declarations/connection-records.ts';
import { ofConnection, tag } from '../declarations/connections.ts';
import { dryRunQuery, planCount } from '../declarations/dry-run.ts';
import { type CallOf, type Change, delegated, planned } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { auditFields, note, takeStep, targetOf } from './connection-record.ts';
import { deleteGrants, type GrantRow, grantOfRow, grantsOf, saveGrant } from './grants-store.ts';
import {
  type ConnectionRow,
  connectionOfRow,
  destroyCredential,
  loadCredential,
  requireConnection,
  saveConnection,
} from './store.ts';

export const disconnectPlan = z
  .object({
    dryRun: z.literal(true),
    connection: connectionRecord,
    credential: z.boolean().describe('Whether there is one, which is destroyed'),
    revocable: z.boolean().describe('Whether the provider is asked to revoke it'),
    grants: planCount.describe('What it may do, which it then may not'),
    scopes: z.array(scopeId).describe('Where it acts by these grants'),
  })
  .meta({ id: 'DisconnectPlan' });

/** What the effect of disconnecting works with. */
export interface Disconnecting {
  readonly tenant: string;
  readonly connection: string;
  readonly provider: string;
  readonly sealed: string | null;
  /** The version before the call. */
  readonly revision: number;
}

/** What became of the credential at the provider. */
export type Revocation = Extract<ConnectionReason, `revo${string}`>;

export const connectionsDisconnect = adminOperation({
  name: 'connections.disconnect',
  summary: 'Disconnect: revoke the credential at the provider and destroy it here',
  description:
    'The credential is destroyed here whatever the provider says; the answer’s reason says what became of it there. The record stays, and disconnecting again changes nothing. With dryRun, answers what it may do and where.',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/connections/:connection',
  input: { params: ofConnection, query: dryRunQuery },
  output: connectionRecord,
  plan: disconnectPlan,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const disconnect = /* @__PURE__ */ delegated<
  typeof connectionsDisconnect,
  Disconnecting,
  { revocation: Revocation }
>(connectionsDisconnect, {
  begin: (context, { params, ifMatch }) => {
    const { db, resumes, revision } = context;
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision), resumes);
    if (row.state === 'disconnected') return { change: answer(row, null) };
    // A second call with the same tag is refused while this one is running.
    saveConnection(db, { ...row, revision });
    const { tenant, id: connection, provider } = row;
    const sealed = loadCredential(db, connection)?.sealed ?? null;
    return {
      intent: { target: targetOf(row), before: auditFields(row), after: { connection } },
      prepared: { tenant, connection, provider, sealed, revision: row.revision },
    };
  },
  settle: (context, { params, actor }, { revocation }) => {
    const { db } = context;
    const before = requireConnection(db, params);
    const after = takeStep(context, before, {
      state: 'disconnected',
      reason: revocation,
      revision: context.revision,
      verified: false,
    });
    destroyCredential(db, after.id);
    deleteGrants(db, after.id);
    note(context, { connection: after.id, kind: 'disconnected', reason: revocation, by: actor.id });
    return answer(after, before);
  },
  undo: (context, { params }, { revision }) => {
    const row = requireConnection(context.db, params);
    if (row.revision === context.intent) saveConnection(context.db, { ...row, revision });
  },
  supersedes: ({ params }, earlier) => earlier?.connection === params.connection,
});

/** Whether the provider is asked to revoke it, the providers' registry says: see `host-admin-effects.ts`. */
export const planDisconnect = /* @__PURE__ */ planned<typeof connectionsDisconnect>(
  connectionsDisconnect,
  ({ db }, { params, ifMatch }) => {
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision));
    const isOver = row.state === 'disconnected';
    const grants = isOver ? [] : grantsOf(db, row.id);
    return {
      dryRun: true,
      connection: connectionOfRow(row),
      credential: !isOver && loadCredential(db, row.id) !== undefined,
      revocable: false,
      grants: grants.reduce((sum, { n }) => sum + n, 0),
      scopes: grants.map(({ scope }) => scope),
    };
  },
);

/** Where a connection is to be let in. */
export interface Admission {
  /** As it was before the call. */
  readonly connection: ConnectionRow;
  readonly scope: { readonly tenantId: string; readonly scopeId: string };
}

/**
 * The connection and the scope of a grant.
 * @throws PlatformError `not_found`; `invalid_transition`; `conflict`, reason `other_vertical`.
 */
export function requireAdmission(
  { db }: Pick<UnitContext, 'db'>,
  { params, body }: Pick<CallOf<typeof connectionGrantsPut>, 'params' | 'body'>,
): Admission {
  const connection = requireConnection(db, params);
  if (connection.state !== 'active')
    throw new PlatformError('invalid_transition', `This connection is ${connection.state}.`, {
      reason: 'connection_not_active',
    });
  const scope = requireActiveScope(db, { tenant: params.tenant, scope: body.scope });
  // The consent was given to one application, and another of the same tenant is still another.
  if (scope.vertical !== connection.vertical)
    throw new PlatformError('conflict', 'This connection was made for another application.', {
      reason: 'other_vertical',
    });
  return { connection, scope: { tenantId: scope.tenant, scopeId: scope.id } };
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
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: [
    'not_found',
    'conflict',
    'invalid_transition',
    'precondition_failed',
    'unsupported',
    'runtime_fault',
    'unavailable',
  ],
});

export const putGrant = /* @__PURE__ */ delegated<typeof connectionGrantsPut, Admission, { granted: true }>(
  connectionGrantsPut,
  {
    begin: (context, call) => {
      const { db, resumes, revision } = context;
      const admission = requireAdmission(context, call);
      const { connection } = admission;
      requireMatch(call.ifMatch, String(connection.revision), resumes);
      // Where it may act is part of it: a second call with the same tag is refused while this one is running.
      saveConnection(db, { ...connection, revision });
      const target = { ...targetOf(connection), scope: call.body.scope };
      return {
        intent: { target, before: null, after: grantFields(call) },
        prepared: admission,
      };
    },
    settle: (context, call) => {
      const { db, revision } = context;
      const { params, body, actor } = call;
      const connection = requireConnection(db, params);
      saveConnection(db, { ...connection, revision, updatedAtMs: context.now() });
      const grant: GrantRow = saveGrant(db, {
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
      return {
        status: 200,
        value: grantOfRow(grant),
        etag: String(revision),
        audit: { target, before: null, after: grantFields(call) },
      };
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

function answer(
  after: ConnectionRow,
  before: ConnectionRow | null,
): Change<ReturnType<typeof connectionOfRow>> {
  const value = connectionOfRow(after);
  const audit = before && {
    target: targetOf(after),
    before: auditFields(before),
    after: auditFields(after),
  };
  return { status: 200, value, etag: value.etag, audit };
}
