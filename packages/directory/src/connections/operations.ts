/** What can be done with connections, as far as the directory is concerned. What is asked of providers: `host-admin-*.ts`. */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall } from '../actors.ts';
import {
  connectionGrantsDelete,
  connectionGrantsList,
  connectionsActivity,
  connectionsCreate,
  connectionsCredential,
  connectionsGet,
  connectionsList,
  connectionsRotate,
  connectionsVerify,
} from '../declarations/connections.ts';
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

export const readConnections = read(connectionsList, ({ db }, { params, query }) => {
  requireTenant(db, params.tenant);
  return { value: listConnections(db, { ...query, tenant: params.tenant }) };
});

export const readConnection = read(connectionsGet, ({ db }, { params }) => {
  const value = connectionOfRow(requireConnection(db, params));
  return { value, etag: value.etag };
});

/** What lies at one address with the connection has the version of the connection. */
export const readCredential = read(connectionsCredential, ({ db }, { params }) => {
  const row = requireConnection(db, params);
  const credential = loadCredential(db, row.id);
  if (!credential)
    throw new PlatformError('not_found', 'This connection has no credential any more.', {
      reason: 'no_credential',
    });
  return { value: credentialOfRow(row, credential), etag: String(row.revision) };
});

export const readActivity = read(connectionsActivity, ({ db }, { params, query }) => {
  const { id } = requireConnection(db, params);
  return { value: listActivity(db, { ...query, connection: id }) };
});

export const readGrants = read(connectionGrantsList, ({ db }, { params, query }) => {
  const { id, revision } = requireConnection(db, params);
  return { value: listGrants(db, { ...query, connection: id }), etag: String(revision) };
});

/** Shuts a connection out of a scope: the platform stops calling, whatever the application still remembers. */
export const shutOut = change(connectionGrantsDelete, (context, { params, query, actor, ifMatch }) => {
  const { db, revision } = context;
  const row = requireConnection(db, params);
  requireMatch(ifMatch, String(row.revision));
  if (!hasGrantIn(db, row.id, query.scope)) return { status: 204, value: null, audit: null };
  deleteGrantsIn(db, row.id, query.scope);
  saveConnection(db, { ...row, revision, updatedAtMs: context.now() });
  note(context, { connection: row.id, kind: 'shut_out', by: actor.id });
  const target = { ...targetOf(row), scope: query.scope };
  return { status: 204, value: null, audit: { target, before: null, after: { acts: false } } };
});

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
