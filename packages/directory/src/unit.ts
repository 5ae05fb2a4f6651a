/**
 * The directory: the unit that holds what the platform knows, with the logs of who changed and who read what
 * (design: architecture, "The one idea"). There is one, under the key {@link DIRECTORY_KEY}.
 */
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import { defineUnit, type UnitContext } from '@freehold/store';
import type { Actor, AdminCall, AdminResult } from './actors.ts';
import { appendAccessLog } from './audit/access-log.ts';
import {
  adminLogMigration,
  adminLogSlice,
  auditedCall,
  loadAdminLogRow,
  logHead,
} from './audit/admin-log.ts';
import { endLeases, openIntentsMigration } from './audit/open-intents.ts';
import { readAccessLog, readAdminLog } from './audit/operations.ts';
import { disconnect, putGrant } from './connections/delegated-operations.ts';
import {
  readActivity,
  readConnection,
  readConnections,
  readCredential,
  readGrants,
  shutOut,
} from './connections/operations.ts';
import { connectionMigrations } from './connections/schema.ts';
import { CONNECTION_QUERIES, connectionMethods } from './connections/unit-methods.ts';
import type { LogTarget } from './declarations/records.ts';
import { bindHostname, readHostnames, setHostnameStatus } from './hostnames/operations.ts';
import { hostnamesMigration, loadRoutes } from './hostnames/store.ts';
import { issueMethods, readIssues, setIssueStatus } from './issues/operations.ts';
import { issueMigrations } from './issues/schema.ts';
import {
  beginEffect,
  type ChangeInput,
  type EffectEnd,
  failEffect,
  leaveOpen,
  makeChange,
  settleEffect,
} from './lib/changes.ts';
import type { ChangeHandler, DelegatedHandler, ReadHandler } from './lib/handlers.ts';
import { idempotencyMigration, keyedFingerprintsMigration } from './lib/idempotency.ts';
import { operationsLogMethods, readOpsFailures, readSweepRuns } from './operations-log/operations.ts';
import { operationsLogMigrations } from './operations-log/schema.ts';
import { mintOwnerClaim } from './owner-seat/operations.ts';
import { putRole, readRoles, removeRole } from './roles/operations.ts';
import { rolesMigration } from './roles/store.ts';
import { deleteSnapshot, readSnapshots, restoreScope, rewindScope, takeSnapshot } from './scopes/copies.ts';
import { configureScope, provisionScope, readFleet, readScope, readScopes } from './scopes/operations.ts';
import { snapshotMigrations } from './scopes/snapshot-store.ts';
import { scopesMigration } from './scopes/store.ts';
import { loadScopeTarget } from './scopes/target.ts';
import { createTenant, readTenant, readTenants, setTenantStatus } from './tenants/operations.ts';
import { requireActingTenant, tenantsMigration } from './tenants/store.ts';
import { createPushToken, findTokenActor, readPushTokens, revokePushToken } from './tokens/operations.ts';
import { orderServiceToken, revokeServiceToken, type ServiceTokenOrder } from './tokens/service-tokens.ts';
import { tokensMigration, touchTokenRow } from './tokens/store.ts';
import { readMeters, USAGE_QUERIES, usageMethods } from './usage/operations.ts';
import { usageMigrations } from './usage/schema.ts';

/** The key of the one directory there is. */
export const DIRECTORY_KEY = 'main';

const READS: Readonly<Record<string, ReadHandler>> = {
  'tenants.list': readTenants,
  'tenants.get': readTenant,
  'scopes.fleet': readFleet,
  'scopes.list': readScopes,
  'scopes.get': readScope,
  'snapshots.list': readSnapshots,
  'hostnames.list': readHostnames,
  'roles.list': readRoles,
  'admin-log.list': readAdminLog,
  'access-log.list': readAccessLog,
  'push-tokens.list': readPushTokens,
  'connections.list': readConnections,
  'connections.get': readConnection,
  'connections.credential': readCredential,
  'connections.activity': readActivity,
  'connection-grants.list': readGrants,
  'ops-failures.list': readOpsFailures,
  'sweep-runs.list': readSweepRuns,
  'issues.list': readIssues,
  'meters.list': readMeters,
};

const CHANGES: Readonly<Record<string, ChangeHandler>> = {
  'tenants.create': createTenant,
  'tenants.set-status': setTenantStatus,
  'hostnames.bind': bindHostname,
  'hostnames.set-status': setHostnameStatus,
  'roles.put': putRole,
  'roles.delete': removeRole,
  'push-tokens.create': createPushToken,
  'push-tokens.revoke': revokePushToken,
  'connection-grants.delete': shutOut,
  'issues.set-status': setIssueStatus,
};

