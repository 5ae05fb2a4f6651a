/** What can be done with connections, as far as the directory is concerned. What is asked of providers: `host-admin-*.ts`. */

import { PlatformError, pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { providerKey, subjectRef } from '@freehold/contracts/http';
import { z } from 'zod';
import type { AdminCall } from '../actors.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  connectionActivityEntry,
  connectionCredentialRecord,
  connectionGrantRecord,
  connectionRecord,
  connectionState,
} from '../declarations/connection-records.ts';
import { ofConnection, tag } from '../declarations/connections.ts';
import { type ChangeHandler, change, read } from '../lib/handlers.ts';
import { requireMatch } from '../lib/preconditions.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { requireActiveTenant, requireTenant } from '../tenants/store.ts';
import { listActivity } from './activity-store.ts';
import {
  accountConnected,
  auditFields,
  fillSlot,
  note,
  requireConnected,
  takeStep,
  targetOf,
  type VerifiedCredential,
} from './connection-record.ts';
import { deleteGrantsIn, hasGrantIn, listGrants } from './grants-store.ts';
import {
  connectionOfRow,
  credentialOfRow,
  listConnections,
  loadCredential,
  requireConnection,
  saveConnection,
  saveCredential,
} from './store.ts';

const ofTenant = z.strictObject({ tenant: tenantId });

/** It travels in a header to the provider, so it is visible ASCII without spaces. */
const apiKey = z
  .string()
  .min(8)
  .max(4096)
  .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters without spaces')
  .describe('Verified with the provider before it is stored; sealed, and never shown again');

export const connectionsCreate = adminOperation({
  name: 'connections.create',
  summary: 'Connect an account with an API key',
  description:
    'For providers of API keys; the others are connected by a consent round. The provider is asked whether it takes the key; one that it refuses is not stored (reason credential_refused). One account is connected once per vertical (reason account_connected).',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/connections',
  input: {
    params: ofTenant,
    body: z.strictObject({ provider: providerKey, scope: scopeId, subjectRef, apiKey }),
  },
  output: connectionRecord,
  success: 201,
  builder: 'own-tenant',
  audit: 'audit',
  etag: true,
  problems: ['not_found', 'conflict', 'invalid_transition', 'runtime_fault', 'unavailable'],
});

