/** The methods of connections in the directory's unit. A provider's answers come in by `changeConnection` and `connect`. */
import type { ScopeId, TenantId } from '@freehold/contracts';
import type { UnitContext } from '@freehold/store';
import type { AdminCall } from '../access/actors.ts';
import { requireActingTenant } from '../access/callers.ts';
import { requireReach } from '../access/reach.ts';
import { appendAdminLog, logHead } from '../audit/admin-log.ts';
import { type ChangeInput, type ChangeOutcome, makeChange } from '../changes/changes.ts';
import { recallAnswer } from '../changes/conditions.ts';
import type { LogHead } from '../declarations/records.ts';
import { defineFeature } from '../lib/feature.ts';
import { requireActiveScope } from '../scopes/store.ts';
import { requireActiveTenant } from '../tenants/store.ts';
import {
  auditFields,
  type ConnectionTarget,
  fillSlot,
  findSlot,
  requireConnected,
  targetOf,
  type VerifiedCredential,
} from './connection-record.ts';
import { disconnect, planDisconnect } from './disconnect.ts';
import { putGrant, readGrants, removeGrants, requireAdmission } from './grants.ts';
import {
  beginRefresh,
  type CredentialRef,
  endRefresh,
  loadForUse,
  loadLoaded,
  type RefreshEnd,
  recordCheck,
  requireLive,
  resealCredential,
} from './maintenance.ts';
import {
  changeWithLearned,
  type Learned,
  readActivity,
  readConnection,
  readConnections,
  readCredential,
} from './operations.ts';
import {
  issueTicket,
  loadRound,
  type RoundRow,
  requireSameTarget,
  startRound,
  type TicketOrder,
  takeAnswer,
} from './rounds.ts';
import { connectionMigrations } from './schema.ts';
import { type ConnectionRef, listForMaintenance, requireConnection } from './store.ts';

/** A consent whose account and tokens are known. */
export interface ConsentGiven {
  readonly round: RoundRow;
  readonly verified: VerifiedCredential;
  readonly requestId: string;
}

export type ConnectionMethods = ReturnType<typeof connectionMethods>;

const connectionMethods = (context: UnitContext) => ({
  issueTicket: (order: TicketOrder) => issueTicket(context, order),

  startRound: (input: { readonly ticket: string; readonly stateHash: string }) => startRound(context, input),

  connectRound: (stateHash: string) => loadRound(context.db, stateHash) ?? null,

  takeAnswer: (input: { readonly stateHash: string }) => takeAnswer(context, input),

  connectionSlot: (target: ConnectionTarget) => findSlot(context, target),

  /** Ends a consent round with a connection: record, credential and admin-log row in one transaction. */
  connect: (given: ConsentGiven): { readonly connection: string; readonly head: LogHead } =>
    connect(context, given),

  /**
   * Judges a call before a provider is asked: whether it can succeed, and whether it was answered before.
   * @throws PlatformError as the operation itself would.
   */
  beforeProvider: ({ call }: { readonly call: AdminCall }): BeforeProvider => beforeProvider(context, call),

  /** The change itself, with the provider's answer. */
  changeConnection: ({
    learned,
    ...input
  }: ChangeInput & { readonly learned: Learned | null }): ChangeOutcome =>
    makeChange(context, changeWithLearned(input.call, learned), input),

  connectionAdmission: ({ call }: { readonly call: AdminCall }) => {
    requireActingTenant(context.db, call.actor);
    requireReach(context.db, call);
    return requireAdmission(context, call as never);
  },

  connectionLoaded: (ref: ConnectionRef) => loadLoaded(context.db, ref),

  connectionForUse: (ref: ConnectionRef) => loadForUse(context.db, ref),

  connectionGate: (ref: ConnectionRef & { readonly scope: string }) => requireLive(context.db, ref),

  beginRefresh: (ref: CredentialRef) => beginRefresh(context, ref),

  endRefresh: (input: CredentialRef & { readonly end: RefreshEnd; readonly requestId: string }) =>
    endRefresh(context, input),

  recordCheck: (input: Parameters<typeof recordCheck>[1]) => recordCheck(context, input),

  resealCredential: (input: CredentialRef & { readonly sealed: string }) => resealCredential(context, input),

  connectionsForMaintenance: (page: { readonly after: string; readonly limit: number }) =>
    listForMaintenance(context.db, page),
});

export type BeforeProvider =
  /** The stored answer of an earlier call is given again. */
  | { readonly replay: true }
  | {
      readonly replay: false;
      /** The scope of a new connection; null for an operation on an existing one. */
      readonly scope: {
        readonly tenant: TenantId;
        readonly scope: ScopeId;
        readonly vertical: string;
      } | null;
    };

function beforeProvider(context: UnitContext, call: AdminCall): BeforeProvider {
  const { db } = context;
  requireActingTenant(db, call.actor);
  requireReach(db, call);
  if (recallAnswer(context, call).stored) return { replay: true };
  const tenant = String(call.params.tenant);
  if (call.params.connection === undefined) {
    requireActiveTenant(db, tenant);
    const scope = requireActiveScope(db, { tenant, scope: String(call.body.scope) });
    return { replay: false, scope: { tenant: scope.tenant, scope: scope.id, vertical: scope.vertical } };
  }
  requireConnected(requireConnection(db, { tenant, connection: String(call.params.connection) }));
  return { replay: false, scope: null };
}

function connect(context: UnitContext, { round, verified, requestId }: ConsentGiven) {
  const { db } = context;
  requireSameTarget(db, round);
  const { tenant, scope, vertical, provider, subjectRef, createdBy } = round;
  const target = {
    tenant: tenant as TenantId,
    scope: scope as ScopeId,
    vertical,
    provider,
    subjectRef,
    account: verified.account,
    by: createdBy,
    revision: (logHead(db)?.sequence ?? 0) + 1,
  };
  const { before, after } = fillSlot(context, target, verified);
  const head = appendAdminLog(
    context,
    {
      // The vertical asked, and vouches for the principal whose permission it checked.
      actor: { kind: 'system', id: `vertical:${vertical}`, name: `The vertical ${vertical}` },
      token: null,
      requestId,
      action: 'connections.connect',
    },
    {
      target: targetOf(after),
      before: before && auditFields(before),
      after: { ...auditFields(after), fingerprint: verified.credential.fingerprint },
      outcome: 'done',
    },
  );
  return { connection: after.id, head };
}

export const connectionsFeature = /* @__PURE__ */ defineFeature({
  operations: [
    readConnections,
    readConnection,
    readCredential,
    readActivity,
    readGrants,
    removeGrants,
    disconnect,
    putGrant,
    planDisconnect,
  ],
  migrations: [connectionMigrations],
  methods: connectionMethods,
  queries: [
    'connectRound',
    'connectionSlot',
    'connectionLoaded',
    'connectionForUse',
    'connectionGate',
    'connectionAdmission',
    'connectionsForMaintenance',
  ],
});