const DELEGATED: Readonly<Record<string, DelegatedHandler>> = {
  'scopes.provision': provisionScope,
  'scopes.configure': configureScope,
  'scopes.restore': restoreScope,
  'scopes.rewind': rewindScope,
  'snapshots.take': takeSnapshot,
  'snapshots.delete': deleteSnapshot,
  'owner-claim.mint': mintOwnerClaim,
  'connections.disconnect': disconnect,
  'connection-grants.put': putGrant,
};

/** One row of the access log, before it is written. */
export interface AccessInput {
  readonly call: AdminCall;
  readonly target: LogTarget;
  /** How many items the reader was shown. */
  readonly items: number;
}

const makeMethods = (context: UnitContext) => ({
  /** A read of the directory's own data. */
  read: ({ call }: { readonly call: AdminCall }): AdminResult => {
    requireActingTenant(context.db, call.actor);
    return { status: 200, replayed: false, ...find(READS, call)(context, call) };
  },

  /** A read that is itself logged: what was shown, then the row that says so. */
  readLogged: ({ call }: { readonly call: AdminCall }): AdminResult => {
    requireActingTenant(context.db, call.actor);
    const answer = find(READS, call)(context, call);
    const { items } = answer.value as { readonly items: readonly unknown[] };
    const target = { tenant: null, scope: null, vertical: null, other: null };
    appendAccessLog(context, auditedCall(call), { target, items: items.length });
    return { status: 200, replayed: false, ...answer };
  },

  change: (input: ChangeInput) => makeChange(context, find(CHANGES, input.call), input),

  begin: (input: ChangeInput) => beginEffect(context, find(DELEGATED, input.call), input),

  settle: (input: EffectEnd & { readonly answer: unknown }) =>
    settleEffect(context, find(DELEGATED, input.call), input),

  fail: (input: EffectEnd & { readonly prepared: unknown; readonly code: ProblemCode }) =>
    failEffect(context, find(DELEGATED, input.call), input),

  leaveOpen: (input: { readonly intent: number }) => leaveOpen(context, input),

  endLeases: (): null => {
    endLeases(context.db);
    return null;
  },

  /** The scope behind a call to its vertical. */
  scopeTarget: ({
    actor,
    ...ref
  }: {
    readonly actor: Actor;
    readonly tenant: string;
    readonly scope: string;
  }) => {
    requireActingTenant(context.db, actor);
    return loadScopeTarget(context.db, ref);
  },

  recordAccess: ({ call, target, items }: AccessInput): null => {
    appendAccessLog(context, auditedCall(call), { target, items });
    return null;
  },

  routes: () => loadRoutes(context.db),

  tokenActor: (hash: string) => findTokenActor(context.db, { hash, nowMs: context.now() }),

  touchToken: (id: string): null => {
    touchTokenRow(context.db, id, context.now());
    return null;
  },

  orderServiceToken: (order: ServiceTokenOrder) => orderServiceToken(context, order),

  revokeServiceToken: (input: { readonly id: string; readonly requestId: string }) =>
    revokeServiceToken(context, input),

  logHead: () => logHead(context.db),

  logHashAt: (sequence: number): string | null => loadAdminLogRow(context.db, sequence)?.hash ?? null,

  logSlice: (range: { readonly from: number; readonly limit: number }) => adminLogSlice(context.db, range),

  ...connectionMethods(context),
  ...issueMethods(context),
  ...operationsLogMethods(context),
  ...usageMethods(context),
});

export type DirectoryMethods = ReturnType<typeof makeMethods>;

export const directoryUnit = defineUnit<DirectoryMethods>({
  kind: 'directory',
  migrations: [
    {
      name: 'directory',
      migrations: [
        tenantsMigration,
        scopesMigration,
        hostnamesMigration,
        rolesMigration,
        tokensMigration,
        adminLogMigration,
        idempotencyMigration,
        openIntentsMigration,
        keyedFingerprintsMigration,
      ],
    },
    connectionMigrations,
    snapshotMigrations,
    issueMigrations,
    operationsLogMigrations,
    usageMigrations,
  ],
  queries: [
    'read',
    'scopeTarget',
    'routes',
    'tokenActor',
    'logHead',
    'logHashAt',
    'logSlice',
    ...CONNECTION_QUERIES,
    ...USAGE_QUERIES,
  ],
  open: makeMethods,
});

function find<H>(handlers: Readonly<Record<string, H>>, { operation }: AdminCall): H {
  const handler = Object.hasOwn(handlers, operation) ? handlers[operation] : undefined;
  if (handler) return handler;
  throw new PlatformError('unsupported', `The directory does not answer ${operation}.`, {
    reason: 'unknown_operation',
  });
}