export const connectionsVerify = adminOperation({
  name: 'connections.verify',
  summary: 'Ask the provider whether it still takes the credential',
  description:
    'A credential that the provider refuses makes the connection broken, and one that it takes makes it active again. A provider that cannot be asked changes nothing.',
  tag,
  method: 'POST',
  path: '/tenants/:tenant/connections/:connection/verify',
  input: { params: ofConnection },
  output: connectionRecord,
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

export const connectionsRotate = adminOperation({
  name: 'connections.rotate',
  summary: 'Replace the API key of a connection',
  description:
    'The provider is asked first, and the new key must be of the same account. What was connected by consent is replaced by another consent round (reason consent_required).',
  tag,
  method: 'PUT',
  path: '/tenants/:tenant/connections/:connection/credential',
  input: { params: ofConnection, body: z.strictObject({ apiKey }) },
  output: connectionCredentialRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'audit',
  destructive: true,
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

/** What a provider said about a credential when it was asked again. */
export type Verdict =
  | { readonly taken: true }
  | {
      readonly taken: false;
      readonly reason: 'credential_refused' | 'account_changed' | 'refresh_refused' | 'token_expired';
    };

/** What was learned outside before the transaction. Null: the call is a replay, and nobody was asked. */
export interface Learned {
  readonly verified?: VerifiedCredential;
  readonly verdict?: Verdict;
  /** Which credential the verdict is about. */
  readonly generation?: number;
}

export const connectionsList = adminOperation({
  name: 'connections.list',
  summary: 'List the connections of a tenant',
  description: 'Disconnected ones stay listed.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections',
  input: {
    params: ofTenant,
    query: z.strictObject({
      scope: scopeId.optional().describe('Only those connected in this scope'),
      state: connectionState.optional().describe('Only those in this state'),
      ...pageQuery,
    }),
  },
  output: pageOf(connectionRecord),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const readConnections = /* @__PURE__ */ read(connectionsList, ({ db }, { params, query }) => {
  requireTenant(db, params.tenant);
  return { value: listConnections(db, { ...query, tenant: params.tenant }) };
});

export const connectionsGet = adminOperation({
  name: 'connections.get',
  summary: 'Get one connection',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection',
  input: { params: ofConnection },
  output: connectionRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
});

export const readConnection = /* @__PURE__ */ read(connectionsGet, ({ db }, { params }) => {
  const value = connectionOfRow(requireConnection(db, params));
  return { value, etag: value.etag };
});

export const connectionsCredential = adminOperation({
  name: 'connections.credential',
  summary: 'Say which credential is loaded, without revealing it',
  description:
    'Its version is that of the connection. A token is refreshed without a new one: the ETag is for If-Match, and no answer is ever 304.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/credential',
  input: { params: ofConnection },
  output: connectionCredentialRecord,
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
  volatile: true,
});

/** What lies at one address with the connection has the version of the connection. */
export const readCredential = /* @__PURE__ */ read(connectionsCredential, ({ db }, { params }) => {
  const row = requireConnection(db, params);
  const credential = loadCredential(db, row.id);
  if (!credential)
    throw new PlatformError('not_found', 'This connection has no credential any more.', {
      reason: 'no_credential',
    });
  return { value: credentialOfRow(row, credential), etag: String(row.revision) };
});

export const connectionsActivity = adminOperation({
  name: 'connections.activity',
  summary: 'List what happened to a connection, newest first',
  description: 'The last 500 entries are kept.',
  tag,
  method: 'GET',
  path: '/tenants/:tenant/connections/:connection/activity',
  input: { params: ofConnection, query: z.strictObject(pageQuery) },
  output: pageOf(connectionActivityEntry),
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
});

export const readActivity = /* @__PURE__ */ read(connectionsActivity, ({ db }, { params, query }) => {
  const { id } = requireConnection(db, params);
  return { value: listActivity(db, { ...query, connection: id }) };
});

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
  success: 200,
  builder: 'own-tenant',
  audit: 'none',
  etag: true,
  volatile: true,
});

export const readGrants = /* @__PURE__ */ read(connectionGrantsList, ({ db }, { params, query }) => {
  const { id, revision } = requireConnection(db, params);
  return { value: listGrants(db, { ...query, connection: id }), etag: String(revision) };
});

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
  audit: 'audit',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

/** Shuts a connection out of a scope: the platform stops calling, whatever the application still remembers. */
export const shutOut = /* @__PURE__ */ change(
  connectionGrantsDelete,
  (context, { params, query, actor, ifMatch }) => {
    const { db, revision } = context;
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision));
    if (!hasGrantIn(db, row.id, query.scope)) return { status: 204, value: null, audit: null };
    deleteGrantsIn(db, row.id, query.scope);
    saveConnection(db, { ...row, revision, updatedAtMs: context.now() });
    note(context, { connection: row.id, kind: 'shut_out', by: actor.id });
    const target = { ...targetOf(row), scope: query.scope };
    return { status: 204, value: null, audit: { target, before: null, after: { acts: false } } };
  },
);

/** The handlers whose call was preceded by a question to the provider. */
export function changeWithLearned(call: AdminCall, learned: Learned | null): ChangeHandler {
  switch (call.operation) {
    case connectionsCreate.name:
      return createConnection(learned);
    case connectionsRotate.name:
      return rotateCredential(learned);
    case connectionsVerify.name:
      return recordVerdict(learned);
    default:
      throw new TypeError(`${call.operation} is not an operation that a provider is asked about`);
  }
}

function createConnection(learned: Learned | null): ChangeHandler {
  return change(connectionsCreate, (context, call) => {
    const { db, revision } = context;
    const { params, body, actor } = call;
    requireMatch(call.ifMatch, null);
    requireActiveTenant(db, params.tenant);
    const scope = requireActiveScope(db, { tenant: params.tenant, scope: body.scope });
    const { verified } = expectLearned(learned);
    if (!verified) throw askAgain();
    const target = {
      tenant: scope.tenant,
      scope: scope.id,
      vertical: scope.vertical,
      provider: body.provider,
      account: verified.account,
      subjectRef: body.subjectRef,
      by: actor.id,
      revision,
    };
    const { before, after } = fillSlot(context, target, verified);
    // Loading another key into a connection that is there is a rotation, and has an operation of its own.
    if (before) throw accountConnected();
    const value = connectionOfRow(after);
    const audit = { target: targetOf(after), before: null, after: withFingerprint(after, verified) };
    return { status: 201, value, etag: value.etag, audit };
  });
}

function rotateCredential(learned: Learned | null): ChangeHandler {
  return change(connectionsRotate, (context, { params, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireConnection(db, params);
    requireMatch(ifMatch, String(before.revision));
    requireConnected(before);
    const { verified } = expectLearned(learned);
    if (!verified) throw askAgain();
    const replaced = loadCredential(db, before.id);
    const after = takeStep(
      context,
      { ...before, createdBy: actor.id },
      { state: 'active', reason: null, revision, verified: true },
    );
    saveCredential(db, after.id, verified.credential, context.now());
    note(context, { connection: after.id, kind: 'rotated', by: actor.id });
    const credential = loadCredential(db, after.id);
    if (!credential) throw new TypeError('a credential was saved and is not there');
    const audit = {
      target: targetOf(after),
      before: { ...auditFields(before), fingerprint: replaced?.fingerprint ?? null },
      after: withFingerprint(after, verified),
    };
    return { status: 200, value: credentialOfRow(after, credential), etag: String(revision), audit };
  });
}

function recordVerdict(learned: Learned | null): ChangeHandler {
  return change(connectionsVerify, (context, { params, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireConnection(db, params);
    requireMatch(ifMatch, String(before.revision));
    requireConnected(before);
    const { verdict, generation } = expectLearned(learned);
    // The verdict may be about a credential that was replaced while the provider was asked.
    if (!verdict || loadCredential(db, before.id)?.generation !== generation) throw askAgain();
    const after = takeStep(context, before, {
      state: verdict.taken ? 'active' : 'broken',
      reason: verdict.taken ? null : verdict.reason,
      revision,
      verified: verdict.taken,
    });
    note(context, {
      connection: after.id,
      kind: verdict.taken ? 'verified' : 'broken',
      reason: after.reason,
      by: actor.id,
    });
    const value = connectionOfRow(after);
    const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
    return { status: 200, value, etag: value.etag, audit };
  });
}

function withFingerprint(row: Parameters<typeof auditFields>[0], { credential }: VerifiedCredential) {
  return { ...auditFields(row), fingerprint: credential.fingerprint };
}

function expectLearned(learned: Learned | null): Learned {
  if (learned) return learned;
  throw askAgain();
}

/** Something changed between the question and the transaction. The same call, made again, asks again. */
function askAgain(): PlatformError {
  return new PlatformError('conflict', 'This connection was changed by another call. Make yours again.', {
    reason: 'connection_changed',
  });
}
