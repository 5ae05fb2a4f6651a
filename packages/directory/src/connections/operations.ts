/**
 * Connecting, verifying, rotating and reading connections, inside the directory. What a provider is asked before one of the
 * changes: `host-admin-connections.ts`.
 */
import { PlatformError, pageOf, pageQuery, scopeId, tenantId } from '@freehold/contracts';
import { providerKey, subjectRef } from '@freehold/contracts/http';
import { z } from 'zod';
import type { AdminCall } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation } from '../declarations/admin-operation.ts';
import {
  connectionActivityEntry,
  connectionCredentialRecord,
  connectionRecord,
  connectionState,
  ofConnection,
  outsideProblems,
  tag,
} from '../declarations/connections.ts';
import { type ChangeHandler, change, read } from '../lib/handlers.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { requireActiveTenant, requireTenant } from '../tenants/store.ts';
import {
  accountConnected,
  auditFields,
  fillSlot,
  listActivity,
  note,
  requireConnected,
  takeStep,
  targetOf,
  type VerifiedCredential,
} from './connection-record.ts';
import {
  connectionOfRow,
  credentialOfRow,
  listConnections,
  loadCredential,
  requireConnection,
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
  builder: 'own-tenant',
  etag: true,
  problems: outsideProblems,
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
  builder: 'own-tenant',
  destructive: true,
  etag: true,
  problems: outsideProblems,
});

/** A provider's answer about a credential that is loaded. */
export type Verdict =
  | { readonly taken: true }
  | {
      readonly taken: false;
      readonly reason: 'credential_refused' | 'account_changed' | 'refresh_refused' | 'token_expired';
    };

/** The provider's answer, from before the transaction. Null for a replay, which asks no provider. */
export interface Learned {
  readonly verified?: VerifiedCredential;
  readonly verdict?: Verdict;
  /** The generation of the credential that was judged. */
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
  builder: 'own-tenant',
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
  builder: 'own-tenant',
  etag: true,
});

export const readConnection = /* @__PURE__ */ read(connectionsGet, ({ db }, { params }) => {
  return { value: connectionOfRow(requireConnection(db, params)) };
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
  builder: 'own-tenant',
  etag: true,
  volatile: true,
});

/** The ETag is the connection's version. */
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
  builder: 'own-tenant',
});

export const readActivity = /* @__PURE__ */ read(connectionsActivity, ({ db }, { params, query }) => {
  const { id } = requireConnection(db, params);
  return { value: listActivity(db, { ...query, connection: id }) };
});

/** The handler of a change before which a provider was asked. */
export function changeWithLearned(call: AdminCall, learned: Learned | null): ChangeHandler {
  switch (call.operation) {
    case connectionsCreate.name:
      return createConnection(learned);
    case connectionsRotate.name:
      return rotateCredential(learned);
    case connectionsVerify.name:
      return recordVerdict(learned);
    default:
      throw new TypeError(`${call.operation} is not an operation before which a provider is asked`);
  }
}

function createConnection(learned: Learned | null): ChangeHandler {
  return change(connectionsCreate, (context, call) => {
    const { db, revision } = context;
    const { params, body, actor } = call;
    requireMatch(call.ifMatch, null);
    requireActiveTenant(db, params.tenant);
    const scope = requireActiveScope(db, { tenant: params.tenant, scope: body.scope });
    const verified = learned?.verified;
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
    // A new key for a connection that exists is a rotation, which has an operation of its own.
    if (before) throw accountConnected();
    const audit = { target: targetOf(after), before: null, after: withFingerprint(after, verified) };
    return { value: connectionOfRow(after), audit };
  });
}

function rotateCredential(learned: Learned | null): ChangeHandler {
  return change(connectionsRotate, (context, { params, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireConnection(db, params);
    requireMatch(ifMatch, String(before.revision));
    requireConnected(before);
    const verified = learned?.verified;
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
    return { value: credentialOfRow(after, credential), etag: String(revision), audit };
  });
}

function recordVerdict(learned: Learned | null): ChangeHandler {
  return change(connectionsVerify, (context, { params, actor, ifMatch }) => {
    const { db, revision } = context;
    const before = requireConnection(db, params);
    requireMatch(ifMatch, String(before.revision));
    requireConnected(before);
    const { verdict, generation } = learned ?? {};
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
    const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
    return { value: connectionOfRow(after), audit };
  });
}

function withFingerprint(row: Parameters<typeof auditFields>[0], { credential }: VerifiedCredential) {
  return { ...auditFields(row), fingerprint: credential.fingerprint };
}

/** The connection changed between the question and the transaction. The same call, made again, asks again. */
function askAgain(): PlatformError {
  return new PlatformError('conflict', 'This connection was changed by another call. Make yours again.', {
    reason: 'connection_changed',
  });
}
